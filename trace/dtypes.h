// Operands made to agree with others: their dtypes and shapes, and floats wide enough for sums.
// Private to Heddle's op functions.
#pragma once

#include <string_view>

#include "heddle/trace/creation.h"
#include "heddle/trace/operand.h"

namespace heddle::trace_internal {

// A number as an element of `dtype`, or a tensor that has it. errors: throws Error naming `op` and
// the operand `name`, where a tensor has another, or no element can be the number
Tensor like(std::string_view op, std::string_view name, const Operand& operand, DType dtype,
            SourceLocation at);

// The operand `value` in the shape of what it goes to, by numpy's rule. errors: throws Error naming
// `op` where it does not stretch to that
Tensor stretched(std::string_view op, const Tensor& value, const Dimensions& shape,
                 SourceLocation at);

// Floats of fewer than 32 bits as f32: they can hold neither counts nor the sums of many.
Tensor wide_for_sums(const Tensor& x, SourceLocation at);

}  // namespace heddle::trace_internal
