#include "heddle/codegen/plan/work.h"

#include <algorithm>

#include "heddle/codegen/plan/cost.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kUnknownTurns = 16;  // of loops whose bounds are not known
constexpr int64_t kMost = int64_t{1} << 60;

// Work that is a sum and a product of others stays below kMost.
int64_t times(int64_t work, int64_t turns) {
  return work > kMost / std::max<int64_t>(turns, 1) ? kMost : work * turns;
}

}  // namespace

int64_t guessed_turns(const Plan& plan, const Node& loop) {
  const std::optional<double> turns = turns_of(plan, loop);
  return turns ? static_cast<int64_t>(*turns) : kUnknownTurns;
}

int64_t work_of(const Plan& plan, BlockId block) {
  int64_t work = 0;
  for (NodeId id : plan.at(block).nodes) work = std::min(work + work_of(plan, plan.at(id)), kMost);
  return work;
}

int64_t work_of(const Plan& plan, const Node& node) {
  const auto blocks = plan.blocks_of(node);
  const int64_t lanes = node.type.lanes;
  switch (node.op) {
    case Op::kConstant:
    case Op::kLanes:
    case Op::kParameter:
    case Op::kResult:
    case Op::kExtract:
    case Op::kSplat: return 0;
    case Op::kDiv:
    case Op::kSqrt: return 15;
    case Op::kSDiv:
    case Op::kUDiv:
    case Op::kSRem:
    case Op::kURem: return (node.type.is_divided_as_float() ? 2 : 40) * lanes;
    case Op::kMath: return 100 * lanes;
    case Op::kGather:
    case Op::kScatter: return 5 * lanes;
    case Op::kLoad:
    case Op::kStore: return 8;
    case Op::kCopy: return node.imm / 4;
    case Op::kFor:
    case Op::kForEach:
    case Op::kParts: return times(work_of(plan, blocks[0]), guessed_turns(plan, node));
    case Op::kWhile:
      return times(work_of(plan, blocks[0]) + work_of(plan, blocks[1]), guessed_turns(plan, node));
    case Op::kSwitch: {
      int64_t least = kMost;
      for (BlockId block : blocks) least = std::min(least, work_of(plan, block));
      return least;
    }
    default: return 2;
  }
}

}  // namespace heddle::cpu
