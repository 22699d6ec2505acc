// Arrays with a short first or last dimension as their columns.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes arrays such as f32[256,256,3], the differences of all pairs of points, as an array for
// each of the few places along the last dimension, where a group of ops makes, computes on and
// folds such arrays and few elements cross its border: vectors are then as long as the rows, and a
// fold along the last dimension is a sum of arrays. The order of such folds changes. So is the
// state of a loop, such as f32[batch,3], a tuple of arrays where a step takes, sets or puts
// together its columns or rows (`column_groups.h`). Nothing: there is no such group. Another call
// may split what is left, such as the rows of small matrices whose columns are split.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> split_into_columns(const hlo::Module& module);

}  // namespace heddle::cpu
