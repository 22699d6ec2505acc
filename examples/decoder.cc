// A decoder stack as one scan over its layers: the layer is traced once, whatever the depth. Here a
// small Llama-style decoder runs, and the 405B-parameter one is staged on placeholders.
#include "heddle/examples/decoder.h"

#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;
using namespace heddle::examples;

int main() {
  const Size small{.layers = 4, .d = 32, .ffn = 64, .heads = 4, .kv_heads = 2, .dh = 8};
  Layer layers = make_layers(small, [](Dimensions shape) { return full(shape, 0.02); });
  Tensor y = decode(small, layers, full({1, 6, 32}, 0.5));
  std::printf("small decoder: f32[1,6,32], mean %.4f\n", mean(y).item<float>());

  const Size llama{126, 16384, 53248, 128, 8, 128};  // Llama 3.1 405B
  Counters before = counters();
  Layer staged = make_layers(llama, [](Dimensions shape) { return placeholder(shape, bf16); });
  Program program = trace([&](Layer l, Tensor x) { return decode(llama, l, x); }, staged,
                          placeholder({1, 128, 16384}, bf16));
  int64_t bytes = 0;
  for (const SignatureLeaf& leaf : program.signature().arguments) bytes += leaf.shape.byte_size();
  Counters done = counters() - before;
  std::printf(
      "405B decoder: %.0f GB of placeholders staged; uploads %lld, traces %lld (the program and "
      "one layer)\n",
      static_cast<double>(bytes) / 1e9, static_cast<long long>(done.uploads),
      static_cast<long long>(done.traces));
  return done.uploads == 0 && done.traces == 2 && bytes > 700e9 ? 0 : 1;
}
