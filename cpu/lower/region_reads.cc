// What steps read.
#include <algorithm>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

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
