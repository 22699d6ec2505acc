// Elementwise ops as nodes of a plan, on any number of lanes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "heddle/codegen/plan/builder.h"
#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// How a plan holds an element; nothing for types that machine code does not compute on.
std::optional<Scalar> scalar_of(DType dtype);
// An array of known sizes of such elements.
bool is_plain(const Shape& shape);
// An i8 as an integer of the type: of four bits, which a byte holds, it keeps the low ones.
NodeId wrapped_to_nibble(PlanBuilder& builder, DType dtype, NodeId byte);

// The value is a node of the plan, and needs no place in memory.
bool is_node_type(const Shape& shape);

// The instruction is elementwise on types that a plan holds, and apply() writes it.
bool is_scalar_op(const Computation& computation, const Instruction& instruction);

// The value of an elementwise instruction, for operands of one number of lanes or of one lane.
NodeId apply(PlanBuilder& builder, const Computation& computation, const Instruction& instruction,
             std::span<const NodeId> operands);

// True where a computation on scalars has elementwise ops alone, so that inline_scalars() can write
// it.
bool is_scalar_computation(const Computation& computation);

// The results of a computation on scalars, as if it were called for every lane.
std::vector<NodeId> inline_scalars(PlanBuilder& builder, const Computation& computation,
                                   std::span<const NodeId> arguments);

// The op that a reduction's computation is, where it is one whose order may be changed.
std::optional<Op> fold_of(const Computation& computation);

// An element of a literal as the bits of a constant.
int64_t bits_of_element(const Literal& literal, int64_t position);

// An integer index of any type as an i64.
NodeId as_index(PlanBuilder& builder, DType dtype, NodeId value);

}  // namespace heddle::cpu
