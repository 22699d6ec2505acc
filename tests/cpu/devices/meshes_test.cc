// Programs of several devices of host memory, native, beside the evaluator.
#include <gmock/gmock.h>

#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/spmd.h"
#include "heddle/testing.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tests/support/sharded_losses.h"
#include "heddle/tools/conformance/backend.h"

namespace heddle::cpu {
namespace {

constexpr int kDevices = 4;

using Arguments = std::vector<std::vector<Literal>>;  // by device

runtime::Backend& on_cpu() {
  static runtime::Backend& backend = *make_cpu({.devices = kDevices}).release();
  return backend;
}
runtime::Backend& on_evaluator() {
  static runtime::Backend& backend = *interpreter::make_backend({.devices = kDevices}).release();
  return backend;
}

// Each device has numbers of its own.
Arguments arguments_by_device(const hlo::Module& module) {
  Arguments out;
  for (int device = 0; device < kDevices; ++device) {
    out.push_back(arguments_of(module));
    for (Literal& x : out.back()) {
      if (x.shape().dtype() != f32) continue;
      for (float& value : x.mutable_values<float>()) value += static_cast<float>(device);
    }
  }
  return out;
}

StatusOr<runtime::DeviceBuffers> results_on(runtime::Backend& backend, const hlo::Module& module,
                                            int64_t partitions, const Arguments& arguments) {
  runtime::DeviceGrid grid{.replicas = kDevices / partitions, .partitions = partitions};
  runtime::DeviceBuffers buffers(kDevices);
  for (size_t i = 0; i < kDevices; ++i) {
    grid.devices.push_back(backend.devices()[i].get());
    for (const Literal& x : arguments[i])
      buffers[i].push_back(runtime::to_device(*grid.devices[i], x).value());
  }
  HEDDLE_ASSIGN_OR_RETURN(const auto program, runtime::compile_spmd(module, {}, grid));
  HEDDLE_ASSIGN_OR_RETURN(const auto first, program->execute(buffers));
  return program->execute(buffers);  // its memory may be that of the first run
}

// The module runs as machine code, on each device with the evaluator's result.
void expect_as_evaluated_together(const std::string& body, int64_t partitions = 1) {
  SCOPED_TRACE(body);
  const hlo::Module module =
      hlo::parse_text(
          base::cat("HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT c = f32[] add(a, b) }\n",
                    body))
          .value();
  const Arguments arguments = arguments_by_device(module);
  const int64_t before = statistics().native;
  const auto got = results_on(on_cpu(), module, partitions, arguments);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(statistics().native, before + 1);
  const auto want = results_on(on_evaluator(), module, partitions, arguments).value();
  for (size_t device = 0; device < want.size(); ++device) {
    for (size_t i = 0; i < want[device].size(); ++i) {
      EXPECT_EQ(difference(runtime::to_host(*(*got)[device][i]).value(),
                           runtime::to_host(*want[device][i]).value()),
                "")
          << "device " << device << ", result " << i;
    }
  }
}

TEST(CpuMeshes, CollectivesGiveTheEvaluatorsValues) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* op :
       {"f32[8] all-reduce(y), replica_groups={}, to_apply=add",
        "f32[8] all-reduce(y), replica_groups={{0,2},{3,1}}, to_apply=add",
        "f32[2] reduce-scatter(y), replica_groups={}, dimensions={0}, to_apply=add",
        "f32[32] all-gather(y), replica_groups={}, dimensions={0}",
        "f32[8] all-to-all(y), replica_groups={{0,1},{2,3}}, dimensions={0}",
        "f32[8] collective-permute(y), source_target_pairs={{0,1},{1,2},{2,0}}",
        "f32[8] collective-broadcast(y), replica_groups={{2,0,1,3}}",
        "(f32[8], f32[8]) all-reduce(y, x), replica_groups={}, to_apply=add"})
    expect_as_evaluated_together(base::cat(
        "ENTRY main { x = f32[8] parameter(0)\n y = f32[8] sine(x)\n ROOT r = ", op, " }"));
  expect_as_evaluated_together(
      "ENTRY main { x = f32[8] parameter(0)\n s = f32[8] all-reduce-start(x), replica_groups={}, "
      "to_apply=add\n y = f32[8] negate(x)\n d = f32[8] all-reduce-done(s)\n ROOT r = f32[8] "
      "add(y, d) }");
  expect_as_evaluated_together(
      "sum { x = f32[8] parameter(0)\n ROOT r = f32[8] all-reduce(x), replica_groups={}, "
      "to_apply=add }\nENTRY main { x = f32[8] parameter(0)\n s = ((f32[8]), f32[8], u32[]) "
      "async-start(x), calls=sum\n ROOT d = f32[8] async-done(s) }");
  expect_as_evaluated_together(
      "ENTRY main { r = u32[] replica-id()\n p = u32[] partition-id()\n ROOT t = (u32[], u32[]) "
      "tuple(r, p) }",
      2);
}

