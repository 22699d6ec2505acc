// Loops that fold into what they carry.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heddle/codegen/plan/builder.h"
#include "heddle/cpu/lower/arrays/loops.h"

namespace heddle::cpu {

// A loop over 0, step, 2 step, .. below `to` that folds into what it carries. A long one of sums of
// f32 is one of blocks, and of blocks of blocks, each summed by itself: a number is then added to
// one of its own size, and the error grows with a block and with their number, not with all. A
// block is about 32 turns, together with those that the body takes for each.
using FoldBody = std::function<std::vector<NodeId>(NodeId index, std::vector<NodeId> carried)>;
std::vector<NodeId> fold_loop(PlanBuilder& builder, bool is_sum, int64_t to, int64_t step,
                              std::vector<NodeId> carried, const FoldBody& body,
                              int64_t turns_of_body = 1);
// Such loops of these sizes, one inside another, of which the longest one is cut: their indices are
// `at` for the innermost body, which takes so many turns for each.
std::vector<NodeId> fold_nest(PlanBuilder& builder, bool is_sum, std::span<const int64_t> sizes,
                              std::vector<NodeId>& at, std::vector<NodeId> carried,
                              int64_t turns_of_body, const NestBody& body);

}  // namespace heddle::cpu
