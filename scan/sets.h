// Arrays as sets of their elements. Names are those of jax.numpy.
//
// Shapes cannot depend on values, so results have `size` places: the elements, different ones and
// ascending, and `fill` in the places left over; greater elements that have no place are dropped.
// NaN are elements of no set. errors: all throw Error (InvalidArgument) where operands have other
// dtypes or none with an order
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// pred, x's shape: whether each element of x is one of `elements`. cost: a sort of these, and a
// loop of log2 of their number
Tensor isin(Operand x, Operand elements);

struct SetResult {
  Tensor values;  // [size], of x's dtype
  Tensor number;  // s32[]: of elements, which may be more than size
};
SetResult union1d(Operand x, Operand y, base::Int size, Operand fill = 0);      // of either
SetResult intersect1d(Operand x, Operand y, base::Int size, Operand fill = 0);  // of both
SetResult setdiff1d(Operand x, Operand y, base::Int size, Operand fill = 0);    // of x and not of y
SetResult setxor1d(Operand x, Operand y, base::Int size,
                   Operand fill = 0);  // of one and not of both

}  // namespace heddle
