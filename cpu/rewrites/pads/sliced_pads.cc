#include "heddle/cpu/rewrites/pads/sliced_pads.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/inner_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

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

Inner padded_kind(const Instruction& instruction) {
  if (!instruction.shape.is_array() || instruction.shape.is_dynamic()) return Inner::kNot;
  if (is_plain_pad(instruction)) return Inner::kLast;
  return has_trait(instruction.opcode, hlo::kElementwise) ? Inner::kThrough : Inner::kNot;
}

class PadSlicer {
 public:
  explicit PadSlicer(transform::Rebuilder& to) : to_(to), ops_(to.from()) {}

  // Nothing: the instruction stays.
  hlo::Value operator()(InstructionId id) {
    const Instruction& instruction = to_.old(id);
    const std::optional<Dims> starts = part_start(instruction);
    if (!starts || instruction.shape.element_count() == 0) return {};
    inner_ = ops_.under(instruction.operands, padded_kind);
    int64_t pads = 0;
    bool is_inside = true;
    for (const InstructionId inner : inner_) {
      if (to_.old(inner).opcode != Opcode::kPad) continue;
      ++pads;
      const auto& padding = to_.old(inner).attrs.get<hlo::PadAttrs>().padding;
      const Shape& from = to_.old(to_.old(inner).operands[0]).shape;
      for (size_t d = 0; d < padding.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        const int64_t start = (*starts)[d], end = start + instruction.shape.dimension(dim);
        is_inside &= start >= padding[d].low && end <= padding[d].low + from.dimension(dim);
      }
    }
    if (inner_.size() > kMostInnerOps || pads == 0 || (pads < kFewestPads && !is_inside)) return {};
    parts_.clear();
    return sliced(instruction.operands[0], id, *starts);
  }

 private:
  hlo::Value sliced(InstructionId id, InstructionId part, const Dims& starts) {
    if (to_.old(id).shape.is_scalar()) return to_.value(id);
    const auto found = parts_.find(id);
    if (found != parts_.end()) return found->second;
    return parts_.emplace(id, sliced_once(id, part, starts)).first->second;
  }

  hlo::Value sliced_once(InstructionId id, InstructionId part, const Dims& starts) {
    const Instruction& old = to_.old(id);
    if (!inner_.contains(id)) return slice_at(id, part, starts);
    if (old.opcode == Opcode::kPad) return sliced_pad(id, part, starts);
    hlo::Values operands;
    for (const InstructionId operand : old.operands)
      operands.push_back(sliced(operand, part, starts));
    return emit(id, part, operands, old.attrs);
  }

  hlo::Value sliced_pad(InstructionId id, InstructionId part, const Dims& starts) {
    const Instruction& old = to_.old(id);
    const Dims& sizes = to_.old(part).shape.dimensions();
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
  InnerOps ops_;
  std::set<InstructionId> inner_;              // of the part that is taken now
  std::map<InstructionId, hlo::Value> parts_;  // of them and of their operands
};

}  // namespace

StatusOr<std::optional<hlo::Module>> slice_pads(const hlo::Module& module) {
  return rewritten_if_any(module,
                          [](transform::Rebuilder& to, ComputationId) { return PadSlicer(to); });
}

}  // namespace heddle::cpu
