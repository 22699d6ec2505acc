// Modules at size: parse, verify, print, proto write and read of 10^5 instructions, and staging a
// 405B-parameter model.
#include <benchmark/benchmark.h>

#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/tests/support/llama.h"

namespace {

using namespace heddle;

constexpr int64_t kInstructions = 100000;

const hlo::Module& big_module() {
  static const Program program = trace(
      [](Tensor x) {
        for (int64_t i = 0; i < kInstructions / 7; ++i) x = tanh(x) * 0.5 + 1.25;  // 7 instructions
        return x;
      },
      placeholder({8}, f32));
  return program.module();
}

void BM_Print(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(hlo::print(big_module()));
  state.counters["instructions"] = static_cast<double>(big_module().instruction_count());
}
void BM_Parse(benchmark::State& state) {
  const std::string text = hlo::print(big_module());
  for (auto _ : state) benchmark::DoNotOptimize(hlo::parse_text(text).ok());
}
void BM_Verify(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(hlo::verify(big_module()).ok());
}
void BM_ProtoWrite(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(hlo::to_proto(big_module()));
}
void BM_ProtoRead(benchmark::State& state) {
  const std::string bytes = hlo::to_proto(big_module());
  for (auto _ : state) benchmark::DoNotOptimize(hlo::from_proto(bytes).ok());
}
BENCHMARK(BM_Print)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Parse)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ProtoWrite)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ProtoRead)->Unit(benchmark::kMillisecond);

// 126 layers of Llama 3.1 405B, over 700 GB of placeholders: traced, lowered, written as a proto.
void BM_StageLlama405B(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(llama::decoder(llama::kLayers, 4096).lowered().hlo_proto());
}
BENCHMARK(BM_StageLlama405B)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
