// Eager ops: what runs at once, outside of a trace, and is not recorded first. It runs without a
// program (runtime/direct.h), or by one that is found by the op and the operands' types. Each of
// these gives a tensor without a value where the op has to go the usual way: inside of a trace, for
// operands that have to be broadcast, and for every mistake, which the usual way reports. Private
// to Heddle's op functions.
#pragma once

#include <cstdint>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/opcode.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

Tensor eager_unary(hlo::Opcode opcode, const Operand& x);
Tensor eager_binary(hlo::Opcode opcode, const Operand& x, const Operand& y);
Tensor eager_comparison(hlo::ComparisonDirection direction, const Operand& x, const Operand& y);
// x[position], a negative one counted from the end.
Tensor eager_row(const Tensor& x, int64_t position, SourceLocation at);

}  // namespace heddle::trace_internal
