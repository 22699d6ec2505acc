#include "heddle/transform/derivatives/internal/invariant_tangents.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

using hlo::Work;

// Of a result that is greater than the tangents that it is made of.
constexpr int64_t kMostLifted = int64_t{4} << 20;

// Whether the way back of a step that reads few elements of the result touches these alone
// (cotangent.h).
bool only_moves(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kConcatenate:
    case Opcode::kPad: return false;
    case Opcode::kSlice:
      return std::ranges::all_of(instruction.attrs.get<hlo::SliceAttrs>().slice,
                                 [](const hlo::SliceDimension& d) { return d.stride == 1; });
    default: return hlo::facts(instruction.opcode).work == Work::kNone;
  }
}

class Lifting {
 public:
  Lifting(const Computation& step, const Effects& effects, const StepValues& values)
      : step_(step), values_(values), of_(step.instructions.size()) {
    for (size_t i = 0; i < of_.size(); ++i) {
      const Instruction& instruction = step.instructions[i];
      if (!values.is_linear[i]) continue;
      if (instruction.opcode == Opcode::kParameter)
        of_[i] = {values.is_same[i], false, instruction.shape.byte_size()};
      else if (!effects.of(instruction))
        of_[i] = made_of_operands(instruction);
    }
  }

  std::vector<InstructionId> run(std::span<const InstructionId> linear_results) const {
    std::vector<bool> needed(of_.size());
    for (InstructionId id : linear_results) needed[id.value] = values_.is_linear[id.value];
    std::vector<InstructionId> out;
    for (size_t i = needed.size(); i-- > 0;) {
      if (!needed[i]) continue;
      if (of_[i].is_same && of_[i].is_work) {
        out.emplace_back(i);
        continue;
      }
      for (InstructionId id : step_.instructions[i].operands)
        needed[id.value] = needed[id.value] || values_.is_linear[id.value];
    }
    std::ranges::reverse(out);
    return out;
  }

 private:
  struct Tangent {
    bool is_same = false;
    bool is_work = false;
    int64_t bytes = 0;  // of the greatest tangent that it is made of
  };

  [[nodiscard]] Tangent made_of_operands(const Instruction& instruction) const {
    const Work work = hlo::facts(instruction.opcode).work;
    const Shape& shape = instruction.shape;
    if (work == Work::kStays || !shape.is_array()) return {};
    Tangent out{true, !only_moves(instruction)};
    for (InstructionId id : instruction.operands) {
      const Tangent& operand = of_[id.value];
      if (!(values_.is_linear[id.value] ? operand.is_same : values_.is_same[id.value])) return {};
      if (!values_.is_linear[id.value]) continue;
      // A sum of narrower numbers would lose digits.
      if (bit_width(shape.dtype()) < bit_width(step_.at(id).shape.dtype())) return {};
      out.is_work = out.is_work || operand.is_work;
      out.bytes = std::max(out.bytes, operand.bytes);
    }
    const bool is_small = work >= Work::kMuch && shape.byte_size() <= kMostLifted;
    out.is_same = shape.byte_size() <= out.bytes || is_small;
    return out;
  }

  const Computation& step_;
  const StepValues& values_;
  std::vector<Tangent> of_;  // by instruction
};

}  // namespace

std::vector<InstructionId> tangents_to_lift(const Computation& step, const Effects& effects,
                                            const StepValues& values,
                                            std::span<const InstructionId> linear_results) {
  return Lifting(step, effects, values).run(linear_results);
}

}  // namespace heddle::transform
