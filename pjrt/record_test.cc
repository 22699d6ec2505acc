// What a plugin's record says of its programs and devices, on the mock.
#include "heddle/pjrt/internal/record.h"

#include "heddle/base/support_test.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/spmd.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

class Record : public MockTest {
 protected:
  void start_with(DevicePlugin plugin, mock::Settings settings = with_evaluator()) {
    add_.reset();
    backend_.reset();
    settings.compile = [this](std::string_view code, std::string_view options) {
      sent_.emplace_back(code);
      return evaluated(code, options);
    };
    mock_plugin().reset(std::move(settings));
    plugin.library = HEDDLE_PJRT_MOCK;
    auto backend = make_backend("mock", plugin);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }
  std::string refusal(DevicePlugin plugin) {
    add_.reset();
    backend_.reset();
    plugin.library = HEDDLE_PJRT_MOCK;
    mock_plugin().reset(with_evaluator());
    const auto backend = make_backend("mock", plugin);
    EXPECT_EQ(backend.status().code(), StatusCode::kInvalidArgument);
    return base::message_of(backend.status());
  }
  std::string compiled_text(const std::string& text) {
    (void)compiled(module_of(text));
    return hlo::print(hlo::from_proto(sent_.back()).value());
  }

  std::vector<std::string> sent_;  // programs
};

TEST_F(Record, TypesThatItDoesNotListAreRefusedUpFront) {
  start_with({.dtypes = {f32, s32, pred}});
  EXPECT_TRUE(add(on_device({1, 2}), on_device({1, 2})).ok());
  EXPECT_EQ(base::message_of(runtime::to_device(device(), Literal(Shape(f64, {2}))).status()),
            "upload: arrays of f64 are none of the plugin's, whose record says f32, s32, pred; "
            "convert to one of them");
  hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  wide = f64[2] convert(x)
  ROOT y = f32[2] convert(wide)
})");
  module.computations[0].instructions[1].at = {"model.cc", 41};
  const auto program = backend_->compile(module, {}, device());
  EXPECT_EQ(program.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(base::message_of(program.status()),
            "compile m: convert wide: arrays of f64 are none of the plugin's, whose record says "
            "f32, s32, pred; convert to one of them [model.cc:41]");
  EXPECT_EQ(sent_.size(), 1u);
}

// XLA refuses it too, in words that name neither op nor line.
TEST_F(Record, AStateThatTheGeneratorHasNotIsRefusedUpFront) {
  const auto refusal = [&](const char* state) {
    hlo::Module module =
        module_of(base::cat(R"(HloModule m
ENTRY e {
  state = )",
                            state, R"( parameter(0)
  ROOT bits = ()",
                            state, R"(, u32[4]) rng-bit-generator(state), algorithm=rng_default
})"));
    module.computations[0].instructions[1].at = {"model.cc", 41};
    return base::message_of(backend_->compile(module, {}, device()).status());
  };
  start_with({.rng = hlo::RandomAlgorithm::kThreeFry});
  EXPECT_EQ(refusal("u64[3]"),
            "compile m: rng-bit-generator bits: state is u64[3]; it must be u64[2] for "
            "rng_three_fry, which the plugin's record says [model.cc:41]");
  start_with({.rng = hlo::RandomAlgorithm::kPhilox});
  EXPECT_EQ(refusal("u32[4]"),
            "compile m: rng-bit-generator bits: state is u32[4]; it must be u64[2] or u64[3] for "
            "rng_philox, which the plugin's record says [model.cc:41]");
  EXPECT_TRUE(sent_.empty());
}

// mulhi of s32 is a product in s64.
TEST_F(Record, TypesThatAnOpIsWrittenWithAreRefusedToo) {
  hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = s32[2] parameter(0)
  ROOT y = s32[2] mulhi(x, x)
})");
  module.computations[0].instructions[1].at = {"model.cc", 41};
  start_with({.dtypes = {s32}});
  const auto program = backend_->compile(module, {}, device());
  EXPECT_EQ(program.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(program.status()),
              HasSubstr(": arrays of s64, which an op of the program is written with, are none of "
                        "the plugin's, whose record says s32; write the op with these "
                        "[model.cc:41]"));
  EXPECT_THAT(
      base::message_of(runtime::compile_spmd(module, {}, {.devices = {&device()}}).status()),
      HasSubstr("arrays of s64"));
  EXPECT_TRUE(sent_.empty());
  start_with({.dtypes = {s32, s64}});
  EXPECT_EQ(backend_->compile(module, {}, device()).status(), Status());
}

