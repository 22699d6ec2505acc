// What steps read.
#include <algorithm>
#include <set>
#include <utility>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

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

bool Region::reads_last(InstructionId step, LeafId leaf) const {
  const std::vector<InstructionId>& readers = readers_[leaf.value];
  return std::ssize(readers) == read_count(leaf) &&
         std::ranges::all_of(
             readers, [&](InstructionId other) { return turn_[other.value] <= turn_[step.value]; });
}

// Through elementwise ops alone, and nowhere else; of a part in a frame, where it comes to lie.
bool Region::reads_in_place(InstructionId step, LeafId leaf) const {
  const Instruction& writer = computation_->at(step);
  const auto frame = framed_start(*computation_, writer);
  if (!frame && !is_scalar_op(*computation_, writer)) return false;
  const auto lies_in_frame = [&](const Instruction& slice) {
    return slice.opcode == Opcode::kSlice &&
           std::ranges::equal(slice.attrs.get<hlo::SliceAttrs>().slice, *frame,
                              [](const hlo::SliceDimension& d, int64_t start) {
                                return d.start == start && d.stride == 1;
                              });
  };
  struct Read {
    InstructionId id;
    bool is_part;  // it has the sizes of the part
  };
  std::vector<Read> queue;
  std::set<std::pair<InstructionId, bool>> seen;
  const auto add = [&](InstructionId id, bool is_part) {
    if (seen.emplace(id, is_part).second) queue.push_back({id, is_part});
  };
  const InstructionId part = !frame                          ? InstructionId()
                             : writer.opcode == Opcode::kPad ? writer.operands[0]
                                                             : writer.operands[1];
  for (InstructionId operand : writer.operands) add(operand, operand == part);
  while (!queue.empty()) {
    const auto [id, is_part] = queue.back();
    queue.pop_back();
    const LeafId read = this->leaf(id);
    const Instruction& instruction = computation_->at(id);
    if (!is_lazy(read)) {
      if (is_part && read == leaf) return false;
    } else if (is_scalar_op(*computation_, instruction)) {
      for (InstructionId operand : instruction.operands) add(operand, is_part);
    } else if (is_part && lies_in_frame(instruction)) {
      add(instruction.operands[0], false);
    } else if (reaches(read, leaf)) {
      return false;
    }
  }
  return true;
}

}  // namespace heddle::cpu
