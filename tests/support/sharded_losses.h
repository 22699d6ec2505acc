// Losses of shard_maps on a mesh of 2 x 2 devices, beside the same of whole arrays.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <vector>

#include "heddle/heddle.h"

namespace heddle {

inline Tensor in_loops(const std::function<Tensor(const Tensor&)>& layer, const Tensor& x) {
  const auto inner = [&](Tensor h, Tensor k) {
    const Tensor next = layer(h) * k + h;
    return std::pair(next, sum(next));
  };
  const auto outer = [&](Tensor h, Tensor k) { return scan(inner, h, stack({k, k - 1})); };
  const auto [h, ys] = scan(outer, x, arange(3, f32) * 0.4 - 0.3);
  return sum(square(h)) + sum(ys);
}

inline Tensor in_branches(const std::function<Tensor(const Tensor&)>& layer, const Tensor& x) {
  const auto step = [&](Tensor h, Tensor i) {
    return std::pair(cond(
                         i % 2 == 0, [&] { return layer(h); }, [&] { return sin(h) * 0.5; }),
                     None{});
  };
  return sum(square(scan(step, x, arange(4)).first));
}

// A loss of shard_maps, and the same of whole arrays.
struct ShardedLoss {
  const char* name;
  std::function<Tensor(Tensor w, Tensor x)> sharded, whole;
};
inline std::vector<ShardedLoss> sharded_losses(const Mesh& mesh) {
  const MeshAxes both = {"data", "model"};
  const PartitionSpec rows({"data"}), cut({"data", "model"}), none = {};
  const auto dense = [](Tensor w, Tensor x) { return sum(square(tanh(matmul(x, w)))); };
  return {
      {"parts of the batch",
       [=](Tensor w, Tensor x) {
         const auto on_part = [](Tensor w, Tensor x) { return tanh(matmul(x, w)); };
         return sum(square(shard_map(on_part, mesh, {none, rows}, {rows})(w, x)));
       },
       dense},
      {"a loss that all devices give",
       [=](Tensor w, Tensor x) {
         const auto on_part = [](Tensor w, Tensor x) {
           return psum(sum(square(tanh(matmul(x, w)))), "data");
         };
         return shard_map(on_part, mesh, {none, rows}, {none})(w, x);
       },
       dense},
      {"weights that are captured",
       [=](Tensor w, Tensor x) {
         const auto on_part = [&](Tensor x) { return tanh(matmul(x, w)); };
         return sum(square(shard_map(on_part, mesh, {rows}, {rows})(x)));
       },
       dense},
      {"a product whose parts are added",
       [=](Tensor w, Tensor x) {
         const auto on_part = [](Tensor w, Tensor x) { return tanh(psum(matmul(x, w), "model")); };
         const PartitionSpec across({None{}, "model"});
         return sum(
             square(shard_map(on_part, mesh, {PartitionSpec({"model"}), across}, {none})(w, x)));
       },
       dense},
      {"a ring in a loop",
       [=](Tensor w, Tensor x) {
         const auto on_part = [&](Tensor w, Tensor x) {
           const auto step = [&](Tensor h, None) {
             return std::pair(permute(tanh(matmul(h, w)), both, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}),
                              None{});
           };
           return scan(step, x, None{}, {.length = 4}).first;
         };
         const PartitionSpec all({both});
         return sum(square(shard_map(on_part, mesh, {none, all}, {all})(w, x)));
       },
       [=](Tensor w, Tensor x) {
         for (int i = 0; i < 4; ++i) x = tanh(matmul(x, w));
         return sum(square(x));
       }},
      {"in loops in loops",
       [=](Tensor w, Tensor x) {
         const auto on_part = [&](Tensor h) { return tanh(matmul(h, w)); };
         return in_loops(shard_map(on_part, mesh, {rows}, {rows}), x);
       },
       [](Tensor w, Tensor x) {
         return in_loops([&](Tensor h) { return tanh(matmul(h, w)); }, x);
       }},
      {"in a branch, in a loop",
       [=](Tensor w, Tensor x) {
         const auto on_part = [&](Tensor h) { return tanh(matmul(h, w)); };
         return in_branches(shard_map(on_part, mesh, {rows}, {rows}), x);
       },
       [](Tensor w, Tensor x) {
         return in_branches([&](Tensor h) { return tanh(matmul(h, w)); }, x);
       }},
      {"in the step of a loop",
       [=](Tensor w, Tensor x) {
         const auto on_part = [](Tensor w, Tensor x) { return tanh(matmul(x, w)); };
         const auto on_parts = shard_map(on_part, mesh, {none, cut}, {cut});
         const auto step = [&](Tensor h, None) { return std::pair(on_parts(w, h), None{}); };
         return sum(square(scan(step, x, None{}, {.length = 1}).first));
       },
       [=](Tensor w, Tensor x) {
         const Tensor a = matmul(x[{Slice{}, Slice{0, 2}}], w),
                      b = matmul(x[{Slice{}, Slice{2, 4}}], w);
         return sum(square(tanh(a))) + sum(square(tanh(b)));
       }},
  };
}

// The gradients by each argument, those of the gradient's size, and tangents are those of whole
// arrays on one device.
inline void expect_gradients_of_whole_arrays(const Mesh& mesh) {
  const auto ramp = [&](int64_t rows, int64_t columns) {
    std::vector<float> values;
    for (int64_t i = 0; i < rows * columns; ++i) values.push_back(static_cast<float>(i % 7) - 3);
    return array(values, {rows, columns}, Sharding(mesh, {}));
  };
  for (const auto& [name, sharded, whole] : sharded_losses(mesh)) {
    const bool is_half = std::string_view(name) == "in the step of a loop";
    const Tensor w = ramp(is_half ? 2 : 4, is_half ? 2 : 4) * 0.3;
    const Tensor x = ramp(8, 4) * 0.4;
    const auto of_both = argnums<0, 1>;
    const auto [got_w, got_x] = grad(sharded, of_both)(w, x);
    const auto curved = [&](const auto& loss) {
      return [&](Tensor w, Tensor x) { return sum(square(grad(loss)(w, x))); };
    };
    const Tensor twice = grad(curved(sharded))(w, x);
    const Tensor along = jvp(sharded, std::tuple(w, x), std::tuple(cos(w), sin(x))).second;
    const DefaultDevice one(*runtime::find_device("interpreter").value());
    const Tensor v = array(w.to_literal()), y = array(x.to_literal());
    const auto near = [&](const Tensor& a, const Tensor& b) {
      const double size = max(abs(b)).item<float>();
      EXPECT_THAT(a.to_vector<float>(),
                  ::testing::Pointwise(::testing::FloatNear(static_cast<float>(1e-5 * size)),
                                       b.to_vector<float>()))
          << name;
    };
    const auto [want_w, want_x] = grad(whole, of_both)(v, y);
    near(got_w, want_w);
    near(got_x, want_x);
    near(twice, grad(curved(whole))(v, y));
    near(along, jvp(whole, std::tuple(v, y), std::tuple(cos(v), sin(y))).second);
  }
}

}  // namespace heddle