// The bytes may be of a record that said otherwise.
TEST_F(Record, TypesOfAProgramThatIsLoadedAreRefusedToo) {
  start_with({});
  const std::string saved = serialize(*compiled(add_module())).value();
  start_with({.dtypes = {s32}});
  EXPECT_THAT(base::message_of(load(saved, add_module(), {}, device()).status()),
              HasSubstr("arrays of f32 are none of the plugin's"));
  start_with({.dtypes = {f32}});
  EXPECT_TRUE(load(saved, add_module(), {}, device()).ok());
}

TEST_F(Record, MemoryIsLentToAPluginOfAnyTypes) {
  start_with({.dtypes = {s32}});
  const Literal lent(Shape(s32, {1024}));
  const Effects effects = effects_of([&] {
    ASSERT_TRUE(runtime::lend_to_device(device(), lent.bytes(), lent.shape(), nullptr).ok());
  });
  EXPECT_EQ(effects.aliased_bytes, 4096);
  EXPECT_EQ(effects.upload_bytes, 0);
}

// Only types of the record are in programs of Heddle's own.
TEST_F(Record, TheProgramThatTellsDefaultOptionsIsOfItsTypes) {
  start_with({.dtypes = {f32}});
  ASSERT_EQ(
      backend_->compile(add_module(), {{{"xla_backend_extra_options", "a=1"}}}, device()).status(),
      Status());
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_THAT(hlo::print(hlo::from_proto(sent_[0]).value()), Not(HasSubstr("pred[]")));
}

TEST_F(Record, RandomBitsAreOfItsGeneratorWhereTheProgramLeavesThatOpen) {
  const auto text = [](const char* algorithm) {
    return base::cat(R"(HloModule m
ENTRY e {
  state = u64[2] parameter(0)
  ROOT bits = (u64[2], u32[4]) rng-bit-generator(state), algorithm=)",
                     algorithm, "\n}");
  };
  start_with({.rng = hlo::RandomAlgorithm::kThreeFry});
  EXPECT_THAT(compiled_text(text("rng_default")), HasSubstr("algorithm=rng_three_fry"));
  EXPECT_THAT(compiled_text(text("rng_philox")), HasSubstr("algorithm=rng_philox"));
  start_with({});
  EXPECT_THAT(compiled_text(text("rng_default")), HasSubstr("algorithm=rng_default"));
}

TEST_F(Record, WithoutDonationThePluginIsGivenNothingAndArgumentsGoAllTheSame) {
  start_with({.donation = false});
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  const auto sum = add(x, y, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(**sum), ElementsAre(11, 22));
  EXPECT_THAT(mock_plugin().seen().kept, ElementsAre(0, 1));
  EXPECT_EQ(sent_.size(), 1u);  // no program for the donation
  EXPECT_EQ(x->state(), ValueState::kDonated);
  EXPECT_EQ(y->state(), ValueState::kReady);
}

TEST_F(Record, OnlyItsExpansionsAreWritten) {
  const std::string text = R"(HloModule m
ENTRY e {
  x = f32[2,2] parameter(0)
  factor = (f32[2,2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config="{uplo = 76 : ui8}", api_version=API_VERSION_TYPED_FFI
  ROOT y = f32[2,2] get-tuple-element(factor), index=0
})";
  start_with({});
  EXPECT_THAT(compiled_text(text), HasSubstr("cholesky("));
  start_with({.expansions = {{"lapack_spotrf_ffi"}}});
  EXPECT_THAT(compiled_text(text), HasSubstr("cholesky("));
  start_with({.expansions = {{"lapack_dpotrf_ffi"}}});
  EXPECT_THAT(compiled_text(text), HasSubstr("lapack_spotrf_ffi"));
  EXPECT_EQ(refusal({.expansions = {{"somebodys_call"}}}),
            "plugin mock: expansion \"somebodys_call\": Heddle has none for this custom call; take "
            "it out");
}

TEST_F(Record, LimitsAreSaidOrRefused) {
  start_with({.limits = {.launches = 3, .bytes = INT64_MAX}}, {.bytes_limit = 1000});
  EXPECT_EQ(device().throttle().limits().launches, 3);
  EXPECT_EQ(device().throttle().limits().bytes, INT64_MAX);  // and not half of what is free
  EXPECT_EQ(refusal({.limits = {.launches = 0}}),
            "plugin mock: launches in flight are 0; there must be at least 1");
  EXPECT_EQ(refusal({.limits = {.bytes = -5}}),
            "plugin mock: bytes in flight are -5; there must be at least 1");
}

}  // namespace
}  // namespace heddle::pjrt
