// Gathers with one number for an index.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes gathers by several indices of neighbouring dimensions, as x[:, i, j], as gathers of the
// array with these dimensions in one, by one number: x.reshape(..)[:, i * n + j]. The numbers are
// integers like others: they are computed once where several gathers or turns need them, in
// vectors.
[[nodiscard]] StatusOr<hlo::Module> flatten_gathers(const hlo::Module& module);

}  // namespace heddle::cpu
