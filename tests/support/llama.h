// The decoder of Llama 3.1 405B at its own size, as placeholders: what staging is measured and
// tested on. Sizes: "The Llama 3 Herd of Models" (2024), table 3.
#pragma once

#include <vector>

#include "heddle/heddle.h"

namespace heddle::llama {

inline constexpr int64_t kLayers = 126, kModel = 16384, kFeedForward = 53248, kHeads = 128,
                         kKeyHeads = 8;
inline constexpr int64_t kHead = kModel / kHeads, kKeys = kKeyHeads * kHead;

// One layer's weights; as placeholders, each with a leading axis of layers. Matrices are [in, out],
// and on a mesh of axes "data" and "model" cut along both.
struct Layer {
  Tensor norm_1, q, k, v, o, norm_2, gate, up, down;
  static constexpr auto kFields =
      fields(field("norm_1", &Layer::norm_1), field("q", &Layer::q), field("k", &Layer::k),
             field("v", &Layer::v), field("o", &Layer::o), field("norm_2", &Layer::norm_2),
             field("gate", &Layer::gate), field("up", &Layer::up), field("down", &Layer::down));
};

inline Layer stacked(int64_t layers, const Mesh* mesh = nullptr) {
  const PartitionSpec rows{None{}, "model", "data"}, columns{None{}, "data", "model"};
  auto weight = [&](Dimensions sizes, const PartitionSpec& spec = {}) {
    sizes.insert(sizes.begin(), layers);
    if (mesh == nullptr) return placeholder(sizes, bf16);
    return placeholder(sizes, bf16, {.sharding = Sharding(*mesh, spec.axes())});
  };
  return {weight({kModel}),
          weight({kModel, kModel}, columns),
          weight({kModel, kKeys}, columns),
          weight({kModel, kKeys}, columns),
          weight({kModel, kModel}, rows),
          weight({kModel}),
          weight({kModel, kFeedForward}, columns),
          weight({kModel, kFeedForward}, columns),
          weight({kFeedForward, kModel}, rows)};
}

// Root-mean-square norm over the last axis, computed in f32.
inline Tensor norm(Tensor x, Tensor scale) {
  Tensor wide = x.astype(f32);
  return (wide * rsqrt(mean(square(wide), {.axes = {-1}, .keep_dims = true}) + 1e-5)).astype(bf16) *
         scale;
}

inline Tensor silu(Tensor x) { return x * logistic(x); }

// bf16[tokens, kModel] to the same: attention with grouped queries, then the gated network
// (positions are left out).
inline Tensor layer(Layer l, Tensor h) {
  Tensor u = norm(h, l.norm_1);
  Tensor q = reshape(matmul(u, l.q), {-1, kKeyHeads, kHeads / kKeyHeads, kHead});
  Tensor k = reshape(matmul(u, l.k), {-1, kKeyHeads, kHead});
  Tensor v = reshape(matmul(u, l.v), {-1, kKeyHeads, kHead});
  Tensor weights = softmax(einsum("tkgd,skd->kgts", q, k).astype(f32) * 0.088, -1).astype(bf16);
  h = h + matmul(reshape(einsum("kgts,skd->tkgd", weights, v), {-1, kModel}), l.o);
  Tensor w = norm(h, l.norm_2);
  return h + matmul(silu(matmul(w, l.gate)) * matmul(w, l.up), l.down);
}

// The scan over all layers on bf16[tokens, kModel], traced; nothing has a buffer.
inline Program decoder(int64_t layers, int64_t tokens) {
  return trace([](Layer ls, Tensor x) { return scan_layers(layer, ls, x); }, stacked(layers),
               placeholder({tokens, kModel}, bf16));
}

// The program of a step of training: forward, backward and Adam. What the layers give is compared
// with a target of their inputs' type.
inline Program training_step(int64_t layers, int64_t tokens) {
  using State = optim::AdamState<Layer>;
  const auto loss = [](Layer ls, Tensor x, Tensor target) {
    return mean(square((scan_layers(layer, ls, x) - target).astype(f32)));
  };
  const Tensor x = placeholder({tokens, kModel}, bf16);
  const State state{placeholder({}, s32), stacked(layers), stacked(layers)};
  return trace(
      [loss](Layer ls, State s, Tensor in, Tensor target) {
        const auto [value, grads] = value_and_grad(loss)(ls, in, target);
        const auto [next, next_state] = optim::adam({.learning_rate = 1e-4}).update(grads, s, ls);
        return std::tuple(next, next_state, value);
      },
      stacked(layers), state, x, x);
}

// The same over a mesh: tokens over "data", as they enter each layer and as they leave.
inline Program decoder(int64_t layers, int64_t tokens, const Mesh& mesh) {
  const Sharding rows(mesh, {"data"});
  return trace(
      [rows](Layer ls, Tensor x) {
        return scan_layers([rows](Layer l, Tensor h) { return with_sharding(layer(l, h), rows); },
                           ls, x);
      },
      stacked(layers, &mesh), placeholder({tokens, kModel}, bf16, {.sharding = rows}));
}

}  // namespace heddle::llama
