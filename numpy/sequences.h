// Functions of sequences: differences, integrals, convolution. Names are those of jax.numpy;
// negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// x[i + 1] - x[i] along an axis, `order` times over; of pred whether the two differ.
Tensor diff(Operand x, base::Int order = 1, base::Int axis = -1);

// diff of the flattened array, with vectors behind and before it.
Tensor ediff1d(Operand x, const std::vector<Tensor>& behind = {},
               const std::vector<Tensor>& before = {});

// The derivative of y along an axis of 2 elements or more, of floats or complex numbers: central
// differences, at the ends of neighbours, of points `step` apart. Without an axis y is a vector.
// source: numpy.gradient, of edge order 1
Tensor gradient(Operand y, double step = 1);
Tensor gradient(Operand y, double step, base::Int axis);

namespace trace_internal {
void gradients_to(Operand y, double step, Tensor* out, int64_t count);
}  // namespace trace_internal

// Along each axis of an array of rank N: auto [by_row, by_column] = gradient<2>(image).
template <size_t N>
std::array<Tensor, N> gradient(Operand y, double step = 1) {
  std::array<Tensor, N> all;
  trace_internal::gradients_to(y, step, all.data(), static_cast<int64_t>(N));
  return all;
}
// The derivative of y at the places x, a vector, by the parabola through three.
Tensor gradient_at(Operand y, Operand x, base::Int axis = -1);

template <class... More>
trace_internal::Refused gradient(Operand /*y*/, trace_internal::RefusedTensor /*x*/, More...) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(More...)>),
                "for values at the places x write gradient_at(y, x)");
  return {};
}

// The integral of y, of floats or complex numbers, along an axis by the trapezoidal rule, over
// points `step` apart; or at the places x, a vector along that axis.
Tensor trapezoid(Operand y, double step = 1, base::Int axis = -1);
// The integral of y by the trapezoidal rule, over the places x, a vector.
Tensor trapezoid_at(Operand y, Operand x, base::Int axis = -1);
template <std::same_as<Tensor> X, class... More>
trace_internal::Refused trapezoid(Operand /*y*/, const X& /*x*/, More...) {
  static_assert(!sizeof(X), "for points at the places x write trapezoid_at(y, x)");
  return {};
}

// Where the shorter of two vectors overlaps the longer: everywhere (n + m - 1 elements), so that as
// many come out as the longer has, or only where it overlaps whole.
enum class ConvolveMode : uint8_t { kFull, kSame, kValid };
// sum over j of x[i - j] y[j], of vectors of numbers of one dtype.
Tensor convolve(Operand x, Operand y, ConvolveMode overlap = ConvolveMode::kFull);
// sum over j of x[i + j] conj(y[j]).
Tensor correlate(Operand x, Operand y, ConvolveMode overlap = ConvolveMode::kValid);

// Positions (s32) of the first `size` elements of a vector that are not 0, in order; `fill` where
// there are fewer.
Tensor nonzero(Operand x, base::Int size, base::Int fill = 0);
template <class None = trace_internal::Refused>
trace_internal::Refused nonzero(trace_internal::RefusedTensor /*x*/) {
  static_assert(!sizeof(std::type_identity<None>),
                "the number of results is part of a shape: write nonzero(x, size)");
  return {};
}
// The same of any array, flattened.
Tensor flatnonzero(Operand x, base::Int size, base::Int fill = 0);
// The same of any array, as rows of positions along its axes: s32[size, rank], zeros where there
// are fewer.
Tensor argwhere(Operand x, base::Int size);
// The first `size` places of an axis, or of the flattened array, at which `condition`, a vector, is
// not 0, and `fill` where there are fewer. A shorter condition is 0 at the places that it lacks.
Tensor compress(Operand condition, Operand x, base::Int size, std::optional<base::Int> axis = {},
                Operand fill = 0);
// The first `size` elements at which `condition`, of the shape of x, is not 0.
Tensor extract(Operand condition, Operand x, base::Int size, Operand fill = 0);

// Angles along an axis moved by multiples of the period, so that neighbours differ by at most half
// of it; those that differ by less than `jump` (at least half a period) stay. Of floats.
struct Unwrap {
  base::Int axis = -1;
  double period = 2 * std::numbers::pi;
  std::optional<double> jump = {};
};
// Angles along an axis, moved by multiples of the period so that neighbours are near.
Tensor unwrap(Operand x, const Unwrap& how = {});

}  // namespace heddle
