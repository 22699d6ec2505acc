// Picking elements along an axis. Names are those of jax.numpy and jax.lax; negative axes count
// from the end. errors: all throw Error (InvalidArgument) with the op, what the operand is, what it
// had to be, and the caller's line
#pragma once

#include "heddle/base/int.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// x's elements at `indices` along an axis: out[.., i, ..] = x[.., indices[.., i, ..], ..].
// `indices` (integers; negative ones count from the end) has x's rank; the other axes broadcast.
Tensor take_along_axis(Operand x, Operand indices, base::Int axis,
                       IndexMode mode = IndexMode::kClip);

// The k greatest elements along an axis, greatest first, and their s32 positions; of equals the
// first comes first, and a NaN is greater than every number. errors: also where k is not in 0 ..
// the size
struct TopK {
  Tensor values;   // x's shape, but k along the axis; x's dtype
  Tensor indices;  // s32, likewise: positions along the axis
};
// The k greatest along an axis, greatest first, and their positions.
TopK top_k(Operand x, base::Int k, base::Int axis = -1);

}  // namespace heddle
