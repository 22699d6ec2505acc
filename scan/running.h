// Running sums of what has NaN in it, angles without jumps, elements repeated and greatest common
// divisors: functions that loop. Names are those of jax.numpy; negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// cumsum and cumprod where a NaN counts as 0, and as 1. Of numbers.
Tensor nan_cumsum(Operand x, base::Int axis = 0);
Tensor nan_cumprod(Operand x, base::Int axis = 0);  // cumprod where a NaN counts as 1
// nan_cumsum, by its name in jax.numpy.
Tensor nancumsum(Operand x, base::Int axis = 0);
// nan_cumprod, by its name in jax.numpy.
Tensor nancumprod(Operand x, base::Int axis = 0);

// Angles along an axis moved by multiples of the period, so that neighbours differ by at most half
// of it; those that differ by less than `jump` (at least half a period) stay. Of floats.
struct Unwrap {
  base::Int axis = -1;
  double period = 2 * std::numbers::pi;
  std::optional<double> jump = {};
};
// Angles along an axis, moved by multiples of the period so that neighbours are near.
Tensor unwrap(Operand x, const Unwrap& how = {});

// Element i of an axis counts[i] times, for `counts` [size] of integers, 0 or more. Shapes cannot
// depend on values, so `total` places are filled: what is more is dropped, and places left over
// repeat the last element. cost: a cumsum of the counts, and a loop of log2(size) gathers
Tensor repeat_each(Operand x, Operand counts, base::Int total, base::Int axis = 0);

// The greatest integer that divides both, and the least that both divide; gcd(0, 0) is 0. Never
// negative, but where the least integer of a signed dtype would have to be. source: Euclid's
// algorithm. cost: a loop until all elements are found
Tensor gcd(Operand x, Operand y);
Tensor lcm(Operand x, Operand y);  // The least integer that both divide; 0 where either is

}  // namespace heddle
