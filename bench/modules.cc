// Modules at size: parse, verify, print, proto write and read of 10^5 instructions, and staging a
// 405B-parameter model.
#include <benchmark/benchmark.h>

#include <array>

#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"

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

// 126 layers of Llama 3.1 405B (d 16384, ffn 53248, 128 heads, 8 kv heads, bf16), the matrices of
// each layer as one scan: traced, lowered, written as a proto.
void BM_StageLlama405B(benchmark::State& state) {
  const int64_t layers = 126, d = 16384, ffn = 53248, kv = 1024;
  using Layer = std::array<Tensor, 9>;  // norm, q, k, v, o, norm, gate, up, down
  Layer stacked;
  size_t n = 0;
  for (Dimensions shape : std::vector<Dimensions>{{layers, d},
                                                  {layers, d, d},
                                                  {layers, d, kv},
                                                  {layers, d, kv},
                                                  {layers, d, d},
                                                  {layers, d},
                                                  {layers, d, ffn},
                                                  {layers, d, ffn},
                                                  {layers, ffn, d}}) {
    stacked[n++] = placeholder(shape, bf16);
  }
  auto norm = [](Tensor x, Tensor w) {
    return (x.astype(f32) *
            rsqrt(mean(square(x.astype(f32)), {.axes = {-1}, .keep_dims = true}) + 1e-5))
               .astype(bf16) *
           w;
  };
  auto layer_fn = [&](Layer l, Tensor h) {
    Tensor u = norm(h, l[0]);
    Tensor q = reshape(matmul(u, l[1]), {-1, 8, 16, 128}),
           k = reshape(matmul(u, l[2]), {-1, 8, 128}), v = reshape(matmul(u, l[3]), {-1, 8, 128});
    Tensor weights = softmax(einsum("tkgd,skd->kgts", q, k).astype(f32) * 0.088, -1).astype(bf16);
    h = h + matmul(reshape(einsum("kgts,skd->tkgd", weights, v), {-1, d}), l[4]);
    Tensor w = norm(h, l[5]);
    return h + matmul(logistic(matmul(w, l[6])) * matmul(w, l[7]), l[8]);
  };
  Tensor x = placeholder({4096, d}, bf16);
  for (auto _ : state) {
    Program program =
        trace([&](Layer ls, Tensor t) { return scan_layers(layer_fn, ls, t); }, stacked, x);
    benchmark::DoNotOptimize(program.lowered().hlo_proto());
  }
}
BENCHMARK(BM_StageLlama405B)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
