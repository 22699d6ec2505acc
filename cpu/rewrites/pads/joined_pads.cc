#include "heddle/cpu/rewrites/pads/joined_pads.h"

#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/shapes/reshaped_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostJoined = 15;  // elements that are one of a row: fewer than a vector

// Its operands lie in memory.
bool reads_memory(Opcode opcode) {
  return opcode == Opcode::kGather || opcode == Opcode::kDynamicSlice ||
         opcode == Opcode::kScatter || opcode == Opcode::kDynamicUpdateSlice ||
         opcode == Opcode::kWhile || opcode == Opcode::kTuple || opcode == Opcode::kSort;
}

// By instruction: something else reads it.
std::vector<bool> read_by_others(const Computation& from) {
  std::vector<bool> are_read(from.instructions.size());
  for (const Instruction& user : from.instructions) {
    for (const InstructionId operand : user.operands)
      are_read[operand.value] = are_read[operand.value] || !reads_memory(user.opcode);
  }
  return are_read;
}

// Nothing: the pad stays.
hlo::Value joined(transform::Rebuilder& to, InstructionId id) {
  const Instruction& pad = to.old(id);
  const Instruction& from = to.old(pad.operands[0]);
  if (pad.shape.is_dynamic() || !is_memory(from) || has_trait(from.opcode, hlo::kElementwise))
    return {};
  std::vector<hlo::PadDimension> padding = pad.attrs.get<hlo::PadAttrs>().padding;
  int64_t joined = 1;
  while (padding.size() > 1 && padding.back() == hlo::PadDimension()) {
    joined *= pad.shape.dimension(static_cast<int64_t>(padding.size()) - 1);
    padding.pop_back();
  }
  hlo::PadDimension& last = padding.back();
  if (joined < 2 || joined > kMostJoined || last == hlo::PadDimension() || last.interior != 0)
    return {};
  Dims sizes(from.shape.dimensions().begin(),
             from.shape.dimensions().begin() + static_cast<std::ptrdiff_t>(padding.size()));
  sizes.back() *= joined;
  last.low *= joined;
  last.high *= joined;
  to.in_place_of(id);
  const hlo::Value rows = reshape(to.value(pad.operands[0]), sizes);
  return reshape(hlo::pad(rows, to.value(pad.operands[1]), padding), pad.shape.dimensions());
}

}  // namespace

StatusOr<std::optional<hlo::Module>> join_padded_rows(const hlo::Module& module) {
  return rewritten_if_any(module, [](transform::Rebuilder& to, ComputationId) {
    return [&to, others = read_by_others(to.from())](InstructionId id) {
      if (to.old(id).opcode != Opcode::kPad || others[id.value]) return hlo::Value();
      return joined(to, id);
    };
  });
}

}  // namespace heddle::cpu
