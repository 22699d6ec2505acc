// Operations that run at once, outside of a trace: an op, an index, a loop. docs/performance.md has
// the figures that eager dispatch must meet.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>
#include <utility>

#include "heddle/heddle.h"

namespace {

using namespace heddle;

// One item is one op; each needs the result of the one before.
constexpr int64_t kChain = 1000;

void BM_AddChain(benchmark::State& state) {
  const Tensor y = ones({state.range(0)});
  for (auto _ : state) {
    Tensor x = y;
    for (int64_t i = 0; i < kChain; ++i) x = x + y;
    benchmark::DoNotOptimize(x);
  }
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(BM_AddChain)->Arg(4)->Arg(4096);

// The same, if the op may write into the variable's own memory.
void BM_AddToVariable(benchmark::State& state) {
  const Tensor y = ones({state.range(0)});
  for (auto _ : state) {
    Tensor x = y + y;
    for (int64_t i = 0; i < kChain; ++i) x += y;
    benchmark::DoNotOptimize(x);
  }
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(BM_AddToVariable)->Arg(4)->Arg(4096);

// a * x + b: the product is a temporary. Two ops a step.
void BM_MultiplyAdd(benchmark::State& state) {
  const Tensor a = ones({state.range(0)}), b = zeros({state.range(0)});
  for (auto _ : state) {
    Tensor x = b;
    for (int64_t i = 0; i < kChain; ++i) x = x * a + b;
    benchmark::DoNotOptimize(x);
  }
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(BM_MultiplyAdd)->Arg(4)->Arg(4096);

// One item is one op on arrays that programs compute, and not direct kernels: it shows the cost of
// their memory.
void BM_AddArrays(benchmark::State& state) {
  const Tensor y = ones({state.range(0)});
  Tensor x = y;
  for (auto _ : state) x = x + y;
  benchmark::DoNotOptimize(x);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AddArrays)->Arg(4096)->Arg(1 << 16)->Arg(1 << 18)->Arg(1 << 20)->Arg(1 << 22);

// Seven arrays of unlike sizes are alive at once, as in a step of training.
void BM_AddArraysOfManySizes(benchmark::State& state) {
  std::vector<Tensor> ys, xs;
  for (int64_t i = 1; i <= 7; ++i) ys.push_back(ones({state.range(0) * i / 4}));
  for (auto _ : state) {
    xs.clear();
    for (const Tensor& y : ys) xs.push_back(y + y);
    for (size_t i = 0; i < ys.size(); ++i) xs[i] = xs[i] * ys[i] + ys[i];
  }
  benchmark::DoNotOptimize(xs);
  state.SetItemsProcessed(state.iterations() * 21);
}
BENCHMARK(BM_AddArraysOfManySizes)->Arg(4096)->Arg(1 << 17)->Arg(1 << 19);

// Beside another thread, which makes all counts of references atomic.
void BM_AddChainBesideAThread(benchmark::State& state) {
  std::atomic<bool> is_done = false;
  std::thread other([&] { is_done.wait(false); });
  BM_AddChain(state);
  is_done = true;
  is_done.notify_one();
  other.join();
}
BENCHMARK(BM_AddChainBesideAThread)->Arg(4);

// A new shape each time: nothing is compiled for it.
void BM_NewShape(benchmark::State& state) {
  const int64_t before = counters().compiles;
  int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(full({1 + i++ % 4096, 3}, 2.0f));
  if (counters().compiles != before) state.SkipWithError("it compiled");
}
BENCHMARK(BM_NewShape);

void BM_TimesNewNumber(benchmark::State& state) {
  const Tensor x = ones({4});
  double number = 1;
  for (auto _ : state) benchmark::DoNotOptimize(x * (number += 1e-6));
}
BENCHMARK(BM_TimesNewNumber);

void BM_NewIndex(benchmark::State& state) {
  const Tensor b = ones({1024, 4});
  int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(b[i++ % 1024]);
}
BENCHMARK(BM_NewIndex);

void BM_Comparison(benchmark::State& state) {
  const Tensor x = ones({4}), y = zeros({4});
  for (auto _ : state) benchmark::DoNotOptimize(x < y);
}
BENCHMARK(BM_Comparison);

// An op that has no direct kernel: the cached program.
void BM_TanhOf4(benchmark::State& state) {
  const Tensor x = ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(tanh(x));
}
BENCHMARK(BM_TanhOf4);

void BM_CompiledFunction(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  const auto add = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(BM_CompiledFunction);

void BM_CompiledProgram(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  const auto add = trace([](const Tensor& a, const Tensor& b) { return a + b; }, x, y).compile();
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(BM_CompiledProgram);

// The run alone, without a Tensor.
void BM_Executable(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  const auto add = trace([](const Tensor& a, const Tensor& b) { return a + b; }, x, y).compile();
  Device& device = default_device();
  const auto upload = [&] { return runtime::to_device(device, Literal(Shape(f32, {4}))).value(); };
  const std::vector<runtime::BufferPtr> arguments{upload(), upload()};
  for (auto _ : state) benchmark::DoNotOptimize(add.executable()->execute(arguments));
}
BENCHMARK(BM_Executable);

void BM_ScanOf10(benchmark::State& state) {
  const Tensor init = scalar(0.0f), xs = ones({10});
  const auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  for (auto _ : state) benchmark::DoNotOptimize(scan(step, init, xs));
}
BENCHMARK(BM_ScanOf10);

// Its work: the run of its program alone.
void BM_RunOfScanOf10(benchmark::State& state) {
  const auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  const auto all = [&](const Tensor& init, const Tensor& xs) { return scan(step, init, xs).first; };
  const auto program = trace(all, scalar(0.0f), ones({10})).compile();
  Device& device = default_device();
  const std::vector<runtime::BufferPtr> arguments{
      runtime::to_device(device, Literal(Shape(f32, {}))).value(),
      runtime::to_device(device, Literal(Shape(f32, {10}))).value()};
  for (auto _ : state) benchmark::DoNotOptimize(program.executable()->execute(arguments));
}
BENCHMARK(BM_RunOfScanOf10);

void BM_Cond(benchmark::State& state) {
  const Tensor x = scalar(0.5f), which = x < 1.0f;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cond(
        which, [](Tensor c) { return c + 1.0f; }, [](Tensor c) { return c; }, x));
  }
}
BENCHMARK(BM_Cond);

}  // namespace

BENCHMARK_MAIN();
