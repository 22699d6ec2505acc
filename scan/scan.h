// scan, map and scan_layers: one traced step woven along a sequence.
//
//   auto step = [&](Tensor h, Tensor x) {
//     h = tanh(matmul(concat({x, h}, -1), w) + b);
//     return std::pair(h, None{});
//   };
//   auto [last, ys] = scan(step, h0, xs);
//
// The step runs once, on placeholders, whatever the length; tensors that it captures are hoisted,
// each to one loop invariant. The loop is one HLO `scan` in the traced program, and a `while` in
// what a backend runs. Outside a trace it runs at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/scan/body.h"

namespace heddle {

// Axes of xs to scan along: one for all leaves, or one a leaf in tree order. Negative axes count
// from the end.
struct Axes {
  Axes(int64_t axis = 0) : each{axis}, all(true) {}  // implicit: {.axis = 1}
  Axes(std::initializer_list<int64_t> axes) : each(axes), all(false) {}
  std::vector<int64_t> each;
  bool all;
  friend bool operator==(const Axes&, const Axes&) = default;
};

struct ScanOptions {
  static constexpr int64_t kUnrollAll = 0;
  std::optional<int64_t> length = {};  // needed without xs; with xs it must be their size
  bool reverse = false;  // from the last element to the first; ys land where their x was
  int64_t unroll = 1;    // steps per trip of the loop; kUnrollAll: no loop at all
  Axes axis = 0;         // of xs; ys are stacked along axis 0
};

namespace scan_internal {

struct ScanResult {
  std::vector<Tensor> carry;
  std::vector<Tensor> ys;
  TreeSpec ys_spec;
};

ScanResult run_scan(std::string_view what, const Callable& step, const Argument& init,
                    const Argument& xs, const ScanOptions& options, SourceLocation at);

// One tensor per leaf, the layers' leaves stacked along axis 0. errors: Error naming layer and path
// where two layers differ
std::vector<Tensor> stack_layers(const std::vector<std::vector<Tensor>>& leaves,
                                 const std::vector<TreeSpec>& specs, SourceLocation at);

// The options of a scan over `layers` stacked layers. errors: Error where a length is another
ScanOptions layer_options(size_t layers, const ScanOptions& options, SourceLocation at);

template <class T>
concept PairLike = requires {
  requires std::tuple_size<T>::value == 2;
};

// The number behind `value` as a tensor: a constant, outside of a trace too; nothing is uploaded.
Tensor constant_leaf(const void* value, DType dtype, SourceLocation at);

// A number as initial carry is a scalar of its C++ type's dtype.
template <class C>
decltype(auto) as_tree(const C& init, [[maybe_unused]] SourceLocation at) {
  if constexpr (trace_internal::kIsNumber<C>)
    return constant_leaf(&init, trace_internal::dtype_of<C>(), at);
  else
    return (init);
}

// `user`: the callable that `fn` is, or calls; it has the identity and the name.
template <class User, class Fn, class C, class X>
auto scan_trees(std::string_view what, const User& user, Fn& fn, const C& init, const X& xs,
                const ScanOptions& options, SourceLocation at) {
  static_assert(Tree<C>, "the init of a scan is a tree of Tensors; a struct needs its kFields");
  static_assert(Tree<X>,
                "the xs of a scan are a tree of Tensors, or None{}; a struct needs its kFields");
  static_assert(
      std::is_invocable_v<Fn&, C, X>,
      "the step of a scan takes (carry, x), of the types of init and of xs; x is None where "
      "there are no xs");
  using Result = std::invoke_result_t<Fn&, C, X>;
  static_assert(PairLike<Result>,
                "the step of a scan returns std::pair(carry, y); use None{} for no y");
  using Next = std::remove_cvref_t<std::tuple_element_t<0, Result>>;
  using Y = std::remove_cvref_t<std::tuple_element_t<1, Result>>;
  static_assert(std::is_same_v<Next, C>,
                "the step of a scan must return a carry of the type that it was given");
  static_assert(Tree<Y>, "the y of a step is a tree of Tensors, or None{}");
  auto init_spec = [&] { return tree_spec(init); };
  auto xs_spec = [&] { return tree_spec(xs); };
  auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    X x = unflatten<X>(xs_spec(), leaves);
    C carry = unflatten<C>(init_spec(), leaves);
    auto [next, y] = fn(std::move(carry), std::move(x));
    specs = {tree_spec(next), tree_spec(y)};
    std::vector<Tensor> out = flatten(next);
    for_each_leaf(y, [&](const Tensor& leaf) { out.push_back(leaf); });
    return out;
  };
  ScanResult result =
      run_scan(what, callable_of(user, run), {flatten(init), structure_of(init), init_spec},
               {flatten(xs), structure_of(xs), xs_spec}, options, at);
  std::span<const Tensor> carry(result.carry);
  std::span<const Tensor> ys(result.ys);
  C last = unflatten<C>(init_spec(), carry);
  return std::pair<C, Y>(std::move(last), unflatten<Y>(result.ys_spec, ys));
}

// The scan behind scan_layers: `layers` has stacked leaves.
template <class Fn, class L, class X>
X scan_stacked(Fn& fn, const L& layers, const X& x, const ScanOptions& options, SourceLocation at) {
  auto step = [&fn](X carry, L layer) {
    return std::pair(fn(std::move(layer), std::move(carry)), None{});
  };
  return scan_trees("scan_layers", fn, step, x, layers, options, at).first;
}

}  // namespace scan_internal

