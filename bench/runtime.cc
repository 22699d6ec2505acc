// The cost that the runtime adds to a run, a lookup and a transfer.
#include <benchmark/benchmark.h>

#include "heddle/cpu/backend.h"
#include "heddle/hlo/builder.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"

namespace heddle::runtime {
namespace {

Shape vector_of(int64_t n) { return Shape(DType::kF32, {n}); }

// add(x: f32[2], y: f32[2]) = x + y
hlo::Module tiny_module() {
  hlo::Module module{.name = "add"};
  hlo::ComputationBuilder builder(module);
  const auto x = builder.parameter(vector_of(2)), y = builder.parameter(vector_of(2));
  const auto sum = builder.add(hlo::Opcode::kAdd, {x, y}).value();
  module.entry = module.add(std::move(builder).finish(sum));
  return module;
}

BufferPtr upload(int64_t n) { return to_device(default_device(), Literal(vector_of(n))).value(); }

// The evaluation alone, arguments made ready as a run does.
void BM_EvaluateTiny(benchmark::State& state) {
  const interpreter::Evaluator evaluator = interpreter::Evaluator::prepare(tiny_module()).value();
  const Literal x(vector_of(2)), y(vector_of(2));
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.run(std::vector{x, y}));
}
BENCHMARK(BM_EvaluateTiny);

// The difference to the line above is what the runtime adds.
void BM_ExecuteTiny(benchmark::State& state) {
  const auto executable = compile_cached(tiny_module(), default_device()).value();
  const std::vector arguments = {upload(2), upload(2)};
  for (auto _ : state) benchmark::DoNotOptimize(executable->execute(arguments));
}
BENCHMARK(BM_ExecuteTiny);

// The same as machine code; the target is 300 ns.
void BM_ExecuteTinyNative(benchmark::State& state) {
  const auto backend = cpu::make_cpu();
  Device& device = *backend->devices()[0];
  const auto executable = backend->compile(tiny_module(), {}, device).value();
  const std::vector arguments = {to_device(device, Literal(vector_of(2))).value(),
                                 to_device(device, Literal(vector_of(2))).value()};
  for (auto _ : state) benchmark::DoNotOptimize(executable->execute(arguments));
}
BENCHMARK(BM_ExecuteTinyNative);

void BM_ExecuteTinyDonating(benchmark::State& state) {
  const auto executable = compile_cached(tiny_module(), default_device()).value();
  const ExecuteOptions options = {.donate = {0}};
  std::vector arguments = {upload(2), upload(2)};
  for (auto _ : state) arguments[0] = executable->execute(arguments, options).value()[0];
}
BENCHMARK(BM_ExecuteTinyDonating);

void BM_FindCachedProgram(benchmark::State& state) {
  const auto module = std::make_shared<const hlo::Module>(tiny_module());
  for (auto _ : state) benchmark::DoNotOptimize(compile_cached(module, default_device()));
}
BENCHMARK(BM_FindCachedProgram);

// Elements of 4 bytes.
void BM_Upload(benchmark::State& state) {
  const Literal literal(vector_of(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(to_device(default_device(), literal));
  state.SetBytesProcessed(state.iterations() * literal.byte_size());
}
BENCHMARK(BM_Upload)->Arg(1)->Arg(1 << 20);

void BM_Lend(benchmark::State& state) {
  const Literal literal(vector_of(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        lend_to_device(default_device(), literal.bytes(), literal.shape(), literal.owner()));
  }
}
BENCHMARK(BM_Lend)->Arg(1)->Arg(1 << 20);

void BM_Download(benchmark::State& state) {
  const BufferPtr buffer = upload(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(to_host(*buffer));
  state.SetBytesProcessed(state.iterations() * buffer->size_bytes());
}
BENCHMARK(BM_Download)->Arg(1)->Arg(1 << 20);

}  // namespace
}  // namespace heddle::runtime

BENCHMARK_MAIN();
