// Operands made to agree with others: their dtypes and shapes, and floats wide enough for sums.
// Private to Heddle's op functions.
#pragma once

#include <string_view>

#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"

namespace heddle::trace_internal {

// A number as an element of `dtype`, or a tensor that has it. errors: throws Error naming the
// operand, `name`, where a tensor has another, or no element can be the number
Tensor like(std::string_view name, const Operand& operand, DType dtype);

// The operand `value` in the shape of what it goes to, by numpy's rule. errors: throws Error where
// it does not stretch to that
Tensor stretched(const Tensor& value, const Dimensions& shape);

// Floats of fewer than 32 bits as f32: they can hold neither counts nor the sums of many.
Tensor wide_for_sums(const Tensor& x);

}  // namespace heddle::trace_internal
