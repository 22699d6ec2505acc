// What steps read, and what they overwrite.
#include <algorithm>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

bool has_arrays_alone(const Shape& tuple) {
  return std::ranges::all_of(tuple.elements(), [](const Shape& each) { return each.is_array(); });
}

// The parameter of a branch, by leaf, that its result of this number updates; -1: none.
int64_t updated_parameter_of(const hlo::Computation& branch, size_t result) {
  const Instruction* at = &branch.root_instruction();
  if (at->opcode == Opcode::kTuple) {
    if (!has_arrays_alone(at->shape)) return -1;
    at = &branch.at(at->operands[result]);
  } else if (result > 0) {
    return -1;
  }
  while (updated_operands(*at) == 1) at = &branch.at(at->operands[0]);
  if (!at->shape.is_array()) return -1;
  if (at->opcode == Opcode::kParameter) return 0;
  if (at->opcode != Opcode::kGetTupleElement) return -1;
  const Instruction& tuple = branch.at(at->operands[0]);
  if (tuple.opcode != Opcode::kParameter || !has_arrays_alone(tuple.shape)) return -1;
  return at->attrs.get<hlo::TupleIndexAttrs>().index;
}

}  // namespace

bool Region::reaches(LeafId lazy, LeafId leaf) const {
  std::vector<LeafId> queue = {lazy};
  std::vector<bool> seen(leaves_.size());
  while (!queue.empty()) {
    const LeafId next = queue.back();
    queue.pop_back();
    if (next == leaf) return true;
    if (seen[next.value] || !is_lazy(next)) continue;
    seen[next.value] = true;
    for (InstructionId operand : computation_->at(leaves_[next.value].producer).operands)
      queue.insert(queue.end(), leaves_of(operand).begin(), leaves_of(operand).end());
  }
  return false;
}

LeafId Region::updated_by(LeafId leaf) const {
  const InstructionId step = leaves_[leaf.value].producer;
  const Instruction& update = computation_->at(step);
  const size_t number = leaf.value - this->leaf(step).value;
  LeafId old;
  if (number < updated_operands(update)) {
    old = this->leaf(update.operands[number]);
  } else if (update.opcode == Opcode::kWhile) {
    old = leaves_of(update.operands[0])[number];
    if (std::ranges::count(leaves_of(update.operands[0]), old) > 1) return {};
  } else if (update.opcode == Opcode::kConditional) {
    for (size_t k = 0; k < update.called.size(); ++k) {
      const int64_t parameter = updated_parameter_of(module_->at(update.called[k]), number);
      if (parameter < 0) return {};
      const LeafId own = leaves_of(update.operands[k + 1])[static_cast<size_t>(parameter)];
      if (k > 0 && own != old) return {};
      old = own;
    }
  }
  if (!old.valid() || is_lazy(old) || is_result_[old.value]) return {};
  if (computation_->at(leaves_[old.value].producer).opcode == Opcode::kParameter) return {};
  const bool is_read_later = std::ranges::any_of(
      readers_[old.value], [&](InstructionId reader) { return reader.value > step.value; });
  return is_read_later ? LeafId() : old;
}

// Through elementwise ops alone, and nowhere else.
bool Region::reads_in_place(InstructionId step, LeafId leaf) const {
  if (!is_scalar_op(*computation_, computation_->at(step))) return false;
  std::vector<InstructionId> queue = {step};
  std::vector<bool> seen(static_cast<size_t>(computation_->size()));
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    for (InstructionId operand : computation_->at(next).operands) {
      const LeafId read = this->leaf(operand);
      if (!is_lazy(read) || seen[operand.value]) continue;
      seen[operand.value] = true;
      const InstructionId producer = leaves_[read.value].producer;
      if (is_scalar_op(*computation_, computation_->at(producer))) {
        queue.push_back(producer);
      } else if (reaches(read, leaf)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace heddle::cpu
