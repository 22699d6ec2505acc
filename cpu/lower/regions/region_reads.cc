// What steps read: where, in which order, and which parts of arrays that others write.
#include <algorithm>
#include <set>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostRowParts = 2;         // joined arrays of which a row is
constexpr int64_t kMostBoxes = 27;          // that joined arrays cut a step's array into
constexpr int64_t kLeastRow = 16;           // elements: several rows of such arrays share a vector
constexpr int64_t kManyOfShortRows = 2048;  // elements: a smaller joined array is stored
constexpr int kMostPartsOfParts = 2;        // a slice of the array, and a reshape of that
constexpr int64_t kSmallTarget = 1024;      // bytes of an array whose copy costs next to nothing

// A scatter writes where the gather reads.
bool has_indices_of(const Instruction& gather, const Instruction& step) {
  return step.opcode == Opcode::kScatter && step.operands.size() == 3 &&
         step.operands[1] == gather.operands[1];
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

bool is_cut(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kPad) return instruction.opcode == Opcode::kConcatenate;
  return std::ranges::all_of(instruction.attrs.get<hlo::PadAttrs>().padding,
                             [](const hlo::PadDimension& d) { return d.interior == 0; });
}

bool joins_rows(const Instruction& instruction) {
  return dimensions_of(instruction)[0] + 1 < instruction.shape.rank() &&
         instruction.shape.dimensions().back() >= kLeastRow &&
         instruction.operands.size() <= kMostRowParts;
}

// A step that reads joined or padded arrays is written box by box. In each box it reads one of
// them, or the padding; of joined rows it finds for each row which one, and of the padding before
// and behind rows whether it is one.
bool Region::cuts(InstructionId step, InstructionId read) {
  if (!step.valid() || !is_scalar_op(*computation_, computation_->at(step))) return false;
  const Instruction& cut = computation_->at(read);
  const int64_t last = cut.shape.rank() - 1;
  const bool is_pad = cut.opcode == Opcode::kPad;
  const bool has_long_parts = !is_pad && cut.shape.element_count() >= kManyOfShortRows &&
                              cut.shape.dimension(last) >= kLeastRow / 2;
  int64_t row = 1;  // elements of a part that lie side by side
  for (int64_t d = has_long_parts ? dimensions_of(cut)[0] : last; d <= last; ++d)
    row *= cut.shape.dimension(d);
  if (row < kLeastRow) return false;
  Cuts all = cuts_.contains(step) ? cuts_[step] : Cuts(cut.shape.dimensions().size(), {0});
  const auto add = [&](int64_t d, int64_t start) {
    if (start > 0 && start < cut.shape.dimension(d)) all[static_cast<size_t>(d)].insert(start);
  };
  if (is_pad) {
    const int64_t low = cut.attrs.get<hlo::PadAttrs>().padding.back().low;
    add(last, low);
    add(last, low + computation_->at(cut.operands[0]).shape.dimension(last));
  } else if (!joins_rows(cut)) {
    const int64_t along = dimensions_of(cut)[0];
    int64_t end = 0;
    for (InstructionId part : cut.operands) {
      add(along, end);
      end += computation_->at(part).shape.dimension(along);
    }
  }
  int64_t boxes = 1;
  for (const std::set<int64_t>& starts : all) boxes *= static_cast<int64_t>(starts.size());
  if (boxes > kMostBoxes) return false;
  cuts_[step] = std::move(all);
  return true;
}

// A part of a carried array, which the step replaces element by element: it may do so in place once
// the part has a place of its own.
bool Region::is_part_of_target(InstructionId part, InstructionId step) const {
  const Instruction& slice = computation_->at(part);
  if (slice.opcode != Opcode::kDynamicSlice && slice.opcode != Opcode::kSlice) return false;
  const Shape& whole = computation_->at(slice.operands[0]).shape;
  return step.valid() && std::ranges::count(parameters_, leaf(slice.operands[0])) > 0 &&
         computation_->at(step).shape == whole && whole.byte_size() > kSmallTarget &&
         slice.shape.element_count() * kManyReads <= whole.element_count();
}

// Elements of an array that one step overwrites and another one needs, which cannot come first: the
// first may work in place once they have a place of their own.
bool Region::is_part_of_overwritten(InstructionId part, std::span<const InstructionId> home) const {
  const Instruction& own = computation_->at(part);
  const Instruction& taken =
      own.opcode == Opcode::kReshape ? computation_->at(own.operands[0]) : own;
  const bool is_slice = taken.opcode == Opcode::kDynamicSlice || taken.opcode == Opcode::kSlice;
  if (taken.opcode != Opcode::kGather && !is_slice) return false;
  InstructionId from = taken.operands[0];
  while (computation_->at(from).opcode == Opcode::kReshape)
    from = computation_->at(from).operands[0];
  const Shape& whole = computation_->at(from).shape;
  if (whole.byte_size() <= kSmallTarget ||
      taken.shape.element_count() * kManyReads > whole.element_count())
    return false;
  const auto overwrites = [&](const Use& use) {
    return use.operand < static_cast<int>(updated_operands(computation_->at(use.user)));
  };
  // What a gather takes is stored unless the one that overwrites takes it from where it writes; a
  // slice only where a step needs it that cannot come first.
  for (const Use& use : uses_[leaf(from).value]) {
    if (!overwrites(use)) continue;
    const auto comes_later = [&](const Use& read) {
      const InstructionId step = home[read.user.value];
      if (step == use.user) return !is_slice && !has_indices_of(taken, computation_->at(step));
      return !is_slice || updates(step, use.user) || overwrites_for(step, use.user, home);
    };
    const std::vector<Use>& reads = uses_[leaf(part).value];
    if (is_slice ? std::ranges::any_of(reads, comes_later)
                 : std::ranges::all_of(reads, comes_later))
      return true;
  }
  return false;
}

// The step overwrites an array of which `other` computes something that it reads.
bool Region::overwrites_for(InstructionId step, InstructionId other,
                            std::span<const InstructionId> home) const {
  return step.valid() && updated_operands(computation_->at(step)) == 1 &&
         is_read_in(other, computation_->at(step).operands[0], home, kMostPartsOfParts);
}

// What reads `id`, or a part of it, is computed in the step; parts of parts up to so many levels.
bool Region::is_read_in(InstructionId step, InstructionId id, std::span<const InstructionId> home,
                        int levels) const {
  return std::ranges::any_of(uses_[leaf(id).value], [&](const Use& use) {
    if (use.user == step) return false;
    if (home[use.user.value] == step) return true;
    const Opcode opcode = computation_->at(use.user).opcode;
    return levels > 0 &&
           (opcode == Opcode::kReshape || opcode == Opcode::kSlice ||
            opcode == Opcode::kDynamicSlice) &&
           is_read_in(step, use.user, home, levels - 1);
  });
}

// The step updates what `before` gives, or an update of it.
bool Region::updates(InstructionId step, InstructionId before) const {
  while (step.valid() && step != before && updated_operands(computation_->at(step)) == 1)
    step = computation_->at(step).operands[0];
  return step == before;
}

}  // namespace heddle::cpu
