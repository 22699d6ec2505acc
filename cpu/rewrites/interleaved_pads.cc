#include "heddle/cpu/rewrites/interleaved_pads.h"

#include <optional>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::PadDimension;

// 0, and not -0.
bool is_zero(const hlo::Computation& computation, InstructionId id) {
  const Instruction& value = computation.at(id);
  if (value.opcode != Opcode::kConstant || !value.shape.is_scalar()) return false;
  return value.attrs.get<hlo::ConstantAttrs>().literal == Literal(value.shape);
}

// The dimension along which every second element is a zero, the first one if `is_odd`. No other
// dimension is padded.
std::optional<int64_t> spread_dimension(const hlo::Computation& computation, InstructionId id,
                                        bool is_odd) {
  const Instruction& pad = computation.at(id);
  if (pad.opcode != Opcode::kPad || !is_zero(computation, pad.operands[1])) return std::nullopt;
  const Shape& rows = computation.at(pad.operands[0]).shape;
  const auto& padding = pad.attrs.get<hlo::PadAttrs>().padding;
  std::optional<int64_t> found;
  for (size_t d = 0; d < padding.size(); ++d) {
    const PadDimension& p = padding[d];
    if (p == PadDimension{}) continue;
    if (found || p.low != (is_odd ? 1 : 0) || p.interior != 1 || p.high < 0 || p.high > 1 ||
        rows.dimension(static_cast<int64_t>(d)) == 0)
      return std::nullopt;
    found = static_cast<int64_t>(d);
  }
  return found;
}

// The elements of both by turns; of `even` there may be one more.
hlo::Value by_turns(const hlo::Value& even, const hlo::Value& odd, int64_t along) {
  const int64_t turns = odd.size(along);
  const hlo::Value pairs = hlo::concatenate(
      {add_dimension(slice(even, along, 0, turns), along + 1), add_dimension(odd, along + 1)},
      along + 1);
  hlo::Dims sizes = odd.shape().dimensions();
  sizes[static_cast<size_t>(along)] *= 2;
  const hlo::Value both = reshape(pairs, sizes);
  return even.size(along) == turns ? both
                                   : hlo::concatenate({both, slice(even, along, turns, 1)}, along);
}

hlo::Value joined(transform::Rebuilder& to, InstructionId id) {
  const Instruction& sum = to.old(id);
  if (sum.opcode != Opcode::kAdd || sum.shape.is_dynamic()) return {};
  for (const bool is_turned : {false, true}) {
    const InstructionId even = sum.operands[is_turned ? 1 : 0];
    const InstructionId odd = sum.operands[is_turned ? 0 : 1];
    const auto along = spread_dimension(to.from(), even, /*is_odd=*/false);
    if (!along || spread_dimension(to.from(), odd, /*is_odd=*/true) != along) continue;
    to.in_place_of(id);
    const auto elements = [&](InstructionId pad) {
      const hlo::Value x = to.operands(pad)[0];
      return is_integer(x.dtype()) ? x : x + x.number(0);  // -0 + 0 is 0
    };
    return by_turns(elements(even), elements(odd), *along);
  }
  return {};
}

}  // namespace

StatusOr<hlo::Module> join_interleaved_pads(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return joined(to, id); });
}

}  // namespace heddle::cpu
