// Complex arrays in memory, real and imaginary parts in turn: what reads a part, and what writes
// both.
#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

bool is_complex_view(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kBitcast && instruction.opcode != Opcode::kBitcastConvert)
    return false;
  const Shape &from = computation.at(instruction.operands[0]).shape, &to = instruction.shape;
  if (instruction.opcode == Opcode::kBitcastConvert) return is_complex(from.dtype());
  const auto is_plain = [](const Shape& shape) {
    return !shape.is_scalar() && !shape.is_dynamic() && !shape.has_layout();
  };
  return is_complex(from.dtype()) != is_complex(to.dtype()) && is_plain(from) && is_plain(to);
}

bool is_part(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReal && instruction.opcode != Opcode::kImag) return false;
  const Shape& from = computation.at(instruction.operands[0]).shape;
  return is_complex(from.dtype()) && !from.is_dynamic();
}

// Neighbours are loaded as whole vectors, of which every other lane is wanted.
NodeId RegionLowering::part_element(const Instruction& part, const Place& place) {
  const BufferId from = values_[region_.leaf(part.operands[0]).value].buffer;
  const Scalar scalar = scalar_type(part.shape);
  const auto [first, step] = element_offset(part.shape, place);
  const NodeId base = b().mul(first, 2);
  const int64_t imag = part.opcode == Opcode::kImag ? 1 : 0;
  if (b().type(base).lanes > 1 || (step != 1 && step != 0 && place.lanes > 1))
    return b().gather(from, scalar, b().add(lane_value({base, 2 * step}, place.lanes), imag));
  if (step == 0 || place.lanes == 1) return b().load(from, {scalar, 1}, b().add(base, imag));
  const Type wide = {scalar, place.lanes};
  const NodeId both[] = {b().load(from, wide, base),
                         b().load(from, wide, b().add(base, place.lanes))};
  std::vector<LaneSource> lanes;
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(place.lanes); ++lane) {
    const uint32_t at = 2 * lane + static_cast<uint32_t>(imag);
    lanes.push_back(
        {at / static_cast<uint32_t>(place.lanes), at % static_cast<uint32_t>(place.lanes)});
  }
  return b().shuffle(both, std::move(lanes));
}

void RegionLowering::emit_complex(InstructionId id, BufferId to) {
  const Instruction& complex = at(id);
  const Shape part = complex.shape.with_dtype(real_part(complex.shape.dtype()));
  for_each_place(complex.shape.dimensions(), scalar_type(part), [&](const Place& place) {
    Memo memo;
    NodeId parts[2];
    for (size_t i = 0; i < 2; ++i)
      parts[i] = b().splat(operand_element(complex.operands[i], place, memo), place.lanes);
    const NodeId base = b().mul(element_offset(part, place).first, 2);
    if (place.lanes == 1) {
      b().store(to, base, parts[0]);
      b().store(to, b().add(base, 1), parts[1]);
      return;
    }
    store_in_turn(b(), to, base, parts);
  });
}

}  // namespace heddle::cpu
