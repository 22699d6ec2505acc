// Products whose operands lie in an order that no kernel reads well.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Copies the operand of a large product into the order batch, rows, contracted, where
//   - it contracts several dimensions, which lie in another order in the other operand: the product
//     would be many thin ones, each added to the whole result;
//   - its last dimension is a batch dimension: each product would read single elements of lines.
// A product whose batch comes last after a transpose is written apart from it. Comes after all
// rewrites that would move transposes into products.
[[nodiscard]] StatusOr<hlo::Module> order_products(const hlo::Module& module);

}  // namespace heddle::cpu
