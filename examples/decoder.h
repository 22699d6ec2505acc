// A small Llama-style decoder, as a scan over its layers: for decoder.cc and sharded_decoder.cc.
#pragma once

#include <cmath>

#include "heddle/heddle.h"

namespace heddle::examples {

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
  int64_t layers, d, ffn, heads, kv_heads, dh;
};

// x / rms(x) * weight over the last axis, in f32.
inline Tensor rms_norm(Tensor x, Tensor weight) {
  Tensor wide = x.astype(f32);
  Tensor scale = rsqrt(mean(square(wide), {.axes = {-1}, .keep_dims = true}) + 1e-5);
  return (wide * scale).astype(x.dtype()) * weight;
}

// Causal grouped-query attention. x: [batch, time, d].
inline Tensor attention(const Size& size, const Layer& layer, Tensor x) {
  int64_t batch = x.dim(0), time = x.dim(1), group = size.heads / size.kv_heads;
  Tensor q = reshape(matmul(x, layer.wq), {batch, time, size.kv_heads, group, size.dh});
  Tensor k = reshape(matmul(x, layer.wk), {batch, time, size.kv_heads, size.dh});
  Tensor v = reshape(matmul(x, layer.wv), {batch, time, size.kv_heads, size.dh});
  Tensor scores =
      einsum("btkgd,bskd->bkgts", q, k).astype(f32) / std::sqrt(static_cast<double>(size.dh));
  Tensor causal = iota(s32, {time, time}, 0) >= iota(s32, {time, time}, 1);
  Tensor weights = softmax(where(causal, scores, -1e30), -1).astype(x.dtype());
  Tensor mixed = einsum("bkgts,bskd->btkgd", weights, v);
  return matmul(reshape(mixed, {batch, time, size.heads * size.dh}), layer.wo);
}

// The stack on x: [batch, time, d]. What a layer adds to x goes through `total`, which sums the
// shares of devices if they have parts of the weights.
template <class Total>
Tensor decode(const Size& size, const Layer& layers, Tensor x, Total total) {
  auto layer_fn = [&](Layer layer, Tensor h) {
    h = h + total(attention(size, layer, rms_norm(h, layer.attention_norm)));
    Tensor u = rms_norm(h, layer.ffn_norm);
    Tensor gated = matmul(u, layer.gate);
    return h + total(matmul(gated * logistic(gated) * matmul(u, layer.up), layer.down));
  };
  return scan_layers(layer_fn, layers, x);
}

inline Tensor decode(const Size& size, const Layer& layers, Tensor x) {
  return decode(size, layers, x, [](Tensor share) { return share; });
}

// make(shape) for each stacked leaf.
template <class Make>
Layer make_layers(const Size& s, Make make) {
  int64_t q = s.heads * s.dh, kv = s.kv_heads * s.dh;
  return {make({s.layers, s.d}),        make({s.layers, s.d, q}),     make({s.layers, s.d, kv}),
          make({s.layers, s.d, kv}),    make({s.layers, q, s.d}),     make({s.layers, s.d}),
          make({s.layers, s.d, s.ffn}), make({s.layers, s.d, s.ffn}), make({s.layers, s.ffn, s.d})};
}

// How the leaves of Layer are cut if `model` devices share every layer: heads and hidden units
// apart, so that a layer needs two sums (Shoeybi et al., "Megatron-LM", 2019).
inline PartitionSpecs tensor_parallel() {
  const PartitionSpec whole, columns{None{}, None{}, "model"}, rows{None{}, "model"};
  return {whole, columns, columns, columns, rows, whole, columns, columns, rows};
}

}  // namespace heddle::examples
