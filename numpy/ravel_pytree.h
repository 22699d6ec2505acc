// A tree as one array, and back: jax.flatten_util.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/trace/operand.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

namespace numpy_internal {

Tensor raveled(std::span<const Tensor> leaves, std::span<const std::string> paths);
std::vector<Tensor> unraveled(const Operand& flat, std::span<const Shape> shapes, DType dtype);

template <class Tree>
using Unravel = std::function<Tree(const Operand&)>;

}  // namespace numpy_internal

// The elements of all leaves one after the other, [n], and the function that makes a tree of such
// an array: auto [flat, unravel] = ravel_pytree(params). A tree without leaves gives f32[0].
//
// errors  Error that names the leaf where it has another dtype than the first one; of unravel where
//         the array has another shape or dtype
template <TensorTree Tree>
std::pair<Tensor, numpy_internal::Unravel<Tree>> ravel_pytree(
    const Tree& tree, SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("ravel_pytree", at);
  const std::vector<Tensor> leaves = flatten(tree);
  const TreeSpec spec = tree_spec(tree);
  Tensor flat = numpy_internal::raveled(leaves, leaf_paths(spec));
  std::vector<Shape> shapes;
  for (const Tensor& leaf : leaves) shapes.push_back(leaf.shape());
  auto unravel = [spec, shapes, dtype = flat.dtype()](const Operand& array) {
    const trace_internal::PublicCall back("ravel_pytree: unravel", array.at());
    const std::vector<Tensor> parts = numpy_internal::unraveled(array, shapes, dtype);
    std::span<const Tensor> rest(parts);
    return unflatten<Tree>(spec, rest);
  };
  return {std::move(flat), std::move(unravel)};
}

}  // namespace heddle
