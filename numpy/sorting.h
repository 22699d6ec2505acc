// Orders by several keys, parts of orders, and picking and writing along an axis. Names are those
// of jax.numpy and jax.lax; negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/movement/indexing.h"
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
  static constexpr auto kFields =
      fields(field("values", &TopK::values), field("indices", &TopK::indices));
};
// The k greatest along an axis, greatest first, and their positions.
TopK top_k(Operand x, base::Int k, base::Int axis = -1);

// s32: the order along an axis by the last key, of equals by the one before it, and so on; stable.
// A NaN comes after every number. Keys have one shape.
Tensor lexsort(const std::vector<Tensor>& keys, base::Int axis = -1,
               SourceLocation at = SourceLocation::here());
// x with element k along an axis (negative: from the end) where sorting puts it, no greater one
// before it and no lesser one behind it. All elements are sorted, which is one such order.
Tensor partition(Operand x, base::Int k, base::Int axis = -1);
// s32: the positions of the elements as partition orders them.
Tensor argpartition(Operand x, base::Int k, base::Int axis = -1);
// Complex numbers along an axis, by their real and then by their imaginary parts.
Tensor sort_complex(Operand x, base::Int axis = -1);

// x with `values`, which broadcast to the indices, at indices along an axis: out[.., indices[..,
// i, ..], ..] = values[.., i, ..]. `indices` (integers; negative ones count from the end) has x's
// rank, and broadcasts with x but for the axis. Indices outside write nothing.
Tensor put_along_axis(Operand x, Operand indices, Operand values, base::Int axis);

}  // namespace heddle
