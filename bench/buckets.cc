// Calls of a compiled function whose sizes vary freely: with a bucket, and without one, where each
// new size is a compile. One item is a call.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "heddle/heddle.h"

namespace {

using namespace heddle;

// Two dense layers over rows.
Tensor layers(const Tensor& w, const Tensor& v, const Tensor& x) {
  return matmul(tanh(matmul(x, w)), v);
}

// Arrays of 1 to 512 rows, the same at each run.
std::vector<Tensor> random_batches(size_t count) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> rows(1, 512);
  std::vector<Tensor> batches;
  for (size_t i = 0; i < count; ++i) batches.push_back(ones({rows(random), 64}));
  return batches;
}

// state.range(0): calls since the function was made. Compiles are part of the time; no cache has an
// equal program.
void run(benchmark::State& state, const Bucket& bucket) {
  const std::vector<Tensor> batches = random_batches(static_cast<size_t>(state.range(0)));
  const Tensor w = ones({64, 64}), v = ones({64, 8});
  int64_t graphs = 0;
  double number = 0;
  for (auto _ : state) {
    const double unlike = number += 1;  // another function each time, which no cache has
    const auto f = compile(
        [=](const Tensor& a, const Tensor& b, const Tensor& x) { return layers(a, b, x) * unlike; },
        {.max_graphs = 1000, .bucket = bucket});
    for (const Tensor& x : batches) benchmark::DoNotOptimize(f(w, v, x).wait());
    graphs = f.stats().graphs;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["graphs"] = static_cast<double>(graphs);
}

void BM_RandomSizesWithABucket(benchmark::State& state) { run(state, {.arguments = {2}}); }
void BM_RandomSizesWithout(benchmark::State& state) { run(state, {}); }
BENCHMARK(BM_RandomSizesWithABucket)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RandomSizesWithout)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// The cost of padding and cutting once all is compiled: 300 rows in a bucket of 512, a full bucket,
// and the same sizes without a bucket.
void run_warm(benchmark::State& state, const Bucket& bucket) {
  const auto f = compile(layers, {.bucket = bucket});
  const Tensor w = ones({64, 64}), v = ones({64, 8}), x = ones({state.range(0), 64});
  for (auto _ : state) benchmark::DoNotOptimize(f(w, v, x).wait());
}
void BM_WarmCallWithABucket(benchmark::State& state) { run_warm(state, {.arguments = {2}}); }
void BM_WarmCallWithout(benchmark::State& state) { run_warm(state, {}); }
BENCHMARK(BM_WarmCallWithABucket)->Arg(3)->Arg(300)->Arg(512);
BENCHMARK(BM_WarmCallWithout)->Arg(3)->Arg(300)->Arg(512);

}  // namespace

BENCHMARK_MAIN();
