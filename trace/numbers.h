// More elementwise functions of numbers: rounding, parts of floats, choices by condition. Names are
// those of jax.numpy; operands broadcast as numpy's do.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Rounded to so many decimals, ties to even: round(x 10^d) / 10^d; what is too great for that has
// no such decimals, and stays. Integers stay as they are, and have no negative decimals.
Tensor around(Operand x, base::Int decimals = 0);

Tensor is_posinf(Operand x);  // pred: inf; of floats
Tensor is_neginf(Operand x);  // pred: -inf; of floats
// 0 below 0, 1 above it, and `at_zero` at 0; NaN of NaN.
Tensor heaviside(Operand x, Operand at_zero);
// log2(2^x + 2^y), without overflow.
Tensor logaddexp2(Operand x, Operand y);
// What division rounded toward 0 leaves: it has the sign of x, where that of mod has that of y. Of
// integers by 0 it is 0.
Tensor fmod(Operand x, Operand y);
// The greater (lesser) one; of a number and a NaN the number.
Tensor fmax(Operand x, Operand y);
Tensor fmin(Operand x, Operand y);  // The lesser one; of a number and a NaN the number

// floor_divide and mod at once.
struct DivmodResult {
  Tensor quotient;   // of the shape that x and y broadcast to, and their dtype
  Tensor remainder;  // likewise
};
DivmodResult divmod(Operand x, Operand y);  // floor_divide and mod at once
// The fraction and the whole part of floats, both of the sign of x.
struct ModfResult {
  Tensor fraction;  // of x's shape and dtype
  Tensor whole;     // likewise
};
ModfResult modf(Operand x);  // The fraction and the whole part of floats, both of the sign of x

// A float as mantissa * 2^exponent, with |mantissa| in [1/2, 1) and exponent s32. 0, infinities and
// NaN are their own mantissas, with exponent 0.
struct FrexpResult {
  Tensor mantissa;  // of x's shape and dtype
  Tensor exponent;  // s32, of x's shape
};
FrexpResult frexp(Operand x);  // A float as mantissa * 2^exponent
// x 2^n, for integers n: exact, or rounded once to a number below the least normal one.
Tensor ldexp(Operand x, Operand n);
// How far the next float is, away from 0: of the sign of x. NaN where x is not finite.
Tensor spacing(Operand x);

// The element of the first choice whose condition (pred) is true; `otherwise` where none is.
// errors: also unless there are as many choices as conditions, one at least
Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices,
              Operand otherwise = 0);
// The element of the choice that `which`, of integers, names; those outside are clamped.
Tensor choose(Operand which, const std::vector<Tensor>& choices);

// pred[]: whether shapes are equal and all elements are.
Tensor array_equal(Operand x, Operand y, base::Flag equal_nan = false);

// Bits (integers that are not 0, or pred), eight to a u8 along an axis, or of the flattened array;
// the greatest first, zeros at the end. And back.
Tensor packbits(Operand x, std::optional<base::Int> axis = {});
// u8 as eight bits each, 0 or 1 in u8, the greatest first.
Tensor unpackbits(Operand x, std::optional<base::Int> axis = {});

}  // namespace heddle
