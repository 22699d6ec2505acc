// Products whose operands lie in an order that no kernel reads well.
#pragma once

#include <cstdint>
#include <span>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

// How many places an array has along these dimensions together.
int64_t places_along(const Shape& shape, std::span<const int64_t> dims);

// A copy of the array in place of instruction `id`: what reads it reads memory in its order.
hlo::Value copied(transform::Rebuilder& to, hlo::InstructionId id, const hlo::Value& x);

// Copies an operand of a large product into the order batch, rows, contracted, or into batch,
// contracted, columns if its last dimension is a column, where
//   - it contracts several dimensions, which are no neighbours or lie in another order in the other
//     operand: the product would be many thin ones, each added to the whole result;
//   - its last dimension is a batch dimension: each product would read single elements of lines;
//   - its last dimension is a few rows behind the contracted one: they join the other rows;
//   - it holds integers, rows of its columns are contracted ones, and those of the other operand
//     are not: vectors would lie along neither.
// A product whose transpose would be written in short pieces, as one whose batch comes last, is
// written apart from it. A product of many rows by a few short ones of small floats, which would
// sum lanes, has the few transposed. Comes after all rewrites that would move transposes into
// products.
[[nodiscard]] StatusOr<hlo::Module> order_products(const hlo::Module& module);

}  // namespace heddle::cpu
