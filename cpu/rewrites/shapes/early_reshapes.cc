#include "heddle/cpu/rewrites/shapes/early_reshapes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/shapes/joined_dimensions.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostShortSum = 16;  // terms of sums that are joined

class ReshapeMover {
 public:
  ReshapeMover(const hlo::Module& from, transform::Rebuilder& to)
      : from_(from),
        to_(to),
        reads_(to.from()),
        ops_(from, to),
        joined_(from, to),
        is_fused_(to.from().instructions.size()),
        is_read_by_one_op_(to.from().instructions.size()) {
    for (const Instruction& user : to.from().instructions) {
      const bool is_op =
          elementwise_kind(user) == Inner::kThrough || user.opcode == Opcode::kReduce;
      if (!is_op) continue;
      for (const InstructionId operand : user.operands) {
        is_fused_[operand.value] = true;
        is_read_by_one_op_[operand.value] =
            reads_.uses(operand) == std::ranges::count(user.operands, operand);
      }
    }
  }

  // Nothing: the instruction stays.
  hlo::Value operator()(InstructionId id) {
    const Opcode opcode = to_.old(id).opcode;
    if (opcode == Opcode::kReshape) return moved(id);
    if (opcode == Opcode::kReduce) {
      const hlo::Value sum = joined_sums(id);
      return sum ? sum : joined_.written(id);
    }
    return has_trait(opcode, hlo::kElementwise) && !is_read_by_one_op_[id.value]
               ? joined_.written(id)
               : hlo::Value();
  }

 private:
  hlo::Value moved(InstructionId id) {
    const Instruction& reshape = to_.old(id);
    const InstructionId from = reshape.operands[0];
    if (!is_fused_[id.value] || reshape.shape.is_dynamic() || reshape.shape.element_count() == 0 ||
        is_degenerate_reshape(to_.old(from).shape, reshape.shape))
      return {};
    std::set<InstructionId> inner = reads_.under(reshape.operands, reshaped_kind);
    if (inner.empty() || inner.size() > kMostInnerOps) return {};
    const auto splits = splits_of(to_.old(from).shape, reshape.shape);
    splits_dimensions_ = splits.has_value();
    undone_ = 0;
    seen_.clear();
    ops_.begin(id, std::move(inner), splits, reshape.shape.dimensions());
    const Splits own = splits.value_or(Splits{});
    if (!may_move(from, own)) return {};
    if (to_.old(from).opcode == Opcode::kReduce && undone_ == 0) return {};
    return ops_.reshaped(from, own);
  }

  // Whether the elements under it lie in memory, or are numbers, or come from such by a broadcast.
  bool may_move(InstructionId id, const Splits& splits) {
    const Instruction& old = to_.old(id);
    if (old.shape.is_scalar() || !seen_.emplace(id, splits).second) return true;
    if (ops_.is_through(id)) {
      const std::optional<Splits> before = ops_.splits_before(old, splits);
      undone_ += before && joins_repeats(to_.from(), old);
      return before && std::ranges::all_of(old.operands, [&](InstructionId operand) {
               return may_move(operand, *before);
             });
    }
    if (is_spread_number(to_.from(), old)) return true;
    if (old.opcode != Opcode::kBroadcast) return is_memory(old);
    const InstructionId from = old.operands[0];
    return splits_dimensions_ &&
           (!ops_.is_through(from) || may_move(from, splits_under(old, splits)));
  }

  // A short sum of a short sum that a reshape moved past.
  hlo::Value joined_sums(InstructionId id) {
    const Instruction& outer = to_.old(id);
    const InstructionId read = to_.value(outer.operands[0]).id();
    if (!ops_.is_reshaped_sum(read) || !outer.shape.is_array() || !is_sum(from_, to_.from(), outer))
      return {};
    const Instruction inner = to_.at(read);
    const Shape& from = to_.at(inner.operands[0]).shape;
    if (outer.shape.element_count() * kMostShortSum < from.element_count()) return {};
    Dims dims = dimensions_of(inner);
    const Dims kept = other_dimensions(from.rank(), dims);
    for (const int64_t d : dimensions_of(outer)) dims.push_back(kept[static_cast<size_t>(d)]);
    std::ranges::sort(dims);
    Instruction now = to_.mapped(id);
    now.operands[0] = inner.operands[0];
    now.attrs = hlo::DimensionsAttrs{dims};
    return to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  }

  const hlo::Module& from_;
  transform::Rebuilder& to_;
  InnerOps reads_;
  ReshapedOps ops_;
  JoinedDimensions joined_;
  std::vector<bool> is_fused_;  // a loop may compute what reads it
  std::vector<bool> is_read_by_one_op_;
  // Of the reshape that moves now.
  bool splits_dimensions_ = false;
  int64_t undone_ = 0;  // repeats
  std::set<std::pair<InstructionId, Splits>> seen_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> reshape_early(const hlo::Module& module) {
  return rewritten_if_any(
      module, [&](transform::Rebuilder& to, ComputationId) { return ReshapeMover(module, to); });
}

}  // namespace heddle::cpu
