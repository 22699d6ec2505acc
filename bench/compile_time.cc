// The time of the native backend to compile long blocks, in milliseconds: each kind of program with
// 1,000 to 20,000 steps, and 50 and 200 layers. If it is linear, a `step` costs the same in all of
// them.
#include <benchmark/benchmark.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/backend.h"

namespace {

using namespace heddle;
using base::cat;

constexpr const char* kOps[] = {"multiply", "add", "subtract"};

std::string chain(int64_t steps, const std::string& type) {
  std::string text =
      cat("HloModule m\nENTRY main { v0 = ", type, " parameter(0) a = ", type, " parameter(1)\n");
  for (int64_t k = 1; k <= steps; ++k) {
    const std::string other = k % 2 == 1 ? "a" : cat("v", k < 7 ? 0 : k - 7);
    text += cat("v", k, " = ", type, " ", kOps[k % 3], "(v", k - 1, ", ", other, ")\n");
  }
  return text + cat("ROOT r = ", type, " negate(v", steps, ") }\n");
}

std::string scalars(int64_t steps) { return chain(steps, "f32[]"); }
std::string arrays(int64_t steps) { return chain(steps, "f32[256]"); }

// An index and an update each.
std::string updates(int64_t steps) {
  std::string text =
      "HloModule m\nENTRY main { x0 = f32[1024] parameter(0) u = f32[4] parameter(1)\n"
      "i0 = s32[] parameter(2) one = s32[] constant(1)\n";
  for (int64_t k = 1; k <= steps; ++k) {
    text += cat("i", k, " = s32[] add(i", k - 1, ", one)\nx", k,
                " = f32[1024] dynamic-update-slice(x", k - 1, ", u, i", k, ")\n");
  }
  return text + cat("ROOT r = f32[1024] copy(x", steps, ") }\n");
}

std::string reductions(int64_t steps) {
  std::string text =
      "HloModule m\nsum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) "
      "}\n"
      "ENTRY main { x = f32[64] parameter(0) z = f32[] constant(0) s0 = f32[] constant(1)\n";
  for (int64_t k = 1; k <= steps; ++k) {
    text += cat("b", k, " = f32[64] broadcast(s", k - 1, "), dimensions={}\nm", k,
                " = f32[64] add(x, b", k, ")\ns", k, " = f32[] reduce(m", k,
                ", z), dimensions={0}, to_apply=sum\n");
  }
  return text + cat("ROOT r = f32[] negate(s", steps, ") }\n");
}

// Layers with a matrix each, whose product is a kernel.
std::string layers(int64_t count) {
  std::string text = "HloModule m\nENTRY main { h0 = f32[64,256] parameter(0)\n";
  for (int64_t k = 1; k <= count; ++k) text += cat("w", k, " = f32[256,256] parameter(", k, ")\n");
  for (int64_t k = 1; k <= count; ++k) {
    text += cat("d", k, " = f32[64,256] dot(h", k - 1, ", w", k,
                "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\nt", k,
                " = f32[64,256] tanh(d", k, ")\ne", k, " = f32[64,256] exponential(t", k, ")\nh", k,
                " = f32[64,256] multiply(e", k, ", h", k - 1, ")\n");
  }
  return text + cat("ROOT r = f32[64,256] negate(h", count, ") }\n");
}

void compile(benchmark::State& state, std::string (*text)(int64_t)) {
  const auto backend = cpu::make_cpu();
  const hlo::Module module = hlo::parse_text(text(state.range(0))).value();
  for (auto _ : state)
    benchmark::DoNotOptimize(backend->compile(module, {}, *backend->devices()[0]).value());
  state.counters["step"] =
      benchmark::Counter(static_cast<double>(state.range(0) * state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1000)
      ->Arg(2000)
      ->Arg(5000)
      ->Arg(20000)
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
}

BENCHMARK_CAPTURE(compile, scalars, scalars)->Apply(sizes);
BENCHMARK_CAPTURE(compile, arrays, arrays)->Apply(sizes);
BENCHMARK_CAPTURE(compile, updates, updates)->Apply(sizes);
BENCHMARK_CAPTURE(compile, reductions, reductions)->Apply(sizes);
BENCHMARK_CAPTURE(compile, layers, layers)
    ->Arg(50)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
