// Programs of several devices of a plugin, on the mock: what crosses the interface.
#include "heddle/runtime/spmd.h"

#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/internal/spmd.h"
#include "heddle/pjrt/proto/compile_options.pb.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/mesh.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

class Spmd : public MockTest {
 protected:
  runtime::DeviceGrid both(int64_t replicas, int64_t partitions) {
    return {.replicas = replicas, .partitions = partitions, .devices = {&device(0), &device(1)}};
  }
  // x on device 0, and ten times as much on device 1.
  runtime::DeviceBuffers arguments(std::vector<float> x) {
    std::vector<float> tenfold = x;
    for (float& value : tenfold) value *= 10;
    return {{runtime::to_device(device(0), vector_of(x)).value()},
            {runtime::to_device(device(1), vector_of(tenfold)).value()}};
  }
  StatusOr<std::shared_ptr<runtime::SpmdExecutable>> compile(const std::string& text,
                                                             const runtime::DeviceGrid& grid) {
    return runtime::compile_spmd(module_of(text), {}, grid);
  }
};

constexpr const char* kNegate = "ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }";

TEST_F(Spmd, EachDeviceHasItsArgumentsAndResults) {
  start(with_evaluator());
  const auto program = compile(kNegate, both(2, 1)).value();
  const auto results = program->execute(arguments({1, 2})).value();
  EXPECT_THAT(floats_of(*results[0][0]).value(), ElementsAre(-1, -2));
  EXPECT_THAT(floats_of(*results[1][0]).value(), ElementsAre(-10, -20));
  EXPECT_EQ(&results[1][0]->device(), &device(1));
  EXPECT_THAT(mock_plugin().seen().kept, ElementsAre(0));
  EXPECT_EQ(device(1).throttle().load().peak_launches, 1);
  EXPECT_EQ(device(1).throttle().load().launches, 0);
}

// The plugin has to be told where a program runs that was compiled for no device.
TEST_F(Spmd, APortableProgramOfOneDeviceNamesItInEachRun) {
  start(with_evaluator());
  const runtime::DeviceGrid one{.devices = {&device(1)}};
  const BufferPtr x = runtime::to_device(device(1), vector_of({1, 2})).value();
  const auto named_by = [&](const runtime::CompileOptions& options) {
    const auto program = runtime::compile_spmd(module_of(kNegate), options, one).value();
    EXPECT_TRUE(program->execute({{x}}).ok());
    return mock_plugin().seen().execute_device;
  };
  EXPECT_EQ(named_by({}), nullptr);
  EXPECT_NE(named_by({{{"compile_portable_executable", "true"}}}), nullptr);
}

// What XLA is told: counts, SPMD only where there are partitions, and the devices by partition.
TEST_F(Spmd, OptionsSayWhichDevicesRunWhat) {
  mock::Settings settings = with_evaluator();
  std::string options;
  settings.compile = [&](std::string_view code, std::string_view said) {
    options = said;
    return evaluated(code, said);
  };
  start(std::move(settings));
  proto::CompileOptions read;
  ASSERT_TRUE(compile(kNegate, both(2, 1)).ok());
  ASSERT_TRUE(read.ParseFromString(options));
  EXPECT_EQ(read.build_options().replica_count(), 2);
  EXPECT_FALSE(read.build_options().use_spmd_partitioning());
  ASSERT_EQ(read.build_options().device_assignment().partitions_size(), 1);
  EXPECT_EQ(read.build_options().device_assignment().partitions(0).replica_device_ids_size(), 2);
  ASSERT_TRUE(compile(kNegate, both(1, 2)).ok());
  ASSERT_TRUE(read.ParseFromString(options));
  EXPECT_EQ(read.build_options().partition_count(), 2);
  EXPECT_TRUE(read.build_options().use_spmd_partitioning());
  EXPECT_EQ(read.build_options().device_assignment().partitions_size(), 2);
}

// XLA's plugins since JAX 0.8 are given Shardy's form; others, and who asks for it, GSPMD's.
class Partitioner : public Spmd {
 protected:
  static constexpr const char* kSplit =
      "ENTRY main { x = f32[4] parameter(0), sharding={devices=[2]<=[2]} ROOT y = f32[4] negate(x) "
      "}";
  // What the plugin is handed.
  StatusOr<std::string> handed(mock::Settings settings, runtime::CompileOptions options = {}) {
    std::string text, said;
    settings.compile = [&](std::string_view code, std::string_view bytes) {
      text = hlo::print(hlo::from_proto(code).value());
      said = bytes;
      return mock::Program{.results = {{.type = abi::BufferType::kF32, .dims = {4}}}};
    };
    start(std::move(settings));
    HEDDLE_RETURN_IF_ERROR(runtime::compile_spmd(module_of(kSplit), options, both(1, 2)).status());
    proto::CompileOptions read;
    EXPECT_TRUE(read.ParseFromString(said));
    const bool is_shardy = text.find("xla.sdy.sharding") != std::string::npos;
    EXPECT_EQ(read.build_options().use_shardy_partitioner(), is_shardy);
    EXPECT_EQ(read.env_option_overrides_size(), 0);
    return is_shardy ? "shardy" : "gspmd";
  }
  static mock::Settings xla(int minor) {
    mock::Settings settings;
    settings.is_xla = true;
    settings.minor = minor;
    return settings;
  }
};

