// Products of what a loop carries and what it does not.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes concatenate(x, h) @ w of a loop's body as x @ w1 + h @ w2, where x is the turn's own row
// and h what turns before it left: the first product can leave the loop then (loop_distribution.h).
// The rows are few and the matrix big. A cell of an LSTM is often written so. The module has stage
// hlo, and loops that are while. Nothing: there is no such product.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> part_products(const hlo::Module& module);

}  // namespace heddle::cpu
