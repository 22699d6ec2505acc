// associative_scan and the cumulative functions.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"

namespace heddle {

struct AssociativeScanOptions {
  bool reverse = false;
  int64_t axis = 0;
};

namespace scan_internal {

using CombineFn =
    FunctionRef<std::vector<Tensor>(std::span<const Tensor>, std::span<const Tensor>)>;
std::vector<Tensor> run_associative(CombineFn fn, const Argument& elements,
                                    const AssociativeScanOptions& options, SourceLocation at);

}  // namespace scan_internal

// Prefix combinations in a tree of log2(n) levels instead of n steps: result i is fn(.. fn(e0, e1)
// .., ei).
//
// fn        associative, (left, right) -> combined; works on whole slabs, element by element along
//           `axis`, whatever its length; is traced about 2 log2(n) times, on different sizes
// elements  tree of arrays of one size along `axis`
// returns   a tree like `elements`; fewer than 2 elements come back as they are
// errors    Error naming the path where sizes differ or fn changes a type
template <class Fn, Tree E>
E associative_scan(Fn&& fn, const E& elements, const AssociativeScanOptions& options = {},
                   SourceLocation at = SourceLocation::here()) {
  auto spec = [&] { return tree_spec(elements); };
  auto combine = [&](std::span<const Tensor> left, std::span<const Tensor> right) {
    return flatten(static_cast<E>(fn(unflatten<E>(spec(), left), unflatten<E>(spec(), right))));
  };
  std::vector<Tensor> leaves = scan_internal::run_associative(
      combine, {flatten(elements), scan_internal::structure_of(elements), spec}, options, at);
  std::span<const Tensor> rest(leaves);
  return unflatten<E>(spec(), rest);
}

// Inclusive running results along an axis. The dtype stays; pred is counted in s32 by sums and
// products and refused by the others. Elements are combined one after the other in tiles of 16,
// then the totals of tiles likewise, then each tile with what is before it. So jax has it on a CPU,
// whose bits sums and products have, also in reverse; 4096 ones in bf16 are 4096. source: XLA's
// ReduceWindowRewriter. cost: two combinations an element (16 where floats are combined in reverse)
// in 16 log16(n) steps; errors grow as the logarithm of n
Tensor cumsum(Operand x, int64_t axis = 0, bool reverse = false);
Tensor cumprod(Operand x, int64_t axis = 0, bool reverse = false);
Tensor cummax(Operand x, int64_t axis = 0, bool reverse = false);
Tensor cummin(Operand x, int64_t axis = 0, bool reverse = false);
Tensor cumlogsumexp(Operand x, int64_t axis = 0, bool reverse = false);

}  // namespace heddle
