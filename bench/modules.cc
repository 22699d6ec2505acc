// Modules at size: parse, verify, print, proto write and read of 10^5 instructions of several
// kinds, and staging a 405B-parameter model. Times are CPU times; the least of five runs and their
// median are what counts on a machine that does other things too.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/tests/support/llama.h"

namespace {

using namespace heddle;

constexpr int64_t kInstructions = 100000;

// As traced: without names, but with the user's lines.
hlo::Module traced_module() {
  return trace(
             [](Tensor x) {
               for (int64_t i = 0; i < kInstructions / 7; ++i)
                 x = tanh(x) * 0.5 + 1.25;  // 7 instructions
               return x;
             },
             placeholder({8}, f32))
      .module();
}

// A module of other front ends: a short name for each instruction and nothing else.
hlo::Module named_module() {
  hlo::Module module = traced_module();
  int64_t number = 0;
  for (hlo::Instruction& instruction : module.computations[module.entry.value].instructions) {
    instruction.name = base::cat(hlo::to_string(instruction.opcode), ".", ++number);
    instruction.at = {};
  }
  return module;
}

// A module with everything that large programs have: long names, metadata, a sharding, frontend
// attributes.
hlo::Module annotated_module() {
  hlo::Module module = named_module();
  hlo::Sharding sharding{
      .type = hlo::Sharding::Type::kOther, .tile_dimensions = {2}, .iota_reshape = {2}};
  for (hlo::Instruction& instruction : module.computations[module.entry.value].instructions) {
    instruction.name =
        base::cat("transpose_jvp_while_body_of_the_train_step_of_layer_", instruction.name);
    hlo::InstructionExtras& extras = instruction.extras.mutate();
    extras.metadata = {
        .op_type = "dot_general",
        .op_name = "jit(train_step)/jit(main)/transpose(jvp(while))/body/dot_general",
        .source_file = "project/models/transformer/attention.py",
        .source_line = 123,
        .stack_frame_id = 7};
    if (instruction.shape.rank() == 1) extras.sharding = base::Box(sharding);
    extras.frontend_attributes = {{"_xla_compute_type", "host"}, {"layer", "attention"}};
  }
  return module;
}

struct Kind {
  const char* name;
  hlo::Module (*make)();
};
constexpr Kind kKinds[] = {
    {"traced", traced_module}, {"named", named_module}, {"annotated", annotated_module}};

const hlo::Module& big_module(benchmark::State& state) {
  static const std::vector<hlo::Module> modules = [] {
    std::vector<hlo::Module> made;
    for (const Kind& kind : kKinds) made.push_back(kind.make());
    return made;
  }();
  const auto which = static_cast<size_t>(state.range(0));
  state.SetLabel(kKinds[which].name);
  state.counters["instructions"] = static_cast<double>(modules[which].instruction_count());
  return modules[which];
}

void BM_Print(benchmark::State& state) {
  const hlo::Module& module = big_module(state);
  for (auto _ : state) benchmark::DoNotOptimize(hlo::print(module));
}
void BM_Parse(benchmark::State& state) {
  const std::string text = hlo::print(big_module(state));
  for (auto _ : state) benchmark::DoNotOptimize(hlo::parse_text(text).ok());
}
void BM_Verify(benchmark::State& state) {
  const hlo::Module& module = big_module(state);
  for (auto _ : state) benchmark::DoNotOptimize(hlo::verify(module).ok());
}
void BM_ProtoWrite(benchmark::State& state) {
  const hlo::Module& module = big_module(state);
  for (auto _ : state) benchmark::DoNotOptimize(hlo::to_proto(module));
}
void BM_ProtoRead(benchmark::State& state) {
  const std::string bytes = hlo::to_proto(big_module(state));
  for (auto _ : state) benchmark::DoNotOptimize(hlo::from_proto(bytes).ok());
}

double least(const std::vector<double>& times) { return *std::ranges::min_element(times); }

// Every kind, five runs each; it shows the least and the median.
void repeat(benchmark::internal::Benchmark* benchmark) {
  benchmark->DenseRange(0, std::ssize(kKinds) - 1)
      ->Repetitions(5)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->ReportAggregatesOnly()
      ->ComputeStatistics("min", least);
}
BENCHMARK(BM_Print)->Apply(repeat);
BENCHMARK(BM_Parse)->Apply(repeat);
BENCHMARK(BM_Verify)->Apply(repeat);
BENCHMARK(BM_ProtoWrite)->Apply(repeat);
BENCHMARK(BM_ProtoRead)->Apply(repeat);

// 126 layers of Llama 3.1 405B, over 700 GB of placeholders: traced, lowered, written as a proto.
void BM_StageLlama405B(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    clear_combine_cache();  // or the second round would find the layer traced
    state.ResumeTiming();
    benchmark::DoNotOptimize(llama::decoder(llama::kLayers, 4096).lowered().hlo_proto());
  }
}
BENCHMARK(BM_StageLlama405B)->Unit(benchmark::kMillisecond);

// A step of its training: traced, differentiated, with Adam; and lowered and written too. The first
// has a bar, 150 ms.
void BM_TraceLlama405BTraining(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    clear_combine_cache();
    state.ResumeTiming();
    benchmark::DoNotOptimize(llama::training_step(llama::kLayers, 4096));
  }
}
BENCHMARK(BM_TraceLlama405BTraining)->Unit(benchmark::kMillisecond);
void BM_StageLlama405BTraining(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    clear_combine_cache();
    state.ResumeTiming();
    benchmark::DoNotOptimize(llama::training_step(llama::kLayers, 4096).lowered().hlo_proto());
  }
}
BENCHMARK(BM_StageLlama405BTraining)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
