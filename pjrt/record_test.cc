// What a plugin's record says of its programs and devices, on the mock.
#include "heddle/pjrt/internal/record.h"

#include "heddle/pjrt/support_test.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
    return message_of(backend.status());
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
  EXPECT_EQ(message_of(runtime::to_device(device(), Literal(Shape(f64, {2}))).status()),
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
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(message_of(program.status()),
            "compile m: convert wide: arrays of f64 are none of the plugin's, whose record says "
            "f32, s32, pred; convert to one of them [model.cc:41]");
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(Record, RandomBitsAreOfItsGeneratorWhereTheProgramLeavesThatOpen) {
  const auto text = [](const char* algorithm) {
    return cat(R"(HloModule m
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
