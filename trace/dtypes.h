// Dtypes made to agree, and wide enough for sums. Private to Heddle's op functions.
#pragma once

#include <string_view>

#include "heddle/trace/operand.h"

namespace heddle::trace_internal {

// A number as an element of `dtype`, or a tensor that has it. errors: throws Error naming `op` and
// the operand `name`, where a tensor has another, or no element can be the number
Tensor like(std::string_view op, std::string_view name, const Operand& operand, DType dtype,
            SourceLocation at);

// Floats of fewer than 32 bits as f32: they can hold neither counts nor the sums of many.
Tensor wide_for_sums(const Tensor& x, SourceLocation at);

}  // namespace heddle::trace_internal
