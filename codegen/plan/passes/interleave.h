// Several turns at a time, where one is a chain of operations.
#pragma once

#include <cstdint>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Of a block: the operations of which each needs the one before.
[[nodiscard]] int64_t longest_chain(const Plan& plan, const Block& block);

// It calls nothing, and has no blocks inside.
[[nodiscard]] bool is_straight(const Plan& plan, const Block& block);

// A for_each does so many turns in one, operation by operation. Their number is a multiple of that.
void join_turns(Plan& plan, NodeId for_each, int64_t count);

// A for_each whose body is a chain of operations does two turns in one, or four of a short body,
// operation by operation: the processor does not see far enough ahead to begin the next turns by
// itself.
void interleave_turns(Plan& plan);

}  // namespace heddle::cpu