// Folds `fn` over the leading axis of xs and stacks what it gives.
//
// fn       (carry, x) -> std::pair(carry, y), any trees; x has the scanned axis removed. Runs once
//          for each distinct (function, input types)
// init     the first carry; the step must return one of the same structure, shapes and dtypes. A
//          C++ number is a constant of its type's dtype
// xs       tree whose leaves have equal sizes along the scanned axis; None{} for none, with .length
// returns  (last carry, ys stacked on axis 0); ys of None{} are None{}
// errors   Error (InvalidArgument) naming the path in the tree, both types and the repair, where
//          the carry changes its type, xs disagree in length, or an option is out of range
// cost     nothing is uploaded; captured tensors pass through the loop unchanged, never copied;
//          unused xs, ys and carries go
template <class Fn, class C, class X = None>
auto scan(Fn&& fn, const C& init, const X& xs = {}, const ScanOptions& options = {},
          SourceLocation at = SourceLocation::here()) {
  return scan_internal::scan_trees("scan", fn, fn, scan_internal::as_tree(init, at), xs, options,
                                   at);
}

// fn of each element along the leading axis of xs, one after the other; results are stacked.
template <class Fn, Tree X>
auto map(Fn&& fn, const X& xs, const ScanOptions& options = {},
         SourceLocation at = SourceLocation::here()) {
  auto step = [&fn](None, X x) { return std::pair(None{}, fn(std::move(x))); };
  return scan_internal::scan_trees("map", fn, step, None{}, xs, options, at).second;
}

// A stack of equal layers as one scan: x = fn(layer, x) for each layer in turn; the layer is traced
// once whatever the depth.
//
// fn      (layer, x) -> x, of one structure and type
// layers  one tree whose leaves are stacked along axis 0, f32[layers, ...] each; or a vector of
//         equal trees, stacked here, which may have no leaves: their number is the length. An empty
//         vector gives x
// errors  Error naming the path, where layers differ in structure or type, x changes its type, or
//         options.length is not the number of layers
template <class Fn, Tree L, Tree X>
X scan_layers(Fn&& fn, const L& layers, const X& x, const ScanOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  return scan_internal::scan_stacked(fn, layers, x, options, at);
}
template <class Fn, Tree L, Tree X>
X scan_layers(Fn&& fn, const std::vector<L>& layers, const X& x, const ScanOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  const ScanOptions each = scan_internal::layer_options(layers.size(), options, at);
  if (layers.empty()) return x;
  std::vector<std::vector<Tensor>> leaves;
  std::vector<TreeSpec> specs;
  for (const L& layer : layers) {
    leaves.push_back(flatten(layer));
    specs.push_back(tree_spec(layer));
  }
  std::vector<Tensor> stacked = scan_internal::stack_layers(leaves, specs, at);
  std::span<const Tensor> rest(stacked);
  return scan_internal::scan_stacked(fn, unflatten<L>(specs[0], rest), x, each, at);
}

}  // namespace heddle
