// A training step on the devices of a mesh: the same program on cpu, on the evaluator, and on XLA's
// CPU plugin where it is there (./dev setup-plugin xla-cpu). Once by a shard_map whose devices
// average their gradients, once by shardings alone. Wall time.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "heddle/cpu/backend.h"
#include "heddle/heddle.h"
#include "heddle/interpreter/backend.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

constexpr int64_t kRows = 256, kWidth = 128, kLayers = 4;

enum Where { kCpu, kEvaluator, kXla };
enum How { kShardMap, kShardings };

std::unique_ptr<runtime::Backend> backend_of(Where where, int devices) {
  if (where == kCpu) return cpu::make_cpu({.devices = devices});
  if (where == kEvaluator) return interpreter::make_backend({.devices = devices});
  if (xla_cpu_library().empty()) return nullptr;
  return pjrt::make_backend("xla-cpu", {.library = xla_cpu_library(),
                                        .create_options = {{"cpu_device_count", int64_t{devices}}}})
      .value();
}

Tensor waves(std::vector<int64_t> shape, float scale, const Sharding& sharding) {
  std::vector<float> values(static_cast<size_t>(Shape(f32, shape).element_count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale * std::sin(0.37F * static_cast<float>(i));
  return array(values, std::move(shape), sharding);
}

Tensor loss(const Tensor& layers, const Tensor& x, const Tensor& y) {
  const auto layer = [](Tensor w, Tensor h) { return tanh(matmul(h, w)); };
  return mean(square(scan_layers(layer, layers, x) - y));
}

void BM_TrainingStep(benchmark::State& state, Where where, How how) {
  const auto devices = static_cast<int>(state.range(0));
  const std::unique_ptr<runtime::Backend> backend = backend_of(where, devices);
  if (backend == nullptr) {
    state.SkipWithError("no plugin: ./dev setup-plugin xla-cpu");
    return;
  }
  std::vector<runtime::Device*> parts;
  for (const auto& device : backend->devices()) parts.push_back(device.get());
  const Mesh mesh({{"data", devices}}, parts);
  const Sharding rows(mesh, {"data"}), whole(mesh, {});
  const Tensor w = waves({kLayers, kWidth, kWidth}, 0.1F, whole),
               x = waves({kRows, kWidth}, 1, rows), y = waves({kRows, kWidth}, 0.5F, rows);
  const auto by_parts = shard_map(
      [](Tensor w, Tensor x, Tensor y) { return w - pmean(grad(loss)(w, x, y), "data") * 0.1; },
      mesh, {{}, {"data"}, {"data"}}, {{}});
  const Program step = trace(
      [&](Tensor w, Tensor x, Tensor y) {
        const Tensor next = how == kShardMap ? by_parts(w, x, y) : w - grad(loss)(w, x, y) * 0.1;
        return with_sharding(next, whole);
      },
      w, x, y);
  step.call<Tensor>(w, x, y).wait();
  for (auto _ : state) step.call<Tensor>(w, x, y).wait();
}

void over_devices(benchmark::internal::Benchmark* bench) {
  bench->Arg(2)->Arg(4)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_TrainingStep, shard_map_on_cpu, kCpu, kShardMap)->Apply(over_devices);
BENCHMARK_CAPTURE(BM_TrainingStep, shard_map_on_evaluator, kEvaluator, kShardMap)
    ->Apply(over_devices);
BENCHMARK_CAPTURE(BM_TrainingStep, shard_map_on_xla, kXla, kShardMap)->Apply(over_devices);
BENCHMARK_CAPTURE(BM_TrainingStep, shardings_on_cpu, kCpu, kShardings)->Apply(over_devices);
BENCHMARK_CAPTURE(BM_TrainingStep, shardings_on_evaluator, kEvaluator, kShardings)
    ->Apply(over_devices);
BENCHMARK_CAPTURE(BM_TrainingStep, shardings_on_xla, kXla, kShardings)->Apply(over_devices);

}  // namespace
}  // namespace heddle
