// What loops cost on a plugin: a cache of keys that stands in the carry and gets a row a step, with
// and without reading it; and bodies of one operation, with steps unrolled. On the plugin xla-cpu,
// where it is there (./dev setup-plugin xla-cpu).
#include <benchmark/benchmark.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "heddle/heddle.h"

namespace heddle {
namespace {

constexpr char kLibrary[] = "build/plugins/xla_cpu_pjrt.so";
constexpr int64_t kSteps = 1024, kWidth = 256;

// Null where there is no plugin.
runtime::Device* device() {
  static const std::unique_ptr<runtime::Backend>& backend =
      *new std::unique_ptr<runtime::Backend>([]() -> std::unique_ptr<runtime::Backend> {
        if (!std::filesystem::exists(kLibrary)) return nullptr;
        return pjrt::make_backend("xla-cpu", {.library = kLibrary}).value();
      }());
  return backend == nullptr ? nullptr : backend->devices()[0].get();
}

// Runs what `make` traces on the plugin, waiting for each run; items are steps.
void run(benchmark::State& state, int64_t steps, const std::vector<Tensor>& like,
         const std::function<std::vector<Tensor>(std::vector<Tensor>)>& fn) {
  if (device() == nullptr) {
    state.SkipWithError("no plugin: ./dev setup-plugin xla-cpu");
    return;
  }
  const runtime::DefaultDevice scope(*device());
  std::vector<Tensor> arguments;
  for (const Tensor& each : like)
    arguments.push_back(ones(each.shape().dimensions(), each.dtype()));
  const Program program = trace(fn, arguments);
  for (const Tensor& out : program.run(arguments)) out.wait();
  for (auto _ : state) {
    for (const Tensor& out : program.run(arguments)) out.wait();
  }
  state.counters["ns_a_step"] =
      benchmark::Counter(static_cast<double>(steps * state.iterations()) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

enum Form { kWrites, kWritesAndReads, kReadsAndWrites, kRowsAsResults };

// A step of attention: a row is written, and all rows are read by a query.
void BM_Cache(benchmark::State& state, Form form) {
  const Tensor cache = placeholder({kSteps, kWidth}, f32);
  const Tensor rows = placeholder({kSteps, kWidth}, f32);
  run(state, kSteps, {cache, rows}, [form](std::vector<Tensor> arguments) {
    const Tensor rows = arguments[1];
    if (form == kRowsAsResults) {  // the loop computes rows; they are put in place at once
      auto step = [](Tensor c, Tensor row) { return std::pair(c + sum(row), row * 2); };
      auto [total, ys] = scan(step, scalar<float>(0), rows);
      return std::vector<Tensor>{ys, total};
    }
    auto step = [form](std::pair<Tensor, Tensor> carry, Tensor row) {
      auto [i, cache] = carry;
      Tensor next = dynamic_update_slice_in_dim(cache, expand_dims(row, 0), i);
      Tensor y = form == kWrites ? sum(row) : matmul(form == kWritesAndReads ? next : cache, row);
      return std::pair(std::pair(i + 1, next), y);
    };
    auto [last, ys] = scan(step, std::pair(scalar<int32_t>(0), arguments[0]), rows);
    return std::vector<Tensor>{last.second, ys};
  });
}
BENCHMARK_CAPTURE(BM_Cache, writes, kWrites)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(BM_Cache, writes_then_reads, kWritesAndReads)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Cache, reads_then_writes, kReadsAndWrites)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Cache, rows_as_results, kRowsAsResults)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// The same step as a program of its own, called once a step; the cache is donated.
void BM_CacheByCalls(benchmark::State& state) {
  if (device() == nullptr) {
    state.SkipWithError("no plugin: ./dev setup-plugin xla-cpu");
    return;
  }
  const runtime::DefaultDevice scope(*device());
  Tensor cache = ones({kSteps, kWidth}), row = ones({kWidth}), at = scalar<int32_t>(3);
  const Program program = trace(
      [](Tensor cache, Tensor row, Tensor at) {
        Tensor next = dynamic_update_slice_in_dim(cache, expand_dims(row, 0), at);
        return std::pair(next, matmul(next, row));
      },
      cache, row, at);
  const CompiledProgram compiled = program.compile().with({.donate = {0}});
  for (auto _ : state) {
    auto [next, y] = compiled.call<std::pair<Tensor, Tensor>>(cache, row, at);
    y.wait();
    cache = next;
  }
}
BENCHMARK(BM_CacheByCalls)->UseRealTime();

// A body of one operation: range(0) steps a trip.
void BM_Unrolled(benchmark::State& state) {
  const int64_t unroll = state.range(0);
  constexpr int64_t kLong = 100000;
  run(state, kLong, {placeholder({}, f32), placeholder({kLong}, f32)},
      [unroll](std::vector<Tensor> arguments) {
        auto step = [](Tensor c, Tensor x) { return std::pair(c * 0.5F + x, None{}); };
        auto [last, ys] = scan(step, arguments[0], arguments[1], {.unroll = unroll});
        return std::vector<Tensor>{last};
      });
}
BENCHMARK(BM_Unrolled)
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace heddle
