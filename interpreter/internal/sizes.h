// Dimensions of dynamic size. A value of the type f32[<=6] is held as an array of the size that it
// has, f32[4], so that what an op means for arrays of that size is what it means here. Before each
// step whose types have such dimensions, the instruction is rewritten to the sizes that its
// operands have at the moment.
#pragma once

#include <optional>
#include <span>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {

// A dynamic dimension is somewhere in the type; a `?`, which bounds nothing.
bool has_dynamic_dimension(const Shape& shape);
bool has_unbounded_dimension(const Shape& shape);

// A type in it, of an operand or the result, has a dynamic dimension, and the rule depends on it.
// Ops that hand values on do not, but where their type fixes a size that the operand's leaves open:
// programs of XLA drop the flag here and there.
bool depends_on_sizes(const hlo::Computation& computation, const hlo::Instruction& instruction);

struct Sized {
  hlo::Instruction instruction;
  std::optional<hlo::Dims> cut;  // what of the result is kept
};

// The instruction for operands of these sizes, all its types static. An operand that goes with a
// shorter one is cut to its size; one that is read beyond its size is filled with zeros, where XLA
// leaves the value open.
// errors: InvalidArgument for a size outside of the bound; Unimplemented for a reshape that tears
// dynamic dimensions apart, for a bitcast of a part of memory, and where the sizes do not say what
// the result's are
StatusOr<Sized> at_sizes(const hlo::Module& module, const hlo::Computation& computation,
                         const hlo::Instruction& instruction, std::span<Literal> operands);

// The array at other sizes: cut, and filled with zeros.
Literal at_dimensions(const Literal& x, const hlo::Dims& sizes);

// The value as the type promises it: where a size is not dynamic it is there in full, filled with
// zeros.
// errors: Internal where the value is larger
StatusOr<Literal> fitted(Literal value, const Shape& type);

// Whether it lies in memory in the order of its dimensions.
bool is_row_major(const Shape& shape);

// Whether arrays have equal dimensions, those of tuples one by one.
bool same_sizes(const Shape& a, const Shape& b);

// The value can stand for the type: its sizes are the type's, or where that is dynamic at most the
// bound.
bool stands_for(const Shape& value, const Shape& type);

}  // namespace heddle::interpreter
