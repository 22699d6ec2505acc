#include "heddle/cpu/lower/sort_keys.h"

#include <cmath>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::ComparisonDirection;
using hlo::InstructionId;
using hlo::Opcode;

InstructionId SortKeyWriter::everywhere(InstructionId scalar) {
  if (dimensions_.empty()) return scalar;
  return emit_.op(Opcode::kBroadcast, emit_.shape(scalar).with_dimensions(dimensions_), {scalar},
                  hlo::DimensionsAttrs());
}

InstructionId SortKeyWriter::key_of(const interpreter::SortKey& key,
                                    const std::vector<InstructionId>& values) {
  std::map<InstructionId, InstructionId> made;
  const InstructionId x = copied(key.left, values, made);
  const Shape shape = emit_.shape(x);
  if (!is_floating(shape.dtype()) || key.is_total_order) return x;
  const InstructionId zero = everywhere(emit_.scalar(shape.dtype(), 0));
  const InstructionId nan =
      everywhere(emit_.builder().constant(Literal::scalar(shape.dtype(), std::nan(""))));
  const auto where = [&](ComparisonDirection direction, InstructionId y, InstructionId other,
                         InstructionId otherwise) {
    const InstructionId mask =
        emit_.op(Opcode::kCompare, shape.with_dtype(pred), {x, y},
                 hlo::CompareAttrs{.direction = direction, .type = hlo::ComparisonType::kDefault});
    return emit_.op(Opcode::kSelect, shape, {mask, other, otherwise});
  };
  const InstructionId number = where(ComparisonDirection::kEq, zero, zero, x);
  return where(ComparisonDirection::kNe, x, nan, number);
}

InstructionId SortKeyWriter::copied(InstructionId id, const std::vector<InstructionId>& values,
                                    std::map<InstructionId, InstructionId>& made) {
  if (const auto found = made.find(id); found != made.end()) return found->second;
  const hlo::Instruction& from = comparator_.at(id);
  InstructionId now;
  if (from.opcode == Opcode::kParameter) {
    now = values[static_cast<size_t>(from.attrs.get<hlo::ParameterAttrs>().number) / 2];
  } else if (from.operands.empty()) {
    now = everywhere(emit_.op(from.opcode, from.shape, {}, from.attrs));
  } else {
    std::vector<InstructionId> operands;
    for (InstructionId operand : from.operands) operands.push_back(copied(operand, values, made));
    now = emit_.op(from.opcode, from.shape.with_dimensions(dimensions_), std::move(operands),
                   from.attrs);
  }
  return made.emplace(id, now).first->second;
}

}  // namespace heddle::cpu
