// What a plan's loops cost, roughly.
#pragma once

#include <cstdint>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// In tenths of a nanosecond, as a vector machine of 2022 needs. Depends on the plan alone.
int64_t work_of(const Plan& plan, BlockId block);
int64_t work_of(const Plan& plan, const Node& node);

// Of a for or for_each; a guess where the bounds are not known.
int64_t guessed_turns(const Plan& plan, const Node& loop);

}  // namespace heddle::cpu