// A turn writes what the last one gave to the others, who may not have read it yet.
TEST(CpuMeshes, CollectivesInLoopsAndBranches) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::string loop =
      "turn { s = (s32[], f32[512]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " h = f32[512] get-tuple-element(s), index=1\n q = f32[512] abs(h)\n"
      " sum = f32[512] all-reduce(q), replica_groups={}, to_apply=add\n"
      " k = f32[] constant(0.3)\n ks = f32[512] broadcast(k), dimensions={}\n"
      " scaled = f32[512] multiply(sum, ks)\n"
      " next = f32[512] collective-permute(scaled), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n"
      " mixed = f32[512] subtract(next, h)\n"
      " one = s32[] constant(1)\n j = s32[] add(i, one)\n ROOT t = (s32[], f32[512]) tuple(j, "
      "mixed) }\n"
      "more { s = (s32[], f32[512]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " n = s32[] constant(50)\n ROOT l = pred[] compare(i, n), direction=LT }\n";
  expect_as_evaluated_together(
      base::cat(loop,
                "ENTRY main { x = f32[512] parameter(0)\n i = s32[] constant(0)\n"
                " s = (s32[], f32[512]) tuple(i, x)\n w = (s32[], f32[512]) while(s), "
                "condition=more, body=turn\n ROOT r = f32[512] get-tuple-element(w), index=1 }"));
  // Replicas 0 and 1 go another way than 2 and 3.
  expect_as_evaluated_together(
      "yes { x = f32[8] parameter(0)\n ROOT r = f32[8] all-reduce(x), "
      "replica_groups={{0,1},{2,3}}, to_apply=add }\n"
      "no { x = f32[8] parameter(0)\n n = f32[8] negate(x)\n ROOT r = f32[8] all-reduce(n), "
      "replica_groups={{0,1},{2,3}}, to_apply=add }\n"
      "ENTRY main { x = f32[8] parameter(0)\n r = u32[] replica-id()\n two = u32[] constant(2)\n"
      " c = pred[] compare(r, two), direction=LT\n ROOT o = f32[8] conditional(c, x, x), "
      "true_computation=yes, false_computation=no }");
}

// Devices that wait for each other for ever get an error.
TEST(CpuMeshes, DevicesThatNeverMeetAreAnError) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const hlo::Module module =
      hlo::parse_text(
          "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
          "add(a, b) }\nyes { x = f32[8] parameter(0)\n ROOT r = f32[8] all-reduce(x), "
          "replica_groups={}, to_apply=add }\nno { x = f32[8] parameter(0)\n ROOT n = f32[8] "
          "negate(x) }\nENTRY main { x = f32[8] parameter(0)\n r = u32[] replica-id()\n two = "
          "u32[] constant(2)\n c = pred[] compare(r, two), direction=LT\n ROOT o = f32[8] "
          "conditional(c, x, x), true_computation=yes, false_computation=no }")
          .value();
  const auto got = results_on(on_cpu(), module, 1, arguments_by_device(module));
  EXPECT_THAT(base::message_of(got.status()),
              testing::HasSubstr("all-reduce r: waits for devices that never come"));
}

TEST(CpuMeshes, DrawsDifferFromRunToRun) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const hlo::Module module =
      hlo::parse_text(
          "HloModule m\nENTRY main { a = f32[] constant(0)\n b = f32[] constant(1)\n"
          " x = f32[64] rng(a, b), distribution=rng_uniform\n"
          " y = f32[64] rng(a, b), distribution=rng_uniform\n"
          " ROOT t = (f32[64], f32[64]) tuple(x, y) }")
          .value();
  const int64_t before = statistics().native;
  runtime::DeviceGrid grid{.replicas = 1, .partitions = kDevices};
  for (const auto& device : on_cpu().devices()) grid.devices.push_back(device.get());
  const auto program = runtime::compile_spmd(module, {}, grid).value();
  EXPECT_EQ(statistics().native, before + 1);
  const auto draw = [&](size_t device, size_t i) {
    const auto results = program->execute(runtime::DeviceBuffers(kDevices)).value();
    return runtime::to_host(*results[device][i]).value();
  };
  const Literal first = draw(0, 0);
  EXPECT_NE(first, draw(0, 0));
  EXPECT_NE(first, runtime::to_host(*runtime::compile_spmd(module, {}, grid)
                                         .value()
                                         ->execute(runtime::DeviceBuffers(kDevices))
                                         .value()[0][0])
                       .value());
  const auto results = program->execute(runtime::DeviceBuffers(kDevices)).value();
  const auto value = [&](size_t device, size_t i) {
    return runtime::to_host(*results[device][i]).value();
  };
  EXPECT_NE(value(0, 0), value(0, 1));
  EXPECT_EQ(value(0, 0), value(3, 0));  // of one run: they are one program's
}

Mesh square() {
  std::vector<runtime::Device*> devices;
  for (const auto& device : on_cpu().devices()) devices.push_back(device.get());
  return Mesh({{"data", 2}, {"model", 2}}, std::move(devices));
}

TEST(CpuMeshes, GradientsThroughShardMaps) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const Statistics before = statistics();
  expect_gradients_of_whole_arrays(square());
  EXPECT_GE(statistics().native - before.native, 20);
  EXPECT_EQ(statistics().evaluated, before.evaluated);
}

// Sizes that do not divide: the last parts are filled up.
TEST(CpuMeshes, ShardingsThatDoNotDivide) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const Mesh mesh = square();
  const Sharding rows(mesh, {"data"}), columns(mesh, {None{}, "model"});
  std::vector<float> values;
  for (int i = 0; i < 15; ++i) values.push_back(static_cast<float>(i));
  const Tensor x = array(values, {5, 3}, rows);
  const Program program = trace(
      [&](Tensor x) { return with_sharding(cumsum(with_sharding(x * 2, columns), 0), rows); }, x);
  const int64_t before = statistics().native;
  const Tensor y = program.call<Tensor>(x);
  EXPECT_EQ(statistics().native, before + 1);
  EXPECT_THAT(y.to_vector<float>(),
              testing::ElementsAre(0, 2, 4, 6, 10, 14, 18, 24, 30, 36, 44, 52, 60, 70, 80));
}

}  // namespace
}  // namespace heddle::cpu
