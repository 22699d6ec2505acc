// Reductions and what is built from them. Names are those of jax.numpy.
//
//   sum(x)                                  over all axes, to a scalar
//   sum(x, 0)                               over one axis
//   sum(x, {.axes = {-1}, .keep_dims = true})
// errors: all throw Error (InvalidArgument) with the op, what x is, what it had to be, and the
// caller's line
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/axis_list.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

struct Reduction {
  AxisList axes = kAllAxes;  // {}: none, and x stays as it is; negative axes count from the end
  base::OnlyByName by_name = base::OnlyByName();  // {0, 1} is a list of axes
  base::Flag keep_dims = false;                   // reduced axes stay, with size 1
};

namespace trace_internal {

// What braces are in sum(x, {0, 1}, true); sum(x, {}, true) is over all axes, as sum(x, {}) is.
struct BracedAxes : AxisList {
  BracedAxes() : AxisList(kAllAxes) {}
  using AxisList::AxisList;
};

// The second and third arguments of sum(x, 0, true), as they were given: an axis, or a list of
// axes, and keep_dims. sum(x, 0, 1) of two axes is refused.
template <class Axis, class Keep = bool>
Reduction over_axis(const Axis& axis, Keep keep = false) {
  static_assert(std::same_as<Keep, bool>,
                "the third argument of a reduction is keep_dims, a bool; over two axes write "
                "sum(x, {0, 1})");
  static_assert(!std::is_pointer_v<Axis>,
                "an array of C++ does not say its length here: write {0, 1}, or make it a "
                "std::array or a std::vector");
  bool keep_dims = false;
  if constexpr (std::same_as<Keep, bool>) keep_dims = keep;
  constexpr bool kIsAxis = std::integral<Axis> && !std::same_as<Axis, bool>;
  constexpr bool kIsList =
      !std::is_arithmetic_v<Axis> && std::is_convertible_v<const Axis&, AxisList>;
  constexpr bool kIsWhole = std::same_as<Axis, Reduction>;
  static_assert(kIsAxis || kIsList || kIsWhole || std::is_pointer_v<Axis>,
                "a reduction is over an axis, sum(x, 0), or over {.axes = {0, 1}, .keep_dims = "
                "true}, or over all: sum(x)");
  if constexpr (kIsAxis)
    return {.axes = {base::Int(axis)}, .keep_dims = keep_dims};
  else if constexpr (kIsList)
    return {.axes = axis, .keep_dims = keep_dims};
  else if constexpr (kIsWhole)
    return axis;
  else
    return {};
}

template <class Axis>
inline constexpr bool kIsValue = std::floating_point<Axis> || std::same_as<Axis, Tensor>;

// ddof, and no keep_dims: var(x, 0, true) is refused.
template <class Count>
base::Int ddof_of(Count ddof) {
  constexpr bool kIsCount = std::same_as<Count, base::Int> || std::integral<Count>;
  static_assert(kIsCount && !std::same_as<Count, bool>,
                "the third argument of a variance is ddof, an integer; write "
                "{.axes = {0}, .keep_dims = true} to keep the axis");
  return base::Int(ddof);
}

}  // namespace trace_internal

// sum and prod keep the dtype of x, but for integers of fewer than 32 bits, which give s32 or u32,
// and pred, which gives s32: a count of the true ones.
Tensor sum(Operand x, const Reduction& over = {});   // over no elements 0
Tensor prod(Operand x, const Reduction& over = {});  // the product; over no elements 1
// Complex numbers are ordered by their real parts, then by their imaginary ones. Over no elements
// max and min are errors, as in numpy.
Tensor max(Operand x, const Reduction& over = {});  // the greatest; a NaN is greater
Tensor min(Operand x, const Reduction& over = {});  // the least; a NaN is less
// Of pred: whether all (any) are true; over no elements true (false).
Tensor all(Operand x, const Reduction& over = {});  // of pred: whether all are true
Tensor any(Operand x, const Reduction& over = {});  // of pred: whether one is true

// Of floats and complex numbers. var and std divide by the count minus `ddof`.
Tensor mean(Operand x, const Reduction& over = {});  // of floats and complex numbers
Tensor var(Operand x, const Reduction& over = {}, base::Int ddof = 0);      // variance
Tensor std_dev(Operand x, const Reduction& over = {}, base::Int ddof = 0);  // its root

// Without overflow: the maximum is taken out first.
Tensor logsumexp(Operand x, const Reduction& over = {});  // log(sum(exp(x)))
Tensor softmax(Operand x, base::Int axis = -1);           // exp(x) / sum(exp(x))
Tensor log_softmax(Operand x, base::Int axis = -1);       // its logarithm

