#include "heddle/cpu/rewrites/shapes/reshaped_ops.h"

#include <algorithm>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {

Inner elementwise_kind(const Instruction& instruction) {
  return has_trait(instruction.opcode, hlo::kElementwise) ? reshaped_kind(instruction)
                                                          : Inner::kNot;
}

Inner reshaped_kind(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (!shape.is_array() || shape.is_dynamic() || shape.is_scalar()) return Inner::kNot;
  const bool folds = instruction.opcode == Opcode::kReduce && instruction.operands.size() == 2;
  return folds || instruction.opcode == Opcode::kReshape ||
                 has_trait(instruction.opcode, hlo::kElementwise)
             ? Inner::kThrough
             : Inner::kNot;
}

bool is_spread_number(const Computation& computation, const Instruction& instruction) {
  return instruction.opcode == Opcode::kBroadcast &&
         computation.at(instruction.operands[0]).shape.is_scalar();
}

bool is_memory(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  return opcode == Opcode::kReshape || (!hlo::does(opcode, hlo::kPicks) && opcode != Opcode::kPad &&
                                        opcode != Opcode::kConcatenate && opcode != Opcode::kIota);
}

bool is_sum(const hlo::Module& module, const Computation& computation,
            const Instruction& instruction) {
  return instruction.opcode == Opcode::kReduce && instruction.operands.size() == 2 &&
         fold_of(module.at(instruction.called[0])) == Op::kAdd &&
         is_zero(computation.at(instruction.operands[1]));
}

Splits splits_under(const Instruction& broadcast, const Splits& splits) {
  Splits own;
  for (const int64_t d : dimensions_of(broadcast)) own.push_back(splits[static_cast<size_t>(d)]);
  return own;
}

void ReshapedOps::begin(InstructionId id, std::set<InstructionId> inner,
                        std::optional<Splits> splits, Dims sizes) {
  id_ = id;
  inner_ = std::move(inner);
  splits_ = std::move(splits);
  sizes_ = std::move(sizes);
  written_.clear();
}

bool ReshapedOps::is_through(InstructionId id) const {
  return inner_.contains(id) || joins_repeats(to_.from(), to_.old(id));
}

std::optional<Splits> ReshapedOps::splits_before(const Instruction& old,
                                                 const Splits& splits) const {
  if (old.opcode != Opcode::kReduce && old.opcode != Opcode::kReshape) return splits;
  if (!splits_) return old.opcode == Opcode::kReduce ? std::nullopt : std::optional(splits);
  const Shape& from = to_.old(old.operands[0]).shape;
  if (old.opcode == Opcode::kReshape) {
    if (const auto parts = splits_of(from, old.shape)) return composed(*parts, splits);
    const auto parts = splits_of(old.shape, from);
    return parts ? refined(*parts, splits) : std::nullopt;
  }
  size_t next = 0;
  Splits all;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const bool is_folded = std::ranges::count(dimensions_of(old), d) > 0;  // stays whole
    all.push_back(is_folded ? Dims{from.dimension(d)} : splits[next++]);
  }
  return all;
}

hlo::Value ReshapedOps::reshaped(InstructionId id, const Splits& splits) {
  if (to_.old(id).shape.is_scalar()) return to_.value(id);
  const std::pair key(id, splits);
  const auto found = written_.find(key);
  if (found != written_.end()) return found->second;
  const hlo::Value now = is_through(id) ? reshaped_op(id, splits) : reshaped_leaf(id, splits);
  return written_.emplace(key, now).first->second;
}

hlo::Value ReshapedOps::reshaped_leaf(InstructionId id, const Splits& splits) {
  const Instruction& old = to_.old(id);
  to_.in_place_of(id_);
  if (old.opcode != Opcode::kBroadcast) return reshape(to_.value(id), sizes(splits));
  const InstructionId from = old.operands[0];
  if (is_spread_number(to_.from(), old)) return hlo::broadcast(to_.value(from), sizes(splits), {});
  const Splits own = splits_under(old, splits);
  const hlo::Value x =
      is_through(from) ? reshaped(from, own) : reshape(to_.value(from), sizes_of(own));
  return hlo::broadcast(x, sizes(splits), places_of(splits, dimensions_of(old)));
}

hlo::Value ReshapedOps::reshaped_op(InstructionId id, const Splits& splits) {
  const Instruction& old = to_.old(id);
  const Splits all = *splits_before(old, splits);
  if (old.opcode == Opcode::kReshape) return reshaped(old.operands[0], all);
  Instruction now = to_.mapped(id);
  now.operands.clear();
  if (old.opcode == Opcode::kReduce) {
    now.operands = {reshaped(old.operands[0], all).id(), to_.value(old.operands[1]).id()};
    now.attrs = hlo::DimensionsAttrs{places_of(all, dimensions_of(old))};
  } else {
    for (const InstructionId operand : old.operands)
      now.operands.push_back(reshaped(operand, all).id());
  }
  now.shape = Shape(now.shape.dtype(), sizes(splits));
  const hlo::Value result = to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  if (is_sum(module_, to_.from(), old)) sums_.insert(result.id());
  return result;
}

}  // namespace heddle::cpu
