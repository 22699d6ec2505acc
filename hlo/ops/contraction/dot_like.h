// What dot, ragged-dot and scaled-dot share.
#pragma once

#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {

// Pairs of dimensions, one of operand 0 and one of operand 1, are in range, distinct and of equal
// sizes; `what` is "batch" or "contracting".
Status check_paired_dims(const InferArgs& in, std::string_view what, const Dims& of_x,
                         const Dims& of_y);

// The declared element type can hold sums of products of operands 0 and 1.
Status check_dot_result(const InferArgs& in);

// The type of the dot of two arrays of other shapes than the operands', under the op's own name.
StatusOr<Shape> infer_dot(const InferArgs& in, const Shape& x, const Shape& y,
                          const DotAttrs& attrs);

}  // namespace heddle::hlo
