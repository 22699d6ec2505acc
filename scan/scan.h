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
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/scan/body.h"
#include "heddle/trace/operand.h"

namespace heddle {

// Axes of xs to scan along: one for all leaves, or one a leaf in tree order. Negative axes count
// from the end.
struct Axes {
  Axes() : each{0}, all(true) {}
  template <class T>
  requires std::is_convertible_v<const T&, base::Ints> Axes(const T& axes)
      : each(base::Ints(axes)), all(std::is_convertible_v<T, int64_t>) {}  // implicit: {.axis = 1}
  Axes(std::initializer_list<base::Int> axes) : each(base::Ints(axes)), all(false) {}
  std::vector<int64_t> each;
  bool all;
  friend bool operator==(const Axes&, const Axes&) = default;
};

// What reverse mode keeps of the steps of a scan: the carries where blocks of steps begin. The way
// back computes the rest again, block by block.
//
//   every(k)            blocks of k steps: n / k carries, and what k steps keep
//   sqrt_steps()        blocks of sqrt(n) steps: for one more run of the steps, sqrt(n) of each
//   recursive(levels)   blocks of blocks: levels * n^(1/levels) carries, for levels - 1 more runs
class Checkpoint {
 public:
  enum class Kind : uint8_t { kEvery, kRecursive };
  Checkpoint(Kind kind, base::Int number) : kind_(kind), number_(number) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int64_t number() const { return number_; }
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;

 private:
  Kind kind_;
  int64_t number_;
};
inline Checkpoint every(base::Int steps) { return {Checkpoint::Kind::kEvery, steps}; }
inline Checkpoint recursive(base::Int levels) { return {Checkpoint::Kind::kRecursive, levels}; }
inline Checkpoint sqrt_steps() { return recursive(2); }

struct ScanOptions {
  static constexpr int64_t kUnrollAll = INT64_MAX;
  std::optional<base::Int> length = {};  // needed without xs; with xs it must be their size
  base::Flag reverse = false;  // from the last element to the first; ys land where their x was
  base::Int unroll = 1;        // steps per trip of the loop; kUnrollAll: no loop at all
  Axes axis = 0;               // of xs; ys are stacked along axis 0
  std::optional<Checkpoint> checkpoint = {};  // for its reverse derivative; unset: it keeps all
  // Its reverse derivative takes all steps at once, in log2(length) rounds, by products of the
  // Jacobians. That is n^3 operations a step for carries of n numbers, at most 64. Not with
  // .checkpoint.
  base::Flag parallel_backward = false;
  std::string progress = {};  // shown under this name while it runs (scan/progress.h); "": nothing
};

namespace scan_internal {

struct ScanResult {
  std::vector<Tensor> carry;
  std::vector<Tensor> ys;
  TreeSpec ys_spec;
};

ScanResult run_scan(std::string_view what, const Callable& step, const Argument& init,
                    const Argument& xs, const ScanOptions& options);

// One tensor per leaf, the layers' leaves stacked along axis 0. errors: Error naming layer and path
// where two layers differ
std::vector<Tensor> stack_layers(const std::vector<std::vector<Tensor>>& leaves,
                                 const std::vector<TreeSpec>& specs);

// The options of a scan over `layers` stacked layers. errors: Error if a length differs
ScanOptions layer_options(size_t layers, const ScanOptions& options);

template <class T>
concept PairLike = requires {
  requires std::tuple_size<T>::value == 2;
};

// The number behind `value` as a tensor: a constant, outside of a trace too; nothing is uploaded.
Tensor constant_leaf(const void* value, DType dtype);

// A number as initial carry is a scalar of its C++ type's dtype.
template <class C>
decltype(auto) as_tree(const C& init) {
  if constexpr (trace_internal::kIsNumber<C>)
    return constant_leaf(&init, trace_internal::dtype_of<C>());
  else
    return (init);
}

// A stand-in for a tree of a refused type.
template <class T>
using TreeOr = std::conditional_t<is_tree<T>(), T, Tensor>;

// `user`: the callable that `fn` is, or calls; it has the identity and the name.
template <class User, class Fn, class C, class X>
auto scan_valid(std::string_view what, const User& user, Fn& fn, const C& init, const X& xs,
                const ScanOptions& options) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Fn&, C, X>>;
  using Y = std::remove_cvref_t<std::tuple_element_t<1, Result>>;
  auto init_spec = [&] { return tree_spec(init); };
  auto xs_spec = [&] { return tree_spec(xs); };
  auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    X x = tree_internal::unflatten_like(xs, leaves);
    C carry = tree_internal::unflatten_like(init, leaves);
    auto [next, y] = fn(std::move(carry), std::move(x));
    specs.reserve(2);
    specs.push_back(tree_spec(next));
    specs.push_back(tree_spec(y));
    std::vector<Tensor> out;
    out.reserve(2);
    for_each_leaf(next, [&](const Tensor& leaf) { out.push_back(leaf); });
    for_each_leaf(y, [&](const Tensor& leaf) { out.push_back(leaf); });
    return out;
  };
  ScanResult result =
      run_scan(what, callable_of(user, run), {leaves_of(init), structure_of(init), init_spec},
               {leaves_of(xs), structure_of(xs), xs_spec}, options);
  std::span<const Tensor> carry(result.carry);
  std::span<const Tensor> ys(result.ys);
  C last = tree_internal::unflatten_like(init, carry);
  return std::pair<C, Y>(std::move(last), unflatten<Y>(result.ys_spec, ys));
}

