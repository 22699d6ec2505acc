#include "heddle/cpu/rewrites/sliced_pads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::Computation;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kMostOps = 64;    // of which a part is taken at once
constexpr int64_t kFewestPads = 2;  // or one of which the part is inside

// A part without holes: where it begins.
std::optional<Dims> part_start(const Instruction& instruction) {
  Dims starts;
  if (instruction.opcode == Opcode::kSlice) {
    for (const hlo::SliceDimension& d : instruction.attrs.get<hlo::SliceAttrs>().slice) {
      if (d.stride != 1) return std::nullopt;
      starts.push_back(d.start);
    }
    return starts;
  }
  if (instruction.opcode != Opcode::kPad || instruction.shape.is_dynamic()) return std::nullopt;
  for (const hlo::PadDimension& d : instruction.attrs.get<hlo::PadAttrs>().padding) {
    if (d.low > 0 || d.high > 0 || d.interior != 0) return std::nullopt;
    starts.push_back(-d.low);
  }
  return starts;
}

bool is_plain_pad(const Instruction& instruction) {
  return instruction.opcode == Opcode::kPad && is_cut(instruction);
}

class PadSlicer {
 public:
  explicit PadSlicer(transform::Rebuilder& to) : to_(to), uses_(to.from().instructions.size()) {
    for (const Instruction& user : to.from().instructions)
      for (const InstructionId operand : user.operands) ++uses_[operand.value];
    ++uses_[to.from().root.value];
  }

  // Nothing: the instruction stays.
  hlo::Value part(InstructionId id) {
    const Instruction& instruction = to_.old(id);
    const std::optional<Dims> starts = part_start(instruction);
    if (!starts || instruction.shape.element_count() == 0) return {};
    int64_t ops = 0, pads = 0;
    bool is_inside = true;
    const auto see = [&](const Instruction& pad) {
      ++pads;
      const auto& padding = pad.attrs.get<hlo::PadAttrs>().padding;
      const Shape& from = to_.old(pad.operands[0]).shape;
      for (size_t d = 0; d < padding.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        const int64_t start = (*starts)[d], end = start + instruction.shape.dimension(dim);
        is_inside &= start >= padding[d].low && end <= padding[d].low + from.dimension(dim);
      }
    };
    count(instruction.operands[0], ops, see);
    if (ops > kMostOps || pads == 0 || (pads < kFewestPads && !is_inside)) return {};
    return sliced(instruction.operands[0], id, *starts);
  }

 private:
  // Counts the ops that nobody else reads, and sees the padded arrays under them.
  template <class See>
  void count(InstructionId id, int64_t& ops, const See& see) const {
    if (is_plain_pad(to_.old(id)) && uses_[id.value] == 1) see(to_.old(id));
    if (!is_inner(id) || ++ops > kMostOps) return;
    for (const InstructionId operand : to_.old(id).operands) count(operand, ops, see);
  }
  [[nodiscard]] bool is_inner(InstructionId id) const {
    const Instruction& instruction = to_.old(id);
    return has_trait(instruction.opcode, hlo::kElementwise) && uses_[id.value] == 1 &&
           instruction.shape.is_array() && !instruction.shape.is_dynamic();
  }

  hlo::Value sliced(InstructionId id, InstructionId part, const Dims& starts) {
    const Instruction& old = to_.old(id);
    if (old.shape.is_scalar()) return to_.value(id);
    const Dims& sizes = to_.old(part).shape.dimensions();
    if (is_plain_pad(old) && uses_[id.value] == 1) {
      const Shape& from = to_.old(old.operands[0]).shape;
      hlo::PadAttrs attrs = old.attrs.get<hlo::PadAttrs>();
      Dims inside;
      bool pads = false;
      for (size_t d = 0; d < starts.size(); ++d) {
        hlo::PadDimension& own = attrs.padding[d];
        own.low -= starts[d];
        own.high = sizes[d] - own.low - from.dimension(static_cast<int64_t>(d));
        inside.push_back(-own.low);
        pads |= own.low > 0 || own.high > 0;
      }
      if (!pads) return slice_at(old.operands[0], part, inside);
      return emit(id, part, {to_.value(old.operands[0]), to_.value(old.operands[1])}, attrs);
    }
    if (is_inner(id)) {
      hlo::Values operands;
      for (const InstructionId operand : old.operands)
        operands.push_back(sliced(operand, part, starts));
      return emit(id, part, operands, old.attrs);
    }
    return slice_at(id, part, starts);
  }

  hlo::Value slice_at(InstructionId id, InstructionId part, const Dims& starts) {
    const Dims& sizes = to_.old(part).shape.dimensions();
    std::vector<hlo::SliceDimension> dims;
    for (size_t d = 0; d < starts.size(); ++d)
      dims.push_back({.start = starts[d], .limit = starts[d] + sizes[d]});
    to_.in_place_of(part);
    return slice(to_.value(id), dims);
  }

  // The instruction, of operands of the part's sizes.
  hlo::Value emit(InstructionId id, InstructionId part, const hlo::Values& operands,
                  hlo::Attrs attrs) {
    Instruction now = to_.mapped(id);
    now.shape = Shape(now.shape.dtype(), to_.old(part).shape.dimensions());
    now.operands.clear();
    for (const hlo::Value& operand : operands) now.operands.push_back(operand.id());
    now.attrs = std::move(attrs);
    return to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  }

  transform::Rebuilder& to_;
  std::vector<int64_t> uses_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> slice_pads(const hlo::Module& module) {
  return rewritten_if_any(module, [](transform::Rebuilder& to, hlo::ComputationId) {
    return [slicer = PadSlicer(to)](InstructionId id) mutable { return slicer.part(id); };
  });
}

}  // namespace heddle::cpu