TEST_F(Partitioner, IsShardyWhereThePluginPrefersIt) {
  EXPECT_EQ(handed({}).value(), "gspmd");
  EXPECT_EQ(handed(xla(79)).value(), "gspmd");
  EXPECT_EQ(handed(xla(80)).value(), "shardy");
}

TEST_F(Partitioner, IsTheOneThatTheProgramAsksFor) {
  const auto asked = [](const char* value) {
    return runtime::CompileOptions{.backend_options = {{"use_shardy_partitioner", value}}};
  };
  EXPECT_EQ(handed(xla(100), asked("false")).value(), "gspmd");
  EXPECT_EQ(handed({}, asked("true")).value(), "shardy");
  EXPECT_EQ(base::message_of(handed({}, asked("1")).status()),
            "compile main: option use_shardy_partitioner is \"1\"; it must be true or false");
}

// The mock's partitioner is none, but it gets what XLA's would.
TEST_F(Spmd, ShardingsGoToThePluginAndTilesComeBack) {
  mock::Settings settings = with_evaluator();
  std::string code;
  settings.compile = [&](std::string_view said, std::string_view options) {
    code = said;
    mock::Program program = evaluated(said, options);
    program.results[0].dims = {2};
    return program;
  };
  start(std::move(settings));
  const auto program = compile(
      "ENTRY main { x = f32[4] parameter(0), "
      "sharding={devices=[2]<=[2]} y = f32[4] negate(x) ROOT s = f32[4] "
      "custom-call(y), custom_call_target=\"Sharding\", "
      "sharding={devices=[2]<=[2]} }",
      both(1, 2));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->parameter_shapes()[0], Shape(f32, {2}));
  EXPECT_EQ((*program)->result_shapes()[0], Shape(f32, {2}));
  EXPECT_THAT(hlo::print(hlo::from_proto(code).value()),
              HasSubstr("parameter(0), sharding={devices=[2]<=[2]}"));
}

// The plugin's analysis is that of one device's part.
TEST_F(Spmd, CostIsWhatOneDeviceNeeds) {
  mock::Settings settings = with_evaluator();
  settings.scratch_bytes = 100;
  settings.compile = [](std::string_view said, std::string_view options) {
    mock::Program program = evaluated(said, options);
    program.results[0].dims = {2};
    return program;
  };
  start(std::move(settings));
  const hlo::Module module = module_of(
      "ENTRY main { x = f32[4] parameter(0), sharding={devices=[2]<=[2]} ROOT y = f32[4] "
      "negate(x), sharding={devices=[2]<=[2]} }");
  runtime::Device& mesh = *runtime::mesh_device(both(1, 2).devices).value();
  for (const runtime::ProgramCost& cost :
       {runtime::compile_spmd(module, {}, both(1, 2)).value()->cost(),
        mesh.backend().compile(module, {}, mesh).value()->cost()}) {
    EXPECT_EQ(cost.argument_bytes, 8);
    EXPECT_EQ(cost.result_bytes, 8);
    EXPECT_EQ(cost.scratch_bytes, 100);
    EXPECT_EQ(cost.flops, 2);
    EXPECT_EQ(cost.properties.size(), 2u);
  }
}

TEST_F(Spmd, APluginThatDidNotCutIsAtFault) {
  start(with_evaluator());
  const auto program = compile(
      "ENTRY main { x = f32[4] parameter(0) ROOT s = f32[4] "
      "custom-call(x), custom_call_target=\"Sharding\", "
      "sharding={devices=[2]<=[2]} }",
      both(1, 2));
  EXPECT_THAT(base::message_of(program.status()),
              HasSubstr("result 0 is f32[4]; the program says f32[2]; the plugin is at fault"));
}

TEST_F(Spmd, FaultsOfARunNameTheCall) {
  mock::Settings settings = with_evaluator();
  settings.failing[abi::Slot::kLoadedExecutableExecute] = {.code = 8, .message = "no room"};
  start(std::move(settings));
  const auto program = compile(kNegate, both(2, 1)).value();
  const Status status = program->execute(arguments({1, 2})).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(base::message_of(status),
              HasSubstr("run main: plugin mock (PJRT 0.114): LoadedExecutableExecute: no room"));
  EXPECT_EQ(device(0).throttle().load().launches, 0);
}