// Whether a step may run; says why not. Result: the type that it returns.
template <class Fn, class C, class Result>
constexpr bool is_step() {
  using tree_internal::explain;
  using tree_internal::is_tree_or_explained;
  if constexpr (!PairLike<std::remove_cvref_t<Result>>) {
    static_assert(PairLike<std::remove_cvref_t<Result>>,
                  "the step of a scan returns std::pair(carry, y); use None{} for no y");
    return false;
  } else if constexpr (!tree_internal::is_value<Fn, Result>) {
    tree_internal::require_value<Fn, Result>();
    return false;
  } else {
    using Next = std::remove_const_t<std::tuple_element_t<0, std::remove_cvref_t<Result>>>;
    using Y = std::remove_const_t<std::tuple_element_t<1, std::remove_cvref_t<Result>>>;
    constexpr bool kIsCarry = std::is_same_v<Next, C>;
    constexpr bool kIsOther = !kIsCarry && (is_tree<Next>() || !is_tree_or_explained<Next>);
    static_assert(!kIsOther,
                  "the step of a scan must return a carry of the type that it was given");
    static_assert(kIsOther || is_tree_or_explained<Y>,
                  "the y of a step is a tree of Tensors, or None{}: a C++ number is scalar(1.0f)");
    if constexpr (!is_tree<Next>())
      explain<Next>();
    else if constexpr (!is_tree<Y>())
      explain<Y>();
    return kIsCarry && is_tree<Y>();
  }
}

template <class User, class Fn, class C, class X>
auto scan_trees(std::string_view what, const User& user, Fn& fn, const C& init, const X& xs,
                const ScanOptions& options) {
  using tree_internal::is_tree_or_explained;
  static_assert(
      is_tree_or_explained<C>,
      "the init of a scan is a tree of Tensors, behind the function: scan(fn, init, xs); a "
      "struct needs its kFields");
  static_assert(is_tree_or_explained<X>,
                "the xs of a scan are a tree of Tensors, or None{}; a struct needs its kFields");
  using Refused = std::pair<TreeOr<C>, Tensor>;
  if constexpr (!is_tree<C>() || !is_tree<X>()) {
    tree_internal::explain<C>();
    tree_internal::explain<X>();
    return Refused();
  } else if constexpr (!std::is_invocable_v<Fn&, C, X>) {
    static_assert(
        tree_internal::is_misfit_told<Fn, C, X>(),
        "the step of a scan takes (carry, x), of the types of init and of xs; x is None where "
        "there are no xs");
    return Refused();
  } else if constexpr (!is_step<Fn, C, std::invoke_result_t<Fn&, C, X>>()) {
    return Refused();
  } else {
    trace_internal::require_function("step", user);
    return scan_valid(what, user, fn, init, xs, options);
  }
}

