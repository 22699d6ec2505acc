// A tree of every kind of node, for tests of files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/tree.h"

namespace heddle {

struct Layer {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Layer::w), field("b", &Layer::b));
};
struct Model {
  Tensor scale;
  std::vector<Layer> layers;
  std::optional<Tensor> bias;
  std::map<std::string, Layer> heads;
  None nothing;
  static constexpr auto kFields = fields(
      field("scale", &Model::scale), field("layers", &Model::layers), field("bias", &Model::bias),
      field("heads", &Model::heads), field("nothing", &Model::nothing));
};

inline Model nested_model(const std::vector<int64_t>& w, DType dtype_of_w, int64_t b) {
  const auto layer = [&](float x) { return Layer{full(w, x, dtype_of_w), full({b}, -x)}; };
  return {.scale = scalar(2.0),
          .layers = {layer(1), layer(2), layer(3)},
          .bias = std::nullopt,
          .heads = {{"left", layer(4)}, {"right", layer(5)}},
          .nothing = {}};
}

}  // namespace heddle
