// Elementwise ops: the lanes are one dimension more.
#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {

// A scalar beside arrays (the predicate of select, the bounds of clamp) stays one where all lanes
// share it; else each lane has its own, at all its elements.
StatusOr<Values> batch_elementwise(const BatchArgs& b) {
  const Shape result = with_lanes(b.of.shape, b.size);
  Values operands;
  for (size_t i = 0; i < b.x.size(); ++i) {
    const bool is_scalar = b.rank(i) == 0 && b.x.size() == 3;
    if (is_scalar && !b.is_batched(i) && b.of.opcode == Opcode::kClamp && i != 1) {
      operands.push_back(b.x[i].x);
    } else if (is_scalar && !b.is_batched(i) && b.of.opcode == Opcode::kSelect && i == 0) {
      operands.push_back(b.x[i].x);
    } else if (is_scalar && b.is_batched(i) && result.rank() > 1) {
      operands.push_back(broadcast(b.x[i].x, result.dimensions(), {0}));
    } else {
      operands.push_back(b.full(i));
    }
  }
  return b.again(operands);
}

}  // namespace heddle::hlo