// map of one tree, or of a tuple of several, whose elements `fn` takes one by one.
template <class Fn, class... Xs>
auto map_trees(Fn& fn, const ScanOptions& options, SourceLocation at, const Xs&... xs) {
  const trace_internal::HigherOrderCall call("map", at);
  using namespace tree_internal;
  using Y = ResultOf<Fn&, Xs...>;
  static_assert((is_tree_or_explained<Xs> && ...),
                "the xs of a map are trees of Tensors; a struct needs its kFields");
  if constexpr (!(is_tree<Xs>() && ...)) {
    (explain<Xs>(), ...);
    return Tensor();
  } else if constexpr (!std::is_invocable_v<Fn&, Xs...>) {
    static_assert(is_misfit_told<Fn, Xs...>(),
                  "the function of a map takes one element of each of the xs");
    return Tensor();
  } else if constexpr (!is_value<Fn, std::invoke_result_t<Fn&, Xs...>>) {
    require_value<Fn, std::invoke_result_t<Fn&, Xs...>>();
    return Tensor();
  } else if constexpr (std::is_void_v<std::invoke_result_t<Fn&, Xs...>> || !is_tree<Y>()) {
    static_assert(!std::is_void_v<std::invoke_result_t<Fn&, Xs...>> && is_tree_or_explained<Y>,
                  "the function of a map returns a tree of Tensors: a C++ number is scalar(1.0f)");
    explain<Y>();
    return Tensor();
  } else if constexpr (sizeof...(Xs) == 1) {
    trace_internal::require_function("function", fn);
    auto step = [&fn](None, Xs... x) { return std::pair<None, Y>({}, fn(std::move(x)...)); };
    return scan_trees("map", fn, step, None{}, xs..., options).second;
  } else {
    trace_internal::require_function("function", fn);
    auto step = [&fn](None, std::tuple<Xs...> x) {
      return std::pair<None, Y>({}, std::apply(fn, std::move(x)));
    };
    return scan_trees("map", fn, step, None{}, std::tuple<Xs...>(xs...), options).second;
  }
}

// The scan behind scan_layers: `layers` has stacked leaves.
template <class Fn, class L, class X>
X scan_stacked(Fn& fn, const L& layers, const X& x, const ScanOptions& options) {
  trace_internal::require_function("function", fn);
  auto step = [&fn](X carry, L layer) {
    return std::pair<X, None>(fn(std::move(layer), std::move(carry)), {});
  };
  return scan_trees("scan_layers", fn, step, x, layers, options).first;
}

// Whether scan_layers may run; says why not.
template <class Fn, class L, class X>
constexpr bool takes_layers() {
  using namespace tree_internal;
  static_assert(is_tree_or_explained<L>,
                "the layers of scan_layers are one tree of stacked Tensors, or a vector of trees");
  static_assert(is_tree_or_explained<X>, "the x of scan_layers is a tree of Tensors");
  if constexpr (!is_tree<L>() || !is_tree<X>()) {
    explain<L>();
    explain<X>();
    return false;
  } else if constexpr (!std::is_invocable_v<Fn&, L, X>) {
    static_assert(is_misfit_told<Fn, L, X>(),
                  "the function of scan_layers takes (layer, x), one layer and what goes through");
    return false;
  } else {
    using Result = std::invoke_result_t<Fn&, L, X>;
    constexpr bool kIsX = std::is_same_v<std::remove_cvref_t<Result>, X>;
    static_assert(kIsX, "the function of scan_layers must return an x of the type it was given");
    require_value<Fn, Result>();
    return kIsX && is_value<Fn, Result>;
  }
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
  const trace_internal::HigherOrderCall call("scan", at);
  return scan_internal::scan_trees("scan", fn, fn, scan_internal::as_tree(init), xs, options);
}

// Without xs: so many turns, scan(fn, init, {.length = 10}).
template <class Fn, class C>
auto scan(Fn&& fn, const C& init, const ScanOptions& options,
          SourceLocation at = SourceLocation::here()) {
  return scan(std::forward<Fn>(fn), init, None{}, options, at);
}

namespace scan_internal {
template <class T>
concept NoOptions = !std::is_same_v<T, ScanOptions>;
}  // namespace scan_internal

