#include "heddle/cpu/rewrites/indexing/picks.h"

namespace heddle::cpu {

namespace {
constexpr int64_t kLeastOfAll = 8;  // elements of an array for one that is picked
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

Picks::Picks(const Computation& in) : elements_(in.instructions.size()) {
  elements_[in.root.value] = -1;
  for (const Instruction& reader : in.instructions) {
    for (size_t k = 0; k < reader.operands.size(); ++k) {
      int64_t& elements = elements_[reader.operands[k].value];
      const int64_t own = k == 0 ? picked_elements(reader) : 0;
      elements = own == 0 || elements < 0 ? -1 : elements + own;
    }
  }
}

bool Picks::are_few(const Computation& in, InstructionId array) const {
  const int64_t elements = elements_[array.value];
  const Shape& shape = in.at(array).shape;
  return elements > 0 && !shape.is_dynamic() && elements * kLeastOfAll <= shape.element_count();
}

}  // namespace heddle::cpu
