// The evaluator's times for ops that move a window: convolutions in flops a second, pools and
// running sums in elements a second. The target for a 3x3 convolution of f32 is 1 Gflop/s.
#include <benchmark/benchmark.h>

#include <string>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace {

using namespace heddle;

// Evaluates a module whose entry takes arrays, on zeros.
void evaluate(benchmark::State& state, const std::string& text) {
  const auto evaluator = interpreter::Evaluator::prepare(*hlo::parse_text(text));
  std::vector<Literal> arguments;
  const hlo::Computation& entry = evaluator->module().entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    arguments.emplace_back(entry.parameter_shape(i));
  for (auto _ : state) benchmark::DoNotOptimize(evaluator->run(arguments));
}

void convolve(benchmark::State& state, const std::string& text, double flops) {
  evaluate(state, text);
  state.counters["flops"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                               benchmark::Counter::kIsRate);
}

void BM_Convolution3x3(benchmark::State& state) {
  convolve(state, R"(HloModule m
    ENTRY main { x = f32[1,56,56,64] parameter(0) k = f32[3,3,64,64] parameter(1)
    ROOT y = f32[1,56,56,64] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })",
           2.0 * 56 * 56 * 64 * 64 * 9);
}
BENCHMARK(BM_Convolution3x3)->Unit(benchmark::kMillisecond);

void BM_ConvolutionOfChannelsFirst(benchmark::State& state) {
  convolve(state, R"(HloModule m
    ENTRY main { x = f32[8,3,64,64] parameter(0) k = f32[32,3,3,3] parameter(1)
    ROOT y = f32[8,32,32,32] convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=bf01_oi01->bf01 })",
           2.0 * 8 * 32 * 32 * 32 * 27);
}
BENCHMARK(BM_ConvolutionOfChannelsFirst)->Unit(benchmark::kMillisecond);

void BM_ConvolutionByChannel(benchmark::State& state) {
  convolve(state, R"(HloModule m
    ENTRY main { x = f32[1,56,56,64] parameter(0) k = f32[3,3,1,64] parameter(1)
    ROOT y = f32[1,56,56,64] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=64 })",
           2.0 * 56 * 56 * 64 * 9);
}
BENCHMARK(BM_ConvolutionByChannel)->Unit(benchmark::kMillisecond);

constexpr const char* kPool = R"(HloModule m
  max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
  add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
  ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
  ENTRY main { x = f32[4,112,112,16] parameter(0) z = f32[] constant(0) )";

void BM_MaxPool(benchmark::State& state) {
  evaluate(
      state,
      kPool +
          std::string(
              "ROOT y = f32[4,56,56,16] reduce-window(x, z), window={size=1x3x3x1 stride=1x2x2x1 "
              "pad=0_0x0_1x0_1x0_0}, to_apply=max }"));
  state.SetItemsProcessed(state.iterations() * 4 * 112 * 112 * 16);
}
BENCHMARK(BM_MaxPool)->Unit(benchmark::kMillisecond);

void BM_MaxPoolGradient(benchmark::State& state) {
  evaluate(state, kPool + std::string("s = f32[4,56,56,16] parameter(1) ROOT y = f32[4,112,112,16] "
                                      "select-and-scatter(x, s, z), "
                                      "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, "
                                      "select=ge, scatter=add }"));
  state.SetItemsProcessed(state.iterations() * 4 * 112 * 112 * 16);
}
BENCHMARK(BM_MaxPoolGradient)->Unit(benchmark::kMillisecond);

void BM_RunningSum(benchmark::State& state) {
  evaluate(state, R"(HloModule m
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY main { x = f32[1048576] parameter(0) z = f32[] constant(0)
    ROOT y = f32[1048576] reduce-window(x, z), window={size=1048576 pad=1048575_0}, to_apply=add })");
  state.SetItemsProcessed(state.iterations() << 20);
}
BENCHMARK(BM_RunningSum)->Unit(benchmark::kMillisecond);

}  // namespace
