// Operations that move elements: shapes change, values do not. Names are those of jax.numpy and
// jax.lax; negative axes count from the end. errors: all throw Error (InvalidArgument) with the op,
// what the operand is, what it had to be, and the caller's line
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/axis_list.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// One size may be -1: what is left.
Tensor reshape(Operand x, const base::Ints& shape);
template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second> Tensor reshape(Operand, First, Second, More...) {
  static_assert(!sizeof(First), "the sizes of a shape are one list: write reshape(x, {2, 3})");
  return {};
}
Tensor ravel(Operand x);  // as one axis
// Axes in their new order; empty: reversed.
Tensor transpose(Operand x, const base::Ints& axes = {});
template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second>  //
    Tensor transpose(Operand, First, Second, More...) {
  static_assert(!sizeof(First), "the axes are one list: write transpose(x, {1, 0})");
  return {};
}
Tensor swapaxes(Operand x, base::Int axis1, base::Int axis2);  // two axes change places
Tensor moveaxis(Operand x, base::Int from, base::Int to);      // one axis goes elsewhere
// Axis from[i] becomes axis to[i]; the others keep their order.
Tensor moveaxis(Operand x, std::initializer_list<int64_t> from, std::initializer_list<int64_t> to);
// New axes of size 1, at these of the result.
Tensor expand_dims(Operand x, const base::Ints& axes);
// Without axes of size 1: those listed, or all.
Tensor squeeze(Operand x, const AxisList& axes = kAllAxes);
// HLO's broadcast: dimension i of x becomes dimension dimensions[i] of the result.
Tensor broadcast_in_dim(Operand x, const base::Ints& shape, const base::Ints& dimensions);

template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second>  //
    Tensor broadcast_to(const Tensor&, First, Second, More...) {
  static_assert(!sizeof(First), "the sizes of a shape are one list: write broadcast_to(x, {2, 3})");
  return {};
}

// Along an existing axis, and along a new one. All dtypes equal, all shapes equal (but along the
// axis).
Tensor concat(const std::vector<Tensor>& parts, base::Int axis = 0,
              SourceLocation at = SourceLocation::here());  // along an axis that they have
Tensor stack(const std::vector<Tensor>& parts, base::Int axis = 0,
             SourceLocation at = SourceLocation::here());  // along a new axis
// Written out, some parts may be C++ numbers, of the dtype of the tensors beside them:
// stack({cos(t), -sin(t), 0}). errors: no part is a tensor
Tensor concat(std::initializer_list<Operand> parts, base::Int axis = 0,
              SourceLocation at = SourceLocation::here());
// The same along a new axis.
Tensor stack(std::initializer_list<Operand> parts, base::Int axis = 0,
             SourceLocation at = SourceLocation::here());
// The same of as many as unstack<3>(x) gives.
template <size_t n>
Tensor concat(const std::array<Tensor, n>& parts, base::Int axis = 0,
              SourceLocation at = SourceLocation::here()) {
  return concat(std::vector<Tensor>(parts.begin(), parts.end()), axis, at);
}
// The same of as many as unstack<3>(x) gives.
template <size_t n>
Tensor stack(const std::array<Tensor, n>& parts, base::Int axis = 0,
             SourceLocation at = SourceLocation::here()) {
  return stack(std::vector<Tensor>(parts.begin(), parts.end()), axis, at);
}
template <std::same_as<Tensor> First, class... More>
Tensor concat(const First&, const More&...) {
  static_assert(!sizeof(First), "the parts are one list: write concat({x, y}, axis)");
  return {};
}
template <std::same_as<Tensor> First, class... More>
Tensor stack(const First&, const More&...) {
  static_assert(!sizeof(First), "the parts are one list: write stack({x, y}, axis)");
  return {};
}
// Into `count` equal parts, or at the given positions.
std::vector<Tensor> split(Operand x, base::Int count, base::Int axis = 0);

namespace trace_internal {
void split_to(Operand x, base::Int axis, Tensor* out, int64_t count);
}  // namespace trace_internal

// Into N equal parts along an axis: auto [q, k, v] = split<3>(x, -1).
template <size_t N>
std::array<Tensor, N> split(Operand x, base::Int axis = 0) {
  std::array<Tensor, N> parts;
  trace_internal::split_to(x, axis, parts.data(), static_cast<int64_t>(N));
  return parts;
}

