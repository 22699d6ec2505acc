// Arrays that are updated or stay as they are.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a choice by one truth between an array and the array with some parts updated, as
// where(accept, x.at[i].set(y), x) in a step of a Markov chain, as updates by chosen parts:
//   select(p, update(x, y, i), x)   becomes   update(x, select(p, y, x[i]), i)
// No array of all elements is made then. None: there is no such choice.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> choose_updates(const hlo::Module& module);

}  // namespace heddle::cpu
