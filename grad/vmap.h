// vmap: a function of one example as a function of many.
//
//   auto energies = vmap(energy)(positions);                        // [n, 3] -> [n]
//   auto y = vmap(layer, {.in_axes = {0, kNoAxis}})(xs, weights);   // the weights are shared
//
// The function is traced once, on one example. The batched module has batched dots for dots, and
// loops stay loops. vmap works in and outside of traces, and in and around grad, jvp, scan, cond
// and itself, in any order.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/grad/grad.h"

namespace heddle {

// The axis of an argument that all examples share, or of a result that does not depend on the
// example.
inline constexpr int64_t kNoAxis = INT64_MIN;

// Axes of a tree: one number for all its leaves, or an entry for each of its elements, in order:
// the elements of a tuple or vector, the fields of a struct, the keys of a map. Entries are such
// trees too.
class AxisTree {
 public:
  template <class T>
  requires std::is_convertible_v<const T&, base::Int> AxisTree(const T& axis)
      : axis_(base::Int(axis)) {}  // implicit: {.in_axes = 1}
  AxisTree(None) : axis_(kNoAxis) {}  // implicit: {.in_axes = {0, None{}}}
  AxisTree(std::initializer_list<AxisTree> each) : each_(each) {}
  explicit AxisTree(std::vector<AxisTree> each) : each_(std::move(each)) {}

  [[nodiscard]] bool is_list() const { return each_.has_value(); }
  [[nodiscard]] int64_t axis() const { return axis_; }
  // errors: std::bad_optional_access if it is a number
  [[nodiscard]] const std::vector<AxisTree>& each() const { return each_.value(); }

 private:
  int64_t axis_ = 0;
  std::optional<std::vector<AxisTree>> each_;
};

struct VmapOptions {
  base::OnlyByName by_name = base::OnlyByName();  // {0, 1} could be the axes of two arguments
  AxisTree in_axes = 0;   // one for all arguments, or {one each, ..}, of which each may be a tree
  AxisTree out_axes = 0;  // of the result
  std::optional<base::Int> axis_size = {};  // needed where no argument has an axis
  // By which psum(x, "name"), axis_index and others take the examples together
  // (trace/ops/device/collectives.h).
  std::string axis_name = {};
};

namespace grad_internal {

// Arguments of a mapped function, as leaves.
struct Mapped {
  std::vector<Tensor> leaves;
  std::vector<TreeSpec> specs;
};

std::pair<std::vector<Tensor>, TreeSpec> vmapped(const FlatFunction& fn, const Mapped& arguments,
                                                 const VmapOptions& options);

// The options as text that tells its end.
std::string text_of(const VmapOptions& options);

// What vmap() returns.
template <class Fn>
class Vmap {
 public:
  Vmap(Fn fn, VmapOptions options, SourceLocation at)
      : fn_(std::move(fn)), options_(std::move(options)), at_(at) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const trace_internal::HigherOrderCall call("vmap", at_);
    return of_trees(scan_internal::as_tree(args)...);
  }

  // For Heddle's own code.
  [[nodiscard]] scan_internal::Identity identity() const {
    return scan_internal::identity_of_transform(fn_, text_of(options_));
  }

 private:
  template <class... Args>
  auto of_trees(const Args&... args) const {
    if constexpr (!maps_trees<Fn, Args...>()) {
      return Tensor();
    } else {
      trace_internal::require_function("function", fn_);
      Mapped mapped;
      mapped.specs = {tree_spec(args)...};
      (for_each_leaf(args, [&](const Tensor& leaf) { mapped.leaves.push_back(leaf); }), ...);
      const auto run = flat<Fn, Args...>(fn_, mapped.specs);
      const auto [leaves, spec] =
          vmapped(flat_function("vmap", fn_, run, args...), mapped, options_);
      return tree_from<ResultOf<Fn, Args...>>(spec, leaves);
    }
  }

  Fn fn_;
  VmapOptions options_;
  SourceLocation at_;
};

}  // namespace grad_internal

// A function that does what `fn` does to each example: arguments have an axis more than fn's, along
// which the examples lie, and so have the results.
//
// fn       a function of trees; kept by value; it may capture tensors, which examples share
// in_axes  where the examples lie in each argument; kNoAxis: it is the same for all
// out_axes where they lie in the results
// errors   at a call: Error naming the argument without such an axis, or with another number of
//          examples; or the op without a batched form and its line
// cost     that of one program on larger arrays; values that all examples share are computed once
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto vmap(Fn&& fn, const VmapOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  return grad_internal::Vmap<std::decay_t<Fn>>(std::forward<Fn>(fn), options, at);
}
template <class Fn, std::integral Axis>
trace_internal::Refused vmap(Fn&& /*fn*/, Axis /*axis*/) {
  static_assert(!sizeof(Fn), "the axes of vmap have a name: write vmap(fn, {.in_axes = 0})");
  return {};
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused vmap(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "vmap(fn) is a function: write vmap(fn)(x)");
  return {};
}
inline auto vmap(trace_internal::ByName<Operand> fn, const VmapOptions& options = {},
                 SourceLocation at = SourceLocation::here()) {
  return grad_internal::Vmap<trace_internal::ByName<Operand>>(fn, options, at);
}
inline auto vmap(trace_internal::ByName<Operand, Operand> fn, const VmapOptions& options = {},
                 SourceLocation at = SourceLocation::here()) {
  return grad_internal::Vmap<trace_internal::ByName<Operand, Operand>>(fn, options, at);
}

}  // namespace heddle
