// The cost of a loop outside its run: a cached call, a trace, staging at size.
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

// The run of the call above, through a Program. The rest of the call is the library's time to find
// it.
void BM_RunOfTheSameProgram(benchmark::State& state) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  Tensor init = scalar<float>(0);
  Tensor xs = ones({1});
  Program program = trace([&](Tensor a, Tensor b) { return scan(step, a, b).first; }, init, xs);
  std::vector<Tensor> arguments{init, xs};
  for (auto _ : state) benchmark::DoNotOptimize(program.run(arguments));
}
BENCHMARK(BM_RunOfTheSameProgram);

// An add of four floats: eagerly, by a compiled function, and by a compiled program.
void BM_EagerAdd4(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}
BENCHMARK(BM_EagerAdd4);
void BM_CompiledFunctionCall(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  const auto add = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(BM_CompiledFunctionCall);
void BM_CompiledProgramCall(benchmark::State& state) {
  const Tensor x = ones({4}), y = ones({4});
  const auto add = trace([](const Tensor& a, const Tensor& b) { return a + b; }, x, y).compile();
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(BM_CompiledProgramCall);

// A scan of 10 steps with a body of 6 ops, without a promise: the lambda, which captures a tensor,
// is traced at each call, and its program is found again.
auto six_ops(const Tensor& rate) {
  return [rate](Tensor c, Tensor x) {
    Tensor y = c * rate + x;
    y = y - tanh(y) * x;
    return std::pair(c + y, None{});
  };
}
void BM_LambdaScanCall(benchmark::State& state) {
  Tensor rate = scalar(0.5f), init = scalar(0.0f), xs = ones({10});
  for (auto _ : state) benchmark::DoNotOptimize(scan(six_ops(rate), init, xs));
}
BENCHMARK(BM_LambdaScanCall);

// The same scan as a Function, which is not traced, and as a Program. The rest of the call above is
// the price of tracing.
void BM_FunctionScanCall(benchmark::State& state) {
  Tensor rate = scalar(0.5f), init = scalar(0.0f), xs = ones({10});
  Function step("six_ops", six_ops(rate));
  for (auto _ : state) benchmark::DoNotOptimize(scan(step, init, xs));
}
BENCHMARK(BM_FunctionScanCall);
void BM_RunOfTheLambdaScan(benchmark::State& state) {
  Tensor rate = scalar(0.5f), init = scalar(0.0f), xs = ones({10});
  Program program =
      trace([&](Tensor a, Tensor b) { return scan(six_ops(rate), a, b).first; }, init, xs);
  std::vector<Tensor> arguments{init, xs};
  for (auto _ : state) benchmark::DoNotOptimize(program.run(arguments));
}
BENCHMARK(BM_RunOfTheLambdaScan);

// The gradient of a scan, outside of a trace: as a Function, which is neither traced nor
// transformed again; as the program that this runs, of which the difference is the library's own
// time; and as a lambda, which is traced.
Tensor last_of_six_ops(const Tensor& init, const Tensor& xs) {
  return scan(six_ops(scalar(0.5f)), init, xs).first;
}
void BM_FunctionValueAndGrad(benchmark::State& state) {
  Tensor init = scalar(0.0f), xs = ones({10});
  const auto derived = value_and_grad(
      Function("last_of_six_ops", [](Tensor a, Tensor b) { return last_of_six_ops(a, b); }));
  for (auto _ : state) benchmark::DoNotOptimize(derived(init, xs));
}
BENCHMARK(BM_FunctionValueAndGrad);
void BM_RunOfTheValueAndGrad(benchmark::State& state) {
  Tensor init = scalar(0.0f), xs = ones({10});
  Program program =
      trace(value_and_grad([](Tensor a, Tensor b) { return last_of_six_ops(a, b); }), init, xs);
  std::vector<Tensor> arguments{init, xs};
  for (auto _ : state) benchmark::DoNotOptimize(program.run(arguments));
}
BENCHMARK(BM_RunOfTheValueAndGrad);
void BM_LambdaValueAndGrad(benchmark::State& state) {
  Tensor init = scalar(0.0f), xs = ones({10});
  const auto derived = value_and_grad([](Tensor a, Tensor b) { return last_of_six_ops(a, b); });
  for (auto _ : state) benchmark::DoNotOptimize(derived(init, xs));
}
BENCHMARK(BM_LambdaValueAndGrad);

// Other loops and branches whose lambdas are traced at each call.
void BM_LambdaWhileCall(benchmark::State& state) {
  Tensor rate = scalar(0.5f), init = scalar(0.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        while_loop([](Tensor c) { return c < 1.0f; }, [&](Tensor c) { return c + rate; }, init));
  }
}
BENCHMARK(BM_LambdaWhileCall);
void BM_LambdaForiCall(benchmark::State& state) {
  Tensor rate = scalar(0.5f), init = scalar(0.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(fori_loop(
        0, 3, [&](Tensor, Tensor c) { return c + rate; }, init));
  }
}
BENCHMARK(BM_LambdaForiCall);
void BM_LambdaCondCall(benchmark::State& state) {
  Tensor rate = scalar(0.5f), x = scalar(0.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cond(
        x < 1.0f, [&](Tensor c) { return c + rate; }, [](Tensor c) { return c; }, x));
  }
}
BENCHMARK(BM_LambdaCondCall);
void BM_LambdaReduceCall(benchmark::State& state) {
  Tensor x = ones({8}), init = scalar(0.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        reduce({x}, {init},
               [](std::span<const Tensor> a) { return std::vector<Tensor>{a[0] + a[1]}; }, {0}));
  }
}
BENCHMARK(BM_LambdaReduceCall);

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
