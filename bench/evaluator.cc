// How many scalar operations the evaluator does in a second: in loops over small bodies, which
// shows the cost of an instruction, and elementwise on many numbers, which shows the cost of an
// element. The target of both: 10^7 a second.
#include <benchmark/benchmark.h>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace {

using namespace heddle;

// 9 scalar operations a trip, one of them the comparison; 10^4 trips.
constexpr char kWhile[] = R"(
less {
  s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(10000)
  ROOT r = pred[] compare(i, n), direction=LT
}
next {
  s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[] get-tuple-element(s), index=1
  b = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  half = f32[] constant(0.5)
  j = s32[] add(i, one)
  c = f32[] multiply(a, half)
  d = f32[] add(c, b)
  e = f32[] subtract(b, d)
  f = f32[] maximum(d, e)
  g = f32[] minimum(e, half)
  h = f32[] negate(g)
  ROOT t = (s32[], f32[], f32[]) tuple(j, f, h)
}
ENTRY main {
  zero = s32[] constant(0)
  a = f32[] parameter(0)
  t = (s32[], f32[], f32[]) tuple(zero, a, a)
  ROOT w = (s32[], f32[], f32[]) while(t), condition=less, body=next
})";
constexpr int64_t kWhileOperations = 9 * 10000;

// 4 scalar operations a step, 10^4 steps.
constexpr char kScan[] = R"(
step {
  x = f32[] parameter(0)
  h = f32[] parameter(1)
  half = f32[] constant(0.5)
  a = f32[] multiply(h, half)
  b = f32[] add(a, x)
  c = f32[] maximum(b, half)
  d = f32[] subtract(c, a)
  ROOT t = (f32[], f32[]) tuple(b, d)
}
ENTRY main {
  xs = f32[10000] parameter(0)
  h = f32[] constant(1)
  ROOT s = (f32[10000], f32[]) scan(xs, h), dimensions={0}, num_carries=1, to_apply=step
})";
constexpr int64_t kScanOperations = 4 * 10000;

// 4 operations on each of 10^6 elements.
constexpr char kElementwise[] = R"(
ENTRY main {
  x = $t[1000000] parameter(0)
  a = $t[1000000] multiply(x, x)
  b = $t[1000000] add(a, x)
  c = $t[1000000] subtract(b, a)
  ROOT d = $t[1000000] maximum(c, x)
})";

std::string of_type(std::string text, std::string_view type) {
  for (size_t at = text.find("$t"); at != std::string::npos; at = text.find("$t"))
    text.replace(at, 2, type);
  return text;
}

void run(benchmark::State& state, const std::string& text, int64_t operations) {
  auto module = hlo::parse_text(text);
  if (!module.ok()) return state.SkipWithError(base::message_of(module.status()).c_str());
  auto evaluator = interpreter::Evaluator::prepare(*module);
  if (!evaluator.ok()) return state.SkipWithError(base::message_of(evaluator.status()).c_str());
  const Literal argument(module->entry_computation().parameter_shape(0));
  for (auto _ : state) benchmark::DoNotOptimize(evaluator->run({argument}));
  state.SetItemsProcessed(state.iterations() * operations);
}

void BM_While(benchmark::State& state) { run(state, kWhile, kWhileOperations); }
BENCHMARK(BM_While)->Unit(benchmark::kMillisecond);

void BM_Scan(benchmark::State& state) { run(state, kScan, kScanOperations); }
BENCHMARK(BM_Scan)->Unit(benchmark::kMillisecond);

void BM_Elementwise(benchmark::State& state, const char* type) {
  run(state, of_type(kElementwise, type), 4'000'000);
}
BENCHMARK_CAPTURE(BM_Elementwise, f32, "f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Elementwise, f64, "f64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Elementwise, bf16, "bf16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Elementwise, s32, "s32")->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
