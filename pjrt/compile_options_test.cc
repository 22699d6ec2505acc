// What a program says of its compilation, as XLA reads it; and that it takes effect.
#include <filesystem>
#include <fstream>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/proto/compile_options.pb.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/xla_cpu_support_test.h"
#include "heddle/runtime/spmd.h"

namespace heddle::pjrt {
namespace {

using runtime::BackendOption;

class Options : public MockTest {
 protected:
  Options() { start_with(with_evaluator()); }
  void start_with(mock::Settings settings) {
    settings.compile = [this](std::string_view code, std::string_view options) {
      EXPECT_TRUE(sent_.ParseFromArray(options.data(), static_cast<int>(options.size())));
      program_ = code;
      return evaluated(code, options);
    };
    start(std::move(settings));
  }
  Status compile(std::vector<BackendOption> options, const hlo::Module& module = add_module()) {
    return backend_->compile(module, {std::move(options)}, device(1)).status();
  }
  // The text of the last program.
  std::string sent_program() const { return hlo::print(hlo::from_proto(program_).value()); }
  static int compiles() {
    return mock_plugin().seen().calls[static_cast<size_t>(abi::Slot::kClientCompile)];
  }
  proto::CompileOptions sent_;
  std::string program_;
};

// A loop of products, as it comes from a scan of five steps.
hlo::Module products() {
  return module_of(R"(HloModule products
step {
  s = (s32[], f32[2,2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[2,2] get-tuple-element(s), index=1
  named = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={high,high}
  y = f32[2,2] dot(named, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[2,2]) tuple(next, y)
}
more {
  s = (s32[], f32[2,2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT b = pred[] compare(i, five), direction=LT
}
ENTRY main {
  zero = s32[] constant(0)
  x = f32[2,2] parameter(0)
  s = (s32[], f32[2,2]) tuple(zero, x)
  l = (s32[], f32[2,2]) while(s), condition=more, body=step, backend_config={"known_trip_count":{"n":"5"}}
  ROOT y = f32[2,2] get-tuple-element(l), index=1
})");
}

// XLA's GPU would take fewer bits than the program has, and warn of loops that say their trips.
TEST_F(Options, ProgramsOfAGpuAreAsExactAsTheyAreWritten) {
  start_with({.platform = "cuda", .is_xla = true});
  ASSERT_EQ(compile({}, products()), Status());
  ASSERT_EQ(sent_.env_option_overrides_size(), 1);
  EXPECT_EQ(sent_.env_option_overrides(0).name(), "xla_allow_excess_precision");
  EXPECT_FALSE(sent_.env_option_overrides(0).value().flag());
  EXPECT_THAT(sent_program(), AllOf(HasSubstr("operand_precision={highest,highest}"),
                                    HasSubstr("operand_precision={high,high}"),
                                    Not(HasSubstr("known_trip_count"))));
}

TEST_F(Options, ThePrecisionOfProductsIsAnOption) {
  start_with({.platform = "cuda", .is_xla = true});
  const int before = compiles();
  ASSERT_EQ(compile({{"matmul_precision", "default"}}, products()), Status());
  EXPECT_THAT(sent_program(), Not(HasSubstr("highest")));
  ASSERT_EQ(compile({{"matmul_precision", "highest"}}, products()), Status());
  EXPECT_THAT(sent_program(), HasSubstr("operand_precision={highest,highest}"));
  EXPECT_EQ(compiles() - before, 2);
  EXPECT_EQ(base::message_of(compile({{"matmul_precision", "exact"}})),
            "compile add: option matmul_precision is \"exact\"; it must be one of default, high, "
            "highest");
  start_with({.platform = "cpu"});
  ASSERT_EQ(compile({}, products()), Status());
  EXPECT_THAT(sent_program(), AllOf(Not(HasSubstr("highest")), HasSubstr("known_trip_count")));
}

TEST_F(Options, NamesOfFieldsAreFieldsAndOthersAreOverrides) {
  ASSERT_EQ(compile({{"compile_portable_executable", "true"},
                     {"debug_options", std::string("\x0A\x00", 2)},
                     {"xla_some", "true"}}),
            Status());
  EXPECT_TRUE(sent_.compile_portable_executable());
  EXPECT_EQ(sent_.build_options().debug_options(), std::string("\x0A\x00", 2));
  EXPECT_FALSE(sent_.build_options().has_device_assignment());  // XLA refuses both
  ASSERT_EQ(sent_.env_option_overrides_size(), 1);
  EXPECT_EQ(sent_.env_option_overrides(0).name(), "xla_some");
}

TEST_F(Options, WhatTheyCannotBeIsToldBeforeThePluginIsAsked) {
  EXPECT_EQ(base::message_of(compile({{"compile_portable_executable", "yes"}})),
            "compile add: option compile_portable_executable is \"yes\"; it must be true or false");
  EXPECT_EQ(base::message_of(compile({{"xla_backend_extra_options", "a=1,b"}})),
            "compile add: option xla_backend_extra_options: \"b\" must be NAME=VALUE, with commas "
            "between several");
  EXPECT_EQ(base::message_of(compile({{"use_shardy_partitioner", "maybe"}})),
            "compile add: option use_shardy_partitioner is \"maybe\"; it must be true or false");
  const auto several =
      runtime::compile_spmd(add_module(), {{{"compile_portable_executable", "true"}}},
                            {.replicas = 2, .devices = {&device(0), &device(1)}});
  EXPECT_EQ(base::message_of(several.status()),
            "compile add: option compile_portable_executable: a program of 2 devices names them; "
            "compile it for one, or leave the option out");
  mock_plugin().settings().failing[abi::Slot::kExecutableOptimizedProgram] = {.code = 12,
                                                                              .message = "no"};
  EXPECT_EQ(compile({{"xla_backend_extra_options", "a=1"}}).code(), StatusCode::kUnimplemented);
}

TEST_F(Options, ExtraOptionsJoinTheDebugOptionsThatAreGiven) {
  proto::DebugOptions given;
  (*given.mutable_xla_backend_extra_options())["a"] = "0";
  (*given.mutable_xla_backend_extra_options())["c"] = "3";
  ASSERT_EQ(compile({{"debug_options", given.SerializeAsString()},
                     {"xla_backend_extra_options", "a=1,b=2"}}),
            Status());
  proto::DebugOptions got;
  ASSERT_TRUE(got.ParseFromString(sent_.build_options().debug_options()));
  EXPECT_EQ(got.xla_backend_extra_options().at("a"), "1");
  EXPECT_EQ(got.xla_backend_extra_options().at("b"), "2");
  EXPECT_EQ(got.xla_backend_extra_options().at("c"), "3");
  EXPECT_EQ(sent_.env_option_overrides_size(), 0);
}

TEST_F(Options, ExtraOptionsJoinThePluginsDefaultsWhereNoneAreGiven) {
  ASSERT_EQ(compile({{"xla_backend_extra_options", "a=1"}}), Status());
  EXPECT_THAT(sent_.build_options().debug_options(), StartsWith("\x08\x01"));  // the mock's
  proto::DebugOptions got;
  ASSERT_TRUE(got.ParseFromString(sent_.build_options().debug_options()));
  EXPECT_EQ(got.xla_backend_extra_options().at("a"), "1");
}

// XLA hands other names to LLVM, which ends the process over those that it does not know.
TEST_F(Options, ExtraOptionsOfXlaBeginWithItsName) {
  start_with({.is_xla = true});
  EXPECT_EQ(base::message_of(compile({{"xla_backend_extra_options", "xla_a=1,b=2"}})),
            "compile add: option xla_backend_extra_options: \"b\" must begin with xla_: the plugin "
            "may end the process over other names; leave it out");
  proto::DebugOptions given;
  (*given.mutable_xla_backend_extra_options())["c"] = "3";
  EXPECT_EQ(base::message_of(compile({{"debug_options", given.SerializeAsString()}})),
            "compile add: option debug_options: \"c\" must begin with xla_: the plugin may end the "
            "process over other names; leave it out");
  EXPECT_EQ(base::message_of(compile({{"debug_options", "\xFF\xFF"}})),
            "compile add: option debug_options is no serialised DebugOptions; serialise the "
            "message, or leave the option out");
  EXPECT_EQ(compiles(), 0);
  EXPECT_EQ(compile({{"xla_backend_extra_options", "xla_a=1"}}), Status());  // not of its CPU
}

// XLA ignores names that it does not know. A compiler puts short texts into instructions, 8 bytes
// at a time.
TEST(ExtraOptions, OfXlasCpuAreItsOwn) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "instructions hold shorter pieces";
#endif
  const std::string library = testing::TempDir() + "/library_of_pieces";
  std::ofstream(library) << "xla_cpu_ size=_to xla_llvm.. _dot_til ing_fact";
  const auto check = [&](const std::string& text) {
    return check_options({{"xla_backend_extra_options", text}}, 1, {true, library});
  };
  EXPECT_EQ(base::message_of(check("xla_cpu_optimise_for_size=1")),
            "option xla_backend_extra_options: \"xla_cpu_optimise_for_size\" is no option of the "
            "plugin; is it xla_cpu_optimize_for_size?");
  EXPECT_EQ(base::message_of(check("xla_llvm_dot_tiling_factor=4,xla_nonsense=1")),
            "option xla_backend_extra_options: \"xla_nonsense\" is no option of the plugin; leave "
            "it out");
  EXPECT_EQ(check("xla_cpu_size=_to=1,xla_cpu_new=2"), Status()) << "which it may know";
  std::filesystem::remove(library);
}

TEST_F(Options, ThePluginIsAskedForItsDefaultsOnce) {
  ASSERT_EQ(compile({{"xla_backend_extra_options", "a=1"}}), Status());
  EXPECT_EQ(compiles(), 2);
  ASSERT_EQ(compile({{"xla_backend_extra_options", "a=2"}}), Status());
  EXPECT_EQ(compiles(), 3);
}

TEST_F(Options, AProgramThatIsLoadedAsksForNoDefaults) {
  const runtime::CompileOptions options{{{"xla_backend_extra_options", "a=1"}}};
  const std::string saved = serialize(**backend_->compile(add_module(), options, device())).value();
  start_with(with_evaluator());
  const auto program = load(saved, add_module(), options, device());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(compiles(), 0);
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  ASSERT_TRUE((*program)->execute(std::vector{x, y}, {.donate = {0}}).ok());
  EXPECT_EQ(compiles(), 2);  // for the donation, with the defaults
  EXPECT_THAT(sent_.build_options().debug_options(), StartsWith("\x08\x01"));
}

class RecordOptions : public Options {
 protected:
  explicit RecordOptions(std::string extra = "a=1,b=2") {
    backend_ =
        make_backend("mock",
                     {.library = HEDDLE_PJRT_MOCK,
                      .compile_options = {{"xla_backend_extra_options", extra}, {"xla_some", "5"}}})
            .value();
  }
  std::string extra_option(const std::string& name) const {
    proto::DebugOptions got;
    EXPECT_TRUE(got.ParseFromString(sent_.build_options().debug_options()));
    const auto found = got.xla_backend_extra_options().find(name);
    return found == got.xla_backend_extra_options().end() ? "none" : found->second;
  }
};

TEST_F(RecordOptions, AreThoseOfAProgramThatSaysNothing) {
  ASSERT_EQ(compile({}), Status());
  EXPECT_EQ(extra_option("a"), "1");
  EXPECT_EQ(extra_option("b"), "2");
  ASSERT_EQ(sent_.env_option_overrides_size(), 1);
  EXPECT_EQ(sent_.env_option_overrides(0).value().text(), "5");
}

TEST_F(RecordOptions, AProgramSaysOtherwiseByName) {
  ASSERT_EQ(compile({{"xla_backend_extra_options", "b=3,c=4"}, {"xla_some", "6"}}), Status());
  EXPECT_EQ(extra_option("a"), "1");
  EXPECT_EQ(extra_option("b"), "3");
  EXPECT_EQ(extra_option("c"), "4");
  ASSERT_EQ(sent_.env_option_overrides_size(), 1);
  EXPECT_EQ(sent_.env_option_overrides(0).value().text(), "6");
}

TEST_F(RecordOptions, NeedAPluginThatTellsItsDefaultsWhereTheyAreExtra) {
  mock_plugin().settings().failing[abi::Slot::kExecutableOptimizedProgram] = {.code = 12,
                                                                              .message = "no"};
  const Status status = compile({});
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(status),
              StartsWith("compile add: option xla_backend_extra_options: "));
}

// ---- On real XLA.

TEST_F(XlaCpuCalls, APortableProgramBelongsToNoDevice) {
  abi::LoadedExecutable* program =
      compile(hlo::to_proto(add_module()), "hlo",
              compile_options(0, {{"compile_portable_executable", "true"}}))
          .value();
  abi::Buffer* x = uploaded(vector_of({1, 2}));
  EXPECT_FALSE(run(program, {x, x}).ok());
  destroy(run(program, {x, x}, {}, client_->devices()[0].handle).value());
  destroy(x);
  api_->destroy(abi::LoadedExecutableDestroyArgs{.executable = program});
}

TEST_F(XlaCpu, APortableProgramRunsOnItsDevice) {
  const auto program =
      backend_->compile(add_module(), {{{"compile_portable_executable", "true"}}}, device(2));
  ASSERT_TRUE(program.ok()) << program.status();
  const BufferPtr x = runtime::to_device(device(2), vector_of({1, 2})).value();
  const auto sum = (*program)->execute(std::vector{x, x});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(runtime::to_host(*(*sum)[0]).value(), vector_of({2, 4}));
}

TEST_F(XlaCpu, APortableProgramRunsOnAGridOfOneDevice) {
  const auto program = runtime::compile_spmd(
      add_module(), {{{"compile_portable_executable", "true"}}}, {.devices = {&device(1)}});
  ASSERT_TRUE(program.ok()) << program.status();
  const BufferPtr x = runtime::to_device(device(1), vector_of({1, 2})).value();
  const auto sum = (*program)->execute({{x, x}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(runtime::to_host(*(*sum)[0][0]).value(), vector_of({2, 4}));
}

TEST_F(XlaCpu, APortableProgramIsLoadedOnAnyDevice) {
  const runtime::CompileOptions options{{{"compile_portable_executable", "true"}}};
  const auto program = backend_->compile(add_module(), options, device(0)).value();
  const auto loaded = load(serialize(*program).value(), add_module(), options, device(2));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const BufferPtr x = runtime::to_device(device(2), vector_of({1, 2})).value();
  const auto sum = (*loaded)->execute(std::vector{x, x});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(runtime::to_host(*(*sum)[0]).value(), vector_of({2, 4}));
}

TEST_F(XlaCpu, AnExtraOptionThatItDoesNotHaveIsAnError) {
  const auto compile = [&](const char* text) {
    return backend_->compile(add_module(), {{{"xla_backend_extra_options", text}}}, device())
        .status();
  };
  EXPECT_EQ(compile("a=1").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(base::message_of(compile("xla_cpu_small_while_loop_byte_treshold=1")),
            "compile add: option xla_backend_extra_options: "
            "\"xla_cpu_small_while_loop_byte_treshold\" is no option of the plugin; is it "
            "xla_cpu_small_while_loop_byte_threshold?");
  EXPECT_EQ(compile("xla_cpu_fold_all_constants=1,xla_cpu_optimize_for_size=1"), Status());
}

TEST_F(XlaCpu, AWrongOptionIsTheErrorOfXla) {
  const auto expect_error = [&](const char* name, const char* value, const char* text) {
    const Status status = backend_->compile(add_module(), {{{name, value}}}, device()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(base::message_of(status), HasSubstr(text));
  };
  expect_error("xla_nonsense", "1", "ClientCompile: No such compile option: 'xla_nonsense'");
  expect_error("xla_cpu_enable_fast_math", "maybe", "'maybe' is not a valid bool value");
  expect_error("xla_force_host_platform_device_count", "x", "'x' is not a valid int32 value");
  expect_error("xla_force_host_platform_device_count", "2147483648",
               "'2147483648' is not a valid int32 value");
  expect_error("xla_gpu_autotune_gemm_rtol", "1.5f", "'1.5f' is not a valid float value");
  expect_error("xla_step_marker_location", "here", "'here' is not a valid enum value");
  expect_error("xla_gpu_enable_command_buffer", "x", "'x' is not a valid enum value");
}

// XLA's loop setting: it marks the loops that become one kernel. This one does unless told
// otherwise.
TEST_F(XlaCpu, TheLoopSettingIsAProgramsOwnOrItsPlugins) {
  const hlo::Module loop = module_of(R"(HloModule loop
body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[8] sine(x)
  ROOT out = (s32[], f32[8]) tuple(next, y)
}
condition {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(100)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  first = (s32[], f32[8]) tuple(zero, x)
  last = (s32[], f32[8]) while(first), condition=condition, body=body
  ROOT y = f32[8] get-tuple-element(last), index=1
})");
  const std::string option = "xla_cpu_small_while_loop_byte_threshold=";
  const auto optimized = [&](std::vector<BackendOption> options) {
    const auto program = backend_->compile(loop, {std::move(options)}, device());
    EXPECT_TRUE(program.ok()) << program.status();
    return dynamic_cast<const PjrtExecutable&>(**program).loaded().optimized_program().value();
  };
  constexpr char kMark[] = "xla_cpu_small_call";
  EXPECT_THAT(optimized({}), HasSubstr(kMark));
  EXPECT_THAT(optimized({{"xla_backend_extra_options", option + "1"}}), Not(HasSubstr(kMark)));
  EXPECT_THAT(optimized({}), HasSubstr(kMark));  // the others' is as it was
  backend_ =
      make_backend("xla-cpu", {.library = xla_cpu_library(),
                               .compile_options = {{"xla_backend_extra_options", option + "1"}}})
          .value();
  EXPECT_THAT(optimized({}), Not(HasSubstr(kMark)));
  EXPECT_THAT(optimized({{"xla_backend_extra_options", option + "1024"}}), HasSubstr(kMark));
}

}  // namespace
}  // namespace heddle::pjrt
