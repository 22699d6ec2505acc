// Sums of arrays whose few columns are zeros but for some.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a sum of arrays, each padded with zeros along a short last dimension where others have
// their columns, as one array of all columns. The derivative of x[..., 0] * x[..., 1] is such a
// sum. Other terms are added to it, so that the order of the sum changes. Returns nothing where the
// module has no such sum.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> join_padded_columns(const hlo::Module& module);

}  // namespace heddle::cpu