TEST_F(Spmd, ATryWithoutRoomOnOneDeviceTakesNoneOnOthers) {
  start(with_evaluator());
  const auto program = compile(kNegate, both(2, 1)).value();
  device(1).throttle().set_limits({.launches = 1});
  std::optional<runtime::Throttle::Ticket> other = device(1).throttle().acquire(0);
  const Status status = program->execute(arguments({1, 2}), /*only_if_room=*/true).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(base::message_of(status), HasSubstr("run main: pjrt:mock:1 has 1 launches"));
  EXPECT_EQ(device(0).throttle().load().launches, 0);
  EXPECT_EQ(mock_plugin().seen().calls[static_cast<size_t>(abi::Slot::kLoadedExecutableExecute)],
            0);
  other.reset();
  EXPECT_TRUE(program->execute(arguments({1, 2}), /*only_if_room=*/true).ok());
}

// No result says when the run is done.
TEST_F(Spmd, ARunWithoutResultsIsInFlightUntilItIsDone) {
  start({.compile = evaluated, .asynchronous = true, .held = true});
  const auto program =
      compile("ENTRY main { x = f32[2] parameter(0) ROOT none = () tuple() }", both(2, 1)).value();
  const runtime::DeviceBuffers x = arguments({1, 2});
  ASSERT_TRUE(program->execute(x).ok());
  EXPECT_EQ(device(0).throttle().load().launches, 1);
  EXPECT_EQ(device(1).throttle().load().launches, 1);
  std::thread opener([] { mock_plugin().open(); });
  runtime::synchronize(device(1));
  EXPECT_EQ(device(1).throttle().load().launches, 0);
  opener.join();
}

// As those of one device.
TEST_F(Spmd, ARunThatFailsCountsAndWrongArgumentsDoNot) {
  start({.compile = evaluated,
         .failing = {{abi::Slot::kLoadedExecutableExecute, {.message = "broken"}}}});
  const auto several = compile(kNegate, both(2, 1)).value();
  const auto one = compiled(module_of(kNegate));
  const runtime::DeviceBuffers x = arguments({1, 2});
  EXPECT_EQ(effects_of([&] { EXPECT_FALSE(several->execute(x).ok()); }).executions, 1);
  EXPECT_EQ(effects_of([&] { EXPECT_FALSE(one->execute(x[0]).ok()); }).executions, 1);
  EXPECT_EQ(effects_of([&] { EXPECT_FALSE(several->execute({}).ok()); }).executions, 0);
  EXPECT_EQ(effects_of([&] { EXPECT_FALSE(one->execute({}).ok()); }).executions, 0);
}

TEST_F(Spmd, AResultThatIsNotThereIsAnError) {
  mock::Settings settings = with_evaluator();
  settings.empty_handed.insert(abi::Slot::kLoadedExecutableExecute);
  start(std::move(settings));
  const auto program = compile(kNegate, both(2, 1)).value();
  EXPECT_THAT(base::message_of(program->execute(arguments({1, 2})).status()),
              HasSubstr("gave no result 0 for device"));
}

// Of one type, and cut alike.
TEST(PrepareSpmd, DonatedArgumentsAreTheMemoryOfResultsThatAreCutAsTheyAre) {
  const hlo::Module module = module_of(R"(ENTRY main {
      x = f32[8] parameter(0), sharding={devices=[2]<=[2]}
      y = f32[8] parameter(1), sharding={replicated}
      z = f32[8] parameter(2), sharding={devices=[2]1,0}
      ROOT r = (f32[8], f32[8]) tuple(y, x), sharding={{devices=[2]<=[2]}, {replicated}} })");
  const runtime::EntryShardings shardings = runtime::entry_shardings(module).value();
  const auto aliases = [&](int64_t partitions, const std::vector<int>& donated) {
    std::vector<std::pair<int64_t, int64_t>> out;
    const hlo::Module prepared = prepare_spmd(module, 100, partitions, shardings, donated).value();
    for (const hlo::InputOutputAlias& alias : prepared.extras->input_output_alias)
      out.emplace_back(alias.parameter, alias.output_index[0]);
    return out;
  };
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(aliases(2, {0, 1, 2}), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(aliases(2, {2}), Pairs());
  EXPECT_EQ(aliases(2, {}), Pairs());
  EXPECT_EQ(aliases(1, {1, 2}), (Pairs{{1, 0}, {2, 1}}));  // one partition has all of everything
}

}  // namespace
}  // namespace heddle::pjrt
