// A decoder stack as one scan over its layers: the layer is traced once, whatever the depth. Here a
// small Llama-style decoder runs, and the 405B-parameter one is staged on placeholders.
#include <cmath>
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

struct Layer {            // stacked: every leaf has a leading [layers] axis
  Tensor attention_norm;  // [d]
  Tensor wq, wk, wv;      // [d, heads * dh], [d, kv_heads * dh], [d, kv_heads * dh]
  Tensor wo;              // [heads * dh, d]
  Tensor ffn_norm;        // [d]
  Tensor gate, up;        // [d, ffn]
  Tensor down;            // [ffn, d]
  static constexpr auto kFields =
      fields(field("attention_norm", &Layer::attention_norm), field("wq", &Layer::wq),
             field("wk", &Layer::wk), field("wv", &Layer::wv), field("wo", &Layer::wo),
             field("ffn_norm", &Layer::ffn_norm), field("gate", &Layer::gate),
             field("up", &Layer::up), field("down", &Layer::down));
};

struct Size {
  int64_t layers, d, ffn, heads, kv_heads;
  [[nodiscard]] int64_t dh() const { return d / heads; }
};

// x / rms(x) * weight over the last axis, in f32.
Tensor rms_norm(Tensor x, Tensor weight) {
  Tensor wide = x.astype(f32);
  Tensor scale = rsqrt(mean(square(wide), {.axes = {-1}, .keep_dims = true}) + 1e-5);
  return (wide * scale).astype(x.dtype()) * weight;
}

// Causal grouped-query attention. x: [time, d].
Tensor attention(const Size& size, const Layer& layer, Tensor x) {
  int64_t time = x.dim(0);
  int64_t group = size.heads / size.kv_heads;
  Tensor q = reshape(matmul(x, layer.wq), {time, size.kv_heads, group, size.dh()});
  Tensor k = reshape(matmul(x, layer.wk), {time, size.kv_heads, size.dh()});
  Tensor v = reshape(matmul(x, layer.wv), {time, size.kv_heads, size.dh()});
  Tensor scores =
      einsum("tkgd,skd->kgts", q, k).astype(f32) / std::sqrt(static_cast<double>(size.dh()));
  Tensor causal = iota(s32, {time, time}, 0) >= iota(s32, {time, time}, 1);
  Tensor weights = softmax(where(causal, scores, -1e30), -1).astype(x.dtype());
  return matmul(reshape(einsum("kgts,skd->tkgd", weights, v), {time, size.heads * size.dh()}),
                layer.wo);
}

Tensor decode(const Size& size, const Layer& layers, Tensor x) {
  auto layer_fn = [&](Layer layer, Tensor h) {
    h = h + attention(size, layer, rms_norm(h, layer.attention_norm));
    Tensor u = rms_norm(h, layer.ffn_norm);
    Tensor gated = matmul(u, layer.gate);
    return h + matmul(gated * logistic(gated) * matmul(u, layer.up), layer.down);
  };
  return scan_layers(layer_fn, layers, x);
}

template <class Make>
Layer make_layers(const Size& s, Make make) {
  int64_t kv = s.kv_heads * s.dh();
  return {make({s.layers, s.d}),        make({s.layers, s.d, s.d}),   make({s.layers, s.d, kv}),
          make({s.layers, s.d, kv}),    make({s.layers, s.d, s.d}),   make({s.layers, s.d}),
          make({s.layers, s.d, s.ffn}), make({s.layers, s.d, s.ffn}), make({s.layers, s.ffn, s.d})};
}

int main() {
  const Size small{4, 32, 64, 4, 2};
  Layer layers = make_layers(small, [](Dimensions shape) { return full(shape, 0.02); });
  Tensor y = decode(small, layers, full({6, 32}, 0.5));
  std::printf("small decoder: f32[6,32], mean %.4f\n", mean(y).item<float>());

  const Size llama{126, 16384, 53248, 128, 8};  // Llama 3.1 405B
  Counters before = counters();
  Layer staged = make_layers(llama, [](Dimensions shape) { return placeholder(shape, bf16); });
  Program program = trace([&](Layer l, Tensor x) { return decode(llama, l, x); }, staged,
                          placeholder({128, 16384}, bf16));
  int64_t bytes = 0;
  for (const Leaf& leaf : program.signature().arguments) bytes += leaf.shape.byte_size();
  Counters done = counters() - before;
  std::printf(
      "405B decoder: %.0f GB of placeholders staged; uploads %lld, traces %lld (the program and "
      "one layer)\n",
      static_cast<double>(bytes) / 1e9, static_cast<long long>(done.uploads),
      static_cast<long long>(done.traces));
  return done.uploads == 0 && done.traces == 2 && bytes > 700e9 ? 0 : 1;
}
