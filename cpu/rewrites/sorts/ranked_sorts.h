// Sorts of rows by counting what stands before each element.
#pragma once

#include <cstdint>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

inline constexpr int64_t kMostRanked = 128;  // elements of a row

// Writes stable sorts of rows of up to 128 elements along the last dimension as ranks: how many
// elements of its row come before each one, by comparisons of whole vectors, says where it goes. A
// call of a kernel costs more. Sorts with other comparators than
// interpreter::sort_keys() knows stay.
[[nodiscard]] StatusOr<hlo::Module> rank_sorts(const hlo::Module& module);

}  // namespace heddle::cpu
