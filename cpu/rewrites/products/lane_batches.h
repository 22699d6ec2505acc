// Products of a batch that lies innermost.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a product of a batch of small matrices whose last dimensions in memory are those of the
// batch, as einsum("bixy,ioxy->boxy") has them, as a sum of elementwise products, so that lanes are
// the batch: a kernel would read single elements of lines. A much smaller operand that lies in
// another order is turned so. The module has stage hlo and no complex products. Nothing: it has no
// such product.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> put_batches_in_lanes(const hlo::Module& module);

}  // namespace heddle::cpu