// Refused in words.
template <class Fn, class C, class X, class Y>
requires std::is_arithmetic_v<Y>
auto scan(Fn&&, const C& init, const X&, const Y&, const ScanOptions& = {}) {
  static_assert(!sizeof(std::type_identity<Y>),
                "the options of a scan have names: write scan(fn, init, xs, {.length = 3})");
  return std::pair(init, None{});
}
template <class Fn, class C, class X, class Y>
requires(scan_internal::NoOptions<Y> && !std::is_same_v<Y, SourceLocation> &&
         !std::is_arithmetic_v<Y>)  //
    auto scan(Fn&&, const C& init, const X&, const Y&, const ScanOptions& = {}) {
  static_assert(!sizeof(std::type_identity<Y>),
                "the xs of a scan are one tree: write scan(fn, init, std::pair(xs, ys)), and let "
                "the step take a pair");
  return std::pair(init, None{});
}

// fn of each element along the leading axis of xs, one after the other; results are stacked. Of
// several xs, all of one size: fn(x, y, ..) of an element of each.
template <class Fn, class X>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto map(Fn&& fn, const X& xs, const ScanOptions& options = {},
             SourceLocation at = SourceLocation::here()) {
  return scan_internal::map_trees(fn, options, at, xs);
}
template <class Fn, class X, class Y>
requires scan_internal::NoOptions<Y> &&(!trace_internal::TakesOperands<Fn>)  //
    auto map(Fn&& fn, const X& xs, const Y& ys, const ScanOptions& options = {},
             SourceLocation at = SourceLocation::here()) {
  return scan_internal::map_trees(fn, options, at, xs, ys);
}
template <class Fn, class X, class Y, class Z>
requires scan_internal::NoOptions<Y> && scan_internal::NoOptions<Z>  //
auto map(Fn&& fn, const X& xs, const Y& ys, const Z& zs, const ScanOptions& options = {},
         SourceLocation at = SourceLocation::here()) {
  return scan_internal::map_trees(fn, options, at, xs, ys, zs);
}

// The same with a function of Heddle's by its name: map(exp, x), map(maximum, x, y).
inline Tensor map(trace_internal::ByName<Operand> fn, const Tensor& xs,
                  const ScanOptions& options = {}, SourceLocation at = SourceLocation::here()) {
  return scan_internal::map_trees(fn, options, at, xs);
}
inline Tensor map(trace_internal::ByName<Operand, Operand> fn, const Tensor& xs, const Tensor& ys,
                  const ScanOptions& options = {}, SourceLocation at = SourceLocation::here()) {
  return scan_internal::map_trees(fn, options, at, xs, ys);
}

// A stack of equal layers as one scan: x = fn(layer, x) for each layer in turn; the layer is traced
// once whatever the depth.
//
// fn      (layer, x) -> x, of one structure and type
// layers  one tree whose leaves are stacked along axis 0, f32[layers, ...] each; or a vector of
//         equal trees, which this stacks. Trees without leaves work too: their number is the
//         length. An empty vector gives x
// errors  Error naming the path, if layers differ in structure or type, x changes its type, or
//         options.length is not the number of layers
template <class Fn, class L, class X>
X scan_layers(Fn&& fn, const L& layers, const X& x, const ScanOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  if constexpr (scan_internal::takes_layers<Fn, L, X>()) {
    const trace_internal::HigherOrderCall call("scan_layers", at);
    return scan_internal::scan_stacked(fn, layers, x, options);
  } else {
    return x;
  }
}
template <class Fn, class L, class X>
X scan_layers(Fn&& fn, const std::vector<L>& layers, const X& x, const ScanOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  if constexpr (scan_internal::takes_layers<Fn, L, X>()) {
    const trace_internal::HigherOrderCall call("scan_layers", at);
    const ScanOptions each = scan_internal::layer_options(layers.size(), options);
    if (layers.empty()) return x;
    std::vector<std::vector<Tensor>> leaves;
    std::vector<TreeSpec> specs;
    for (const L& layer : layers) {
      leaves.push_back(flatten(layer));
      specs.push_back(tree_spec(layer));
    }
    std::vector<Tensor> stacked = scan_internal::stack_layers(leaves, specs);
    std::span<const Tensor> rest(stacked);
    return scan_internal::scan_stacked(fn, unflatten<L>(specs[0], rest), x, each);
  } else {
    return x;
  }
}

}  // namespace heddle