// Into the parts between the positions given.
std::vector<Tensor> split_at(Operand x, const base::Ints& positions, base::Int axis = 0);
Tensor flip(Operand x, const AxisList& axes = kAllAxes);  // reversed along each of the axes
// What leaves at one end enters at the other: along an axis, or several by a shift each.
Tensor roll(Operand x, const base::Ints& shifts, const base::Ints& axes);
Tensor roll(Operand x, base::Int shift);  // the same of the flattened x, whose shape it keeps
Tensor tile(Operand x, const base::Ints& repeats);          // copies side by side, an axis each
template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second> Tensor tile(Operand, First, Second, More...) {
  static_assert(!sizeof(First), "the repeats are one list: write tile(x, {2, 3})");
  return {};
}
Tensor repeat(Operand x, base::Int count, base::Int axis);  // each element so many times
Tensor repeat(Operand x, base::Int count);                  // the same of the flattened x
template <size_t n, class... Axis>
requires(n > 1) trace_internal::Refused repeat(Operand /*x*/, const int64_t (&)[n], Axis...) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(Axis...)>),
                "a count for each position is repeat_each(x, array({1, 2, 3}), 6, axis); 6: how "
                "many positions the result has");
  return {};
}
// values behind x, along an axis, or both flattened.
Tensor append(Operand x, Operand values, std::optional<base::Int> axis = {});

// x[start:limit:stride] in every axis; empty strides are 1.
Tensor slice(Operand x, const base::Ints& start, const base::Ints& limit,
             const base::Ints& strides = {});
// x[start:limit:stride] in one axis, whole in the others.
Tensor slice_in_dim(Operand x, base::Int start, base::Int limit, base::Int stride = 1,
                    base::Int axis = 0);
// Where a block of x begins, one entry an axis: integer scalars of one dtype, and C++ integers,
// which take that dtype (s32 beside no tensor). Refers to its tensors: an argument, not a variable.
class SliceStarts {
 public:
  SliceStarts(std::initializer_list<Operand> each) : each_(each) {}  // implicit: {i, 0}
  SliceStarts(const std::vector<Tensor>& each, SourceLocation at = SourceLocation::here());
  template <class T>
  requires(std::same_as<T, Tensor> || std::is_arithmetic_v<T>) SliceStarts(const T& /*start*/) {
    static_assert(!sizeof(T), "the starts are one list, an entry an axis: write {i} or {i, 0}");
  }
  [[nodiscard]] const std::vector<Operand>& each() const { return each_; }

 private:
  std::vector<Operand> each_;
};

// The block of `sizes` from starts that are values, clamped so that it lies inside x.
Tensor dynamic_slice(Operand x, const SliceStarts& starts, const base::Ints& sizes);
// x with `update` from starts that are values, clamped so that it lies inside x.
Tensor dynamic_update_slice(Operand x, Operand update, const SliceStarts& starts);
// Likewise along one axis, whole in the others: `size` positions of it, or those of `update`.
Tensor dynamic_slice_in_dim(Operand x, Operand start, base::Int size, base::Int axis = 0);
// x with `update` from `start` of one axis on, whole in the others.
Tensor dynamic_update_slice_in_dim(Operand x, Operand update, Operand start, base::Int axis = 0);
// One position of an axis, which goes unless keep_dims.
Tensor dynamic_index_in_dim(Operand x, Operand index, base::Int axis = 0,
                            base::Flag keep_dims = true);
// x with `update` at one position of an axis, which `update` may lack.
Tensor dynamic_update_index_in_dim(Operand x, Operand update, Operand index, base::Int axis = 0);

// Edges of `value` around x; negative low and high crop, interior puts values between elements.
struct Padding {
  base::Int low = 0;
  base::Int high = 0;
  base::Int interior = 0;
};
// x with edges of `value`; negative low and high crop, interior puts values between elements.
Tensor pad(Operand x, Operand value, const std::vector<Padding>& padding);
Tensor pad(Operand x, const std::vector<Padding>& padding);  // with edges of 0, as numpy's default
template <class... None>
trace_internal::Refused pad(Operand /*x*/, trace_internal::RefusedNumber /*width*/) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(None...)>),
                "a padding has a width at each end of each dimension, behind the value: write "
                "pad(x, {{1, 1}, {0, 0}}) or pad(x, 0.5, {{1, 1}, {0, 0}})");
  return {};
}

}  // namespace heddle
