// optimization_barrier: what compilers may not look through.
#pragma once

#include <span>
#include <vector>

#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

namespace trace_internal {
// errors: throws Error for a leaf that has no value
std::vector<Tensor> barrier(std::span<const Tensor> leaves, SourceLocation at);
}  // namespace trace_internal

// The same tree. All of its leaves are computed before what uses the result, and no compiler moves
// or merges operations across it, as jax.lax.optimization_barrier. One opt-barrier for them all.
template <TensorTree T>
T optimization_barrier(const T& tree, SourceLocation at = SourceLocation::here()) {
  const std::vector<Tensor> out = trace_internal::barrier(flatten(tree), at);
  std::span<const Tensor> rest(out);
  return unflatten<T>(tree_spec(tree), rest);
}

}  // namespace heddle
