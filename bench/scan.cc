// What a loop costs outside its run: a cached call, a trace, staging at size.
#include <benchmark/benchmark.h>

#include "heddle/heddle.h"

namespace {

using namespace heddle;

// A cached stateless scan of length 1 on scalars: nearly all of it is the library's own time.
void BM_CachedScanCall(benchmark::State& state) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  Tensor init = scalar<float>(0);
  Tensor xs = ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(scan(step, init, xs));
}
BENCHMARK(BM_CachedScanCall);

// The run that the call above makes, through a Program: what is left of the call is the library's
// time to find it.
void BM_RunOfTheSameProgram(benchmark::State& state) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  Tensor init = scalar<float>(0);
  Tensor xs = ones({1});
  Program program = trace([&](Tensor a, Tensor b) { return scan(step, a, b).first; }, init, xs);
  std::vector<Tensor> arguments{init, xs};
  for (auto _ : state) benchmark::DoNotOptimize(program.run(arguments));
}
BENCHMARK(BM_RunOfTheSameProgram);

// One operation outside a trace: recorded, found by its canonical form, run. The same scalar sum as
// the run above.
void BM_EagerOp(benchmark::State& state) {
  Tensor x = scalar<float>(1), y = scalar<float>(2);
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}
BENCHMARK(BM_EagerOp);

// Tracing straight-line code: items are operations recorded.
void BM_TraceOps(benchmark::State& state) {
  const int64_t ops = state.range(0);
  Tensor x = placeholder({8, 8}, f32);
  for (auto _ : state) {
    benchmark::DoNotOptimize(trace(
        [&](Tensor t) {
          for (int64_t i = 0; i < ops / 2; ++i) t = tanh(t) + x;
          return t;
        },
        x));
  }
  state.SetItemsProcessed(state.iterations() * ops);
}
BENCHMARK(BM_TraceOps)->Arg(1000)->Arg(100000);

}  // namespace

BENCHMARK_MAIN();
