#include "heddle/cpu/rewrites/indexing/picks.h"

namespace heddle::cpu {

namespace {
// Elements of an array for one that is picked. What slices pick is known, and costs no comparison.
constexpr int64_t kLeastOfAll = 8, kLeastOfSlices = 2;
constexpr int64_t kLongArray = 512;  // elements: shorter ones may stand in registers
}  // namespace

int64_t picked_elements(const Instruction& op) {
  const bool picks = op.opcode == Opcode::kGather || op.opcode == Opcode::kDynamicSlice ||
                     op.opcode == Opcode::kSlice;
  return picks && !op.shape.is_dynamic() ? op.shape.element_count() : 0;
}

bool holds(DType dtype, int64_t number) {
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || number < (int64_t{1} << bits);
}

Picks::Picks(const Computation& in) : of_(in.instructions.size()) {
  of_[in.root.value].elements = -1;
  for (const Instruction& reader : in.instructions) {
    for (size_t k = 0; k < reader.operands.size(); ++k) {
      OfArray& of = of_[reader.operands[k].value];
      const int64_t own = k == 0 ? picked_elements(reader) : 0;
      of.elements = own == 0 || of.elements < 0 ? -1 : of.elements + own;
      of.are_slices &= reader.opcode == Opcode::kSlice;
      ++of.readers;
    }
  }
}

bool Picks::are_few(const Computation& in, InstructionId array) const {
  const OfArray& of = of_[array.value];
  const Shape& shape = in.at(array).shape;
  const bool may_be_half = of.are_slices && shape.element_count() >= kLongArray;
  return of.elements > 0 && !shape.is_dynamic() &&
         of.elements * (may_be_half ? kLeastOfSlices : kLeastOfAll) <= shape.element_count();
}

}  // namespace heddle::cpu
