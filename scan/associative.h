// associative_scan and the cumulative functions.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"

namespace heddle {

struct AssociativeScanOptions {
  base::Flag reverse = false;
  base::Int axis = 0;
};

namespace scan_internal {

// `fn` takes the leaves of the left elements and then those of the right ones.
std::vector<Tensor> run_associative(const Callable& fn, const Argument& elements,
                                    const AssociativeScanOptions& options);

// Whether associative_scan may run; says why not.
template <class Fn, class E>
constexpr bool is_combination() {
  using namespace tree_internal;
  static_assert(is_tree_or_explained<E>,
                "the elements of associative_scan are a tree of Tensors, behind the function; a "
                "struct needs its kFields");
  if constexpr (!is_tree<E>()) {
    explain<E>();
    return false;
  } else if constexpr (!std::is_invocable_v<Fn&, E, E>) {
    static_assert(is_misfit_told<Fn, E, E>(),
                  "the function of associative_scan takes (left, right), two trees like elements");
    return false;
  } else {
    using Result = std::invoke_result_t<Fn&, E, E>;
    using Value = std::remove_cvref_t<Result>;
    constexpr bool kIsSame = std::is_same_v<Value, E>;
    if constexpr (!kIsSame && !std::is_void_v<Value>) {
      static_assert(!is_tree<Value>() && is_tree_or_explained<Value>,
                    "the function of associative_scan must return a tree of the type of elements");
      explain<Value>();
    } else {
      static_assert(kIsSame,
                    "the function of associative_scan must return a tree of the type of elements");
      require_value<Fn, Result>();
    }
    return kIsSame && is_value<Fn, Result>;
  }
}

}  // namespace scan_internal

// Prefix combinations in a tree of log2(n) levels instead of n steps: result i is fn(.. fn(e0, e1)
// .., ei).
//
// fn        associative, (left, right) -> combined; works on whole slabs, element by element along
//           `axis`, whatever its length; runs once for each distinct size, of which there are up
//           to 2 log2(n); a named Function does so once for all calls
// elements  tree of arrays of one size along `axis`
// returns   a tree like `elements`; fewer than 2 elements come back as they are
// errors    Error naming the path where sizes differ or fn changes a type or the structure
template <class Fn, class E>
requires(!trace_internal::TakesOperands<Fn>) E
    associative_scan(Fn&& fn, const E& elements, const AssociativeScanOptions& options = {},
                     SourceLocation at = SourceLocation::here()) {
  if constexpr (scan_internal::is_combination<Fn, E>()) {
    const trace_internal::HigherOrderCall call("associative_scan", at);
    trace_internal::require_function("function", fn);
    auto spec = [&] { return tree_spec(elements); };
    auto combine = [&](std::span<const Tensor> both, std::vector<TreeSpec>& specs) {
      E left = unflatten<E>(spec(), both);
      E right = unflatten<E>(spec(), both);
      E combined = fn(std::move(left), std::move(right));
      specs = {tree_spec(combined)};
      return flatten(combined);
    };
    std::vector<Tensor> leaves = scan_internal::run_associative(
        scan_internal::callable_of(fn, combine),
        {scan_internal::leaves_of(elements), scan_internal::structure_of(elements), spec}, options);
    std::span<const Tensor> rest(leaves);
    return unflatten<E>(spec(), rest);
  } else {
    return elements;
  }
}

// The same with a function of Heddle's by its name: associative_scan(maximum, x).
inline Tensor associative_scan(trace_internal::ByName<Operand, Operand> fn, const Tensor& elements,
                               const AssociativeScanOptions& options = {},
                               SourceLocation at = SourceLocation::here()) {
  return associative_scan<const trace_internal::ByName<Operand, Operand>&>(fn, elements, options,
                                                                           at);
}

// Inclusive running results along an axis. The dtype stays; pred is counted in s32 by sums and
// products and refused by the others. Elements are combined one after the other in tiles of 16,
// then the totals of tiles in the same way, then each tile with the total before it. jax does the
// same on a CPU, and sums and products have its bits, also in reverse; 4096 ones in bf16 are 4096.
// source: XLA's ReduceWindowRewriter. cost: two combinations an element (16 where floats are
// combined in reverse) in 16 log16(n) steps; errors grow as the logarithm of n
Tensor cumsum(Operand x, base::Int axis = 0, base::Flag reverse = false);
// Running products along an axis.
Tensor cumprod(Operand x, base::Int axis = 0, base::Flag reverse = false);
// The greatest so far along an axis.
Tensor cummax(Operand x, base::Int axis = 0, base::Flag reverse = false);
Tensor cummin(Operand x, base::Int axis = 0,
              base::Flag reverse = false);  // The least so far along an axis
// The logarithm of the running sums of exp(x), without overflow.
Tensor cumlogsumexp(Operand x, base::Int axis = 0, base::Flag reverse = false);

}  // namespace heddle