// Each over one axis, or a list of them: sum(x, 0), sum(x, -1, /*keep_dims=*/true).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor sum(Operand x, Axis axis, Keep keep_dims = false) {
  return sum(x, trace_internal::over_axis(axis, keep_dims));
}
// prod over one axis, or a list of them: prod(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor prod(Operand x, Axis axis, Keep keep_dims = false) {
  return prod(x, trace_internal::over_axis(axis, keep_dims));
}
// max over one axis, or a list of them: max(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor max(Operand x, Axis axis, Keep keep_dims = false) {
  static_assert(!trace_internal::kIsValue<Axis>,
                "max is over the axes of one tensor; of two operands write maximum(x, y)");
  if constexpr (!trace_internal::kIsValue<Axis>)
    return max(x, trace_internal::over_axis(axis, keep_dims));
  else
    return {};
}
// min over one axis, or a list of them: min(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor min(Operand x, Axis axis, Keep keep_dims = false) {
  static_assert(!trace_internal::kIsValue<Axis>,
                "min is over the axes of one tensor; of two operands write minimum(x, y)");
  if constexpr (!trace_internal::kIsValue<Axis>)
    return min(x, trace_internal::over_axis(axis, keep_dims));
  else
    return {};
}
// all over one axis, or a list of them: all(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor all(Operand x, Axis axis, Keep keep_dims = false) {
  return all(x, trace_internal::over_axis(axis, keep_dims));
}
// any over one axis, or a list of them: any(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor any(Operand x, Axis axis, Keep keep_dims = false) {
  return any(x, trace_internal::over_axis(axis, keep_dims));
}
// mean over one axis, or a list of them: mean(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor mean(Operand x, Axis axis, Keep keep_dims = false) {
  return mean(x, trace_internal::over_axis(axis, keep_dims));
}
// var over one axis, or a list of them: var(x, 0).
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor var(Operand x, Axis axis, Count ddof = 0) {
  return var(x, trace_internal::over_axis(axis), trace_internal::ddof_of(ddof));
}
// std_dev over one axis, or a list of them: std_dev(x, 0).
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor std_dev(Operand x, Axis axis, Count ddof = 0) {
  return std_dev(x, trace_internal::over_axis(axis), trace_internal::ddof_of(ddof));
}
// logsumexp over one axis, or a list of them: logsumexp(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor logsumexp(Operand x, Axis axis, Keep keep_dims = false) {
  return logsumexp(x, trace_internal::over_axis(axis, keep_dims));
}

// s32 position of the greatest (least) along an axis; the first of equals; a NaN counts as the
// greatest (least).
Tensor argmax(Operand x, base::Int axis, base::Flag keep_dims = false);
// s32 position of the least along an axis; the first of equals; a NaN counts as the least.
Tensor argmin(Operand x, base::Int axis, base::Flag keep_dims = false);
Tensor argmax(Operand x);  // s32[]: the position in the flattened x
Tensor argmin(Operand x);  // likewise
template <class T, size_t n>
requires(n > 1) Tensor argmax(Operand, const T (&)[n], base::Flag = false) {
  static_assert(!sizeof(T),
                "argmax is along one axis: make one of several with reshape, or write "
                "argmax(x), the position in the flattened x");
  return {};
}
template <class T, size_t n>
requires(n > 1) Tensor argmin(Operand, const T (&)[n], base::Flag = false) {
  static_assert(!sizeof(T),
                "argmin is along one axis: make one of several with reshape, or write "
                "argmin(x), the position in the flattened x");
  return {};
}

// HLO's reduce: `fn` (a, b) -> a on scalars must be associative, `init` its identity. Several
// operands go together.
using ScalarFn = base::FunctionRef<std::vector<Tensor>(
    std::span<const Tensor>)>;  // (accumulators.., values..) -> accumulators
// HLO's reduce of several operands by one function of scalars.
std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           ScalarFn fn, const base::Ints& axes,
                           SourceLocation at = SourceLocation::here());

using CombineFn = base::FunctionRef<Tensor(const Tensor&, const Tensor&)>;
namespace trace_internal {
Tensor reduce_one(const Tensor& x, const Operand& init, CombineFn fn, const base::Ints& axes);
std::vector<Tensor> reduce_lists(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                                 CombineFn fn, const base::Ints& axes, SourceLocation at);
// Of two Tensors, and none of Heddle's own; a generic lambda too.
template <class Fn>
concept CombinesTwo =
    !TakesOperands<Fn> && std::is_invocable_r_v<Tensor, Fn&, const Tensor&, const Tensor&>;
}  // namespace trace_internal
// HLO's reduce of one operand, by a function (a, b).
template <trace_internal::CombinesTwo Fn>
std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits, Fn&& fn,
                           const base::Ints& axes, SourceLocation at = SourceLocation::here()) {
  return trace_internal::reduce_lists(xs, inits, fn, axes, at);
}
// HLO's reduce of one operand, by one of Heddle's functions.
std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           trace_internal::ByName<Operand, Operand> fn, const base::Ints& axes,
                           SourceLocation at = SourceLocation::here());
// HLO's reduce of x, by a function (a, b); a template, so that {x} is a list.
template <std::same_as<Tensor> X, trace_internal::CombinesTwo Fn>
Tensor reduce(const X& x, Operand init, Fn&& fn, const base::Ints& axes) {
  return trace_internal::reduce_one(x, init, fn, axes);
}
// HLO's reduce of x, by one of Heddle's functions: reduce(x, 0.0f, maximum, {0}).
template <std::same_as<Tensor> X>
Tensor reduce(const X& x, Operand init, trace_internal::ByName<Operand, Operand> fn,
              const base::Ints& axes) {
  return trace_internal::reduce_one(x, init, fn, axes);
}
template <std::same_as<Tensor> X>
Tensor reduce(const X&, Operand, ScalarFn, const base::Ints&) {
  static_assert(!sizeof(X),
                "of one tensor reduce takes a function (a, b); one of a span takes "
                "lists: write reduce({x}, {init}, fn, {0})");
  return {};
}

}  // namespace heddle
