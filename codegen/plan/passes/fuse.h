// Loops over the same turns, one after the other, as one.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A for_each joins the next one, as in y[i] = f(x[i]) and s[i] = sum of y[i], where no turn of
// either needs what another turn of the other writes. What the second one loads is then a register
// of the first one. A nest of two joins another one, or a loop over all elements, in both of its
// loops. Loops over rows that write parts of the same rows share the loop over them.
// `taken`: arguments and results, by number, that may be the same memory.
void fuse_loops(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken);

// For people: why a for_each is not one with the one before it, by node. Empty where it follows
// none, and where they would be one but for later passes.
std::map<NodeId, std::string_view> fusion_obstacles(Plan plan);

}  // namespace heddle::cpu
