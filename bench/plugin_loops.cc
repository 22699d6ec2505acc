// The cost of loops on a plugin: a cache of keys in the carry that gets a row a step, with and
// without reading it; bodies of one operation, with steps unrolled; programs that pjrt/ writes
// otherwise for XLA, beside programs that need none of it. It needs the plugin xla-cpu (./dev
// setup-plugin xla-cpu).
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>

#include "heddle/heddle.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

constexpr int64_t kSteps = 1024, kWidth = 256;

// Null without a plugin.
runtime::Device* device() {
  static const std::unique_ptr<runtime::Backend>& backend =
      *new std::unique_ptr<runtime::Backend>([]() -> std::unique_ptr<runtime::Backend> {
        if (xla_cpu_library().empty()) return nullptr;
        return pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
      }());
  return backend == nullptr ? nullptr : backend->devices()[0].get();
}

// Runs the trace of `make` on the plugin, and waits for each run; items are steps.
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

// A scan over a part of an array. If the program computes the position of the part, each step's
// slice is a slice of a slice, whose start pjrt/ clamps for XLA.
void BM_Part(benchmark::State& state, bool is_computed) {
  constexpr int64_t kLong = 100000;
  run(state, kLong, {placeholder({kLong + 8}, f32), placeholder({}, s32)},
      [is_computed](std::vector<Tensor> arguments) {
        auto step = [](Tensor c, Tensor x) { return std::pair(c * 0.5F + x, None{}); };
        const Tensor part = is_computed ? dynamic_slice_in_dim(arguments[0], arguments[1], kLong)
                                        : slice_in_dim(arguments[0], 1, kLong + 1);
        auto [last, ys] = scan(step, scalar<float>(0), part);
        return std::vector<Tensor>{last};
      });
}
BENCHMARK_CAPTURE(BM_Part, from_a_number, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(BM_Part, from_a_value, true)->Unit(benchmark::kMillisecond)->UseRealTime();

// Writes a row that is computed from another row, of the same array or of another one. In the first
// form pjrt/ puts add-dependency between the two for XLA.
void BM_RowOfARow(benchmark::State& state, bool is_same) {
  run(state, kSteps,
      {placeholder({kSteps + 1, kWidth}, f32), placeholder({kSteps + 1, kWidth}, f32)},
      [is_same](std::vector<Tensor> arguments) {
        auto step = [&](Tensor i, Tensor xs) {
          const Tensor row = dynamic_slice_in_dim(is_same ? xs : arguments[1], i, 1);
          return dynamic_update_slice_in_dim(xs, row * 0.5F + 1.0F, i + 1);
        };
        return std::vector<Tensor>{fori_loop(0, kSteps, step, arguments[0])};
      });
}
BENCHMARK_CAPTURE(BM_RowOfARow, of_another_array, false)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_RowOfARow, of_the_array, true)->Unit(benchmark::kMillisecond)->UseRealTime();

// Rows reduced by a function that XLA does not know, from a start that is not known to be its
// identity, and from one that is. The first goes to XLA as a reduction of two arrays.
void BM_Reduce(benchmark::State& state, float start) {
  run(state, 1000, {placeholder({1000, 1000}, f32)}, [start](std::vector<Tensor> arguments) {
    const auto one_more = [](std::span<const Tensor> t) -> std::vector<Tensor> {
      return {(t[0] + 1.0F) + t[1]};
    };
    return reduce(arguments, {scalar(start)}, one_more, {1});
  });
}
BENCHMARK_CAPTURE(BM_Reduce, from_an_identity, -1.0F)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, from_another_start, 7.0F)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// argmax along rows, a reduction of two arrays.
void BM_ArgMax(benchmark::State& state) {
  run(state, 1000, {placeholder({1000, 1000}, f32)},
      [](std::vector<Tensor> arguments) { return std::vector<Tensor>{argmax(arguments[0], 1)}; });
}
BENCHMARK(BM_ArgMax)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace heddle
