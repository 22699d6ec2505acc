#include "heddle/codegen/plan/cost.h"

#include <algorithm>
#include <map>

namespace heddle::cpu {
namespace {

constexpr double kUncheckedWork = 1 << 24;  // nodes: some milliseconds
constexpr double kKernelWork = 1 << 16;

// Operations of one lane.
double flops_of(Op op, const Node& node) {
  if (!is_float(node.type.scalar)) return 0;
  switch (op) {
    case Op::kFma: return 2;
    case Op::kReduceLanes:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kDivBy:
    case Op::kMin:
    case Op::kMax:
    case Op::kSqrt:
    case Op::kMath: return 1;
    default: return 0;
  }
}

class Costs {
 public:
  explicit Costs(const Plan& plan) : plan_(plan) {}

  PlanCost of(BlockId block) {
    PlanCost sum{0, 0};
    for (NodeId id : plan_.at(block).nodes) add(sum, of(plan_.at(id)), 1);
    return sum;
  }

 private:
  static void add(PlanCost& sum, const PlanCost& part, std::optional<double> times) {
    const auto join = [&](std::optional<double>& to, const std::optional<double>& from) {
      if (from && *from == 0) return;
      to = to && from && times ? std::optional(*to + *from * *times) : std::nullopt;
    };
    join(sum.flops, part.flops);
    join(sum.bytes, part.bytes);
  }

  PlanCost of(const Node& node) {
    PlanCost cost{0, 0};
    switch (node.op) {
      case Op::kFor:
      case Op::kForEach:
      case Op::kParts:
      case Op::kWhile:
        for (BlockId block : plan_.blocks_of(node)) add(cost, of(block), turns_of(plan_, node));
        return cost;
      case Op::kSwitch:  // the dearest branch
        for (BlockId block : plan_.blocks_of(node)) {
          const PlanCost branch = of(block);
          cost.flops = cost.flops && branch.flops
                           ? std::optional(std::max(*cost.flops, *branch.flops))
                           : std::nullopt;
          cost.bytes = cost.bytes && branch.bytes
                           ? std::optional(std::max(*cost.bytes, *branch.bytes))
                           : std::nullopt;
        }
        return cost;
      case Op::kKernel: return of(plan_.kernels[static_cast<size_t>(node.imm)]);
      case Op::kCopy: return {0, 2.0 * static_cast<double>(node.imm)};
      case Op::kLoad:
      case Op::kGather:
      case Op::kStore:
      case Op::kScatter:
        return {0, static_cast<double>(node.type.lanes * bytes_of(node.type.scalar))};
      default: return {flops_of(node.op, node) * node.type.lanes, 0};
    }
  }

  PlanCost of(const KernelUse& kernel) const {
    double bytes = 0;
    for (BufferId buffer : kernel.buffers)
      bytes += static_cast<double>(plan_.buffers[buffer.value].bytes);
    return {kernel.flops < 0 ? std::nullopt : std::optional(kernel.flops), bytes};
  }

  const Plan& plan_;
};

class Stops {
 public:
  explicit Stops(Plan& plan) : plan_(plan) {}

  // The most work between two askings, and before the first.
  double of(BlockId block) {
    double work = 0;
    for (NodeId id : plan_.at(block).nodes) work += of(id);
    return work;
  }

 private:
  double of(NodeId id) {
    const Node& node = plan_.at(id);
    double work = 0;
    const int before = asking_;
    for (BlockId block : plan_.blocks_of(node)) work += of(block);
    // Where a part ends because the run is to stop, the whole does.
    if (node.shared.valid() && asking_ > before) plan_.nodes[id.value].checks_stop = true;
    if (node.op == Op::kKernel) return kKernelWork;
    if (node.op == Op::kCopy) return static_cast<double>(node.imm) / 64;
    const bool is_for = node.op == Op::kFor || node.op == Op::kForEach;
    if (!is_for && node.op != Op::kWhile) return work + 1;
    const std::optional<double> turns = turns_of(plan_, node);
    if (turns && *turns * work <= kUncheckedWork) return *turns * work;
    plan_.nodes[id.value].checks_stop = true;
    ++asking_;
    return work;
  }

  Plan& plan_;
  int asking_ = 0;  // loops that ask
};

// A bound of a part stands for that of the whole.
const Node& bound_of(const Plan& plan, NodeId id) {
  const Node& node = plan.at(id);
  return node.op == Op::kParameter && node.arg_count == 1 ? plan.at(plan.args_of(node)[0]) : node;
}

}  // namespace

std::optional<double> turns_of(const Plan& plan, const Node& loop) {
  if (loop.op == Op::kWhile)
    return loop.imm > 0 ? std::optional(static_cast<double>(loop.imm)) : std::nullopt;
  if (loop.op == Op::kParts) return 1;
  const auto args = plan.args_of(loop);
  const Node &from = bound_of(plan, args[0]), &to = bound_of(plan, args[1]);
  if (from.op != Op::kConstant || to.op != Op::kConstant) return std::nullopt;
  return static_cast<double>((to.imm - from.imm + loop.imm - 1) / loop.imm);
}

PlanCost cost_of(const Plan& plan) { return Costs(plan).of(plan.entry); }

void mark_stops(Plan& plan) { (void)Stops(plan).of(plan.entry); }

int64_t live_bytes(const Plan& plan) {
  std::map<int64_t, int64_t> changes;  // by step
  for (const BufferInfo& buffer : plan.buffers) {
    if (buffer.kind != BufferInfo::Kind::kArena || buffer.born < 0) continue;
    changes[buffer.born] += buffer.bytes;
    changes[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace heddle::cpu
