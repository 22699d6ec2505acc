// The cost of passes for each instruction. The combine cache canonicalises a body on every retrace,
// so the canonical form has a target: 1 us.
#include <benchmark/benchmark.h>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/import.h"
#include "heddle/transform/pass.h"

namespace {

using namespace heddle;
using hlo::InstructionId;
using hlo::Opcode;

// Blocks of five instructions as a traced cell has them: x = tanh(transpose(x) * y) + x.
hlo::Module cell(int64_t blocks) {
  hlo::Module module;
  hlo::ComputationBuilder to(module);
  const Shape square(f32, {8, 8});
  InstructionId x = to.parameter(square);
  InstructionId row = to.parameter(Shape(f32, {8}));
  for (int64_t i = 0; i < blocks; ++i) {
    InstructionId turned = *to.add(Opcode::kTranspose, {x}, hlo::DimensionsAttrs{{1, 0}});
    InstructionId wide = *to.add(Opcode::kBroadcast, {row}, hlo::DimensionsAttrs{{1}}, {}, &square);
    InstructionId product = *to.add(Opcode::kMultiply, {turned, wide});
    x = *to.add(Opcode::kAdd, {*to.add(Opcode::kTanh, {product}), x});
  }
  module.entry = module.add(std::move(to).finish(x));
  return module;
}

void count_instructions(benchmark::State& state, const hlo::Module& module) {
  state.SetItemsProcessed(state.iterations() * module.instruction_count());
}

void BM_Canonicalize(benchmark::State& state) {
  hlo::Module module = cell(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(transform::canonicalize(module));
  count_instructions(state, module);
}
BENCHMARK(BM_Canonicalize)->Arg(6)->Arg(600);

void BM_CanonicalizeMoved(benchmark::State& state) {
  hlo::Module module = cell(state.range(0));
  for (auto _ : state) module = transform::canonicalize(std::move(module));
  count_instructions(state, module);
}
BENCHMARK(BM_CanonicalizeMoved)->Arg(6)->Arg(600);

void BM_HashAndCompare(benchmark::State& state) {
  hlo::Module module = cell(state.range(0));
  hlo::Module other = module;
  for (auto _ : state) {
    benchmark::DoNotOptimize(hlo::hash_of(module));
    benchmark::DoNotOptimize(hlo::equal(module, other));
  }
  count_instructions(state, module);
}
BENCHMARK(BM_HashAndCompare)->Arg(6)->Arg(600);

void BM_Import(benchmark::State& state) {
  hlo::Module module = cell(state.range(0));
  for (auto _ : state) {
    hlo::Module into;
    benchmark::DoNotOptimize(transform::import(into, module));
  }
  count_instructions(state, module);
}
BENCHMARK(BM_Import)->Arg(600);

void BM_Pass(benchmark::State& state, const transform::Pass& pass) {
  hlo::Module module = cell(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(pass.run(module));
  count_instructions(state, module);
}
BENCHMARK_CAPTURE(BM_Pass, inline, transform::kPasses[0])->Arg(600);
BENCHMARK_CAPTURE(BM_Pass, lower_scan, transform::kPasses[1])->Arg(600);
BENCHMARK_CAPTURE(BM_Pass, merge_equal, transform::kPasses[2])->Arg(600);
BENCHMARK_CAPTURE(BM_Pass, remove_unused, transform::kPasses[3])->Arg(600);
BENCHMARK_CAPTURE(BM_Pass, simplify, transform::kPasses[4])->Arg(600);

void BM_Pipeline(benchmark::State& state, std::span<const transform::Pass> passes) {
  hlo::Module module = cell(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(transform::run_pipeline(module, passes, {.verify_each = false}));
  count_instructions(state, module);
}
BENCHMARK_CAPTURE(BM_Pipeline, lower, transform::kLowerPipeline)->Arg(600);
BENCHMARK_CAPTURE(BM_Pipeline, flatten, transform::kFlattenPipeline)->Arg(600);

}  // namespace

BENCHMARK_MAIN();
