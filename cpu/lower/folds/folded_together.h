// Several vectors folded at once.
#pragma once

#include <cstdint>
#include <functional>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {

// As many vectors as they have lanes, each folded to one lane of the result, in less than half of
// the operations that they take one by one. Lanes are joined in reduce_lanes's order: with those
// half a vector away, then a quarter.
//
// vector_at(i): the one that becomes lane i; `type` has a power of two of lanes
NodeId fold_together(PlanBuilder& builder, Op fold, Type type,
                     const std::function<NodeId(int64_t)>& vector_at);

}  // namespace heddle::cpu
