// Elementwise ops: the lanes are one dimension more.
#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {

namespace {

// A scalar that may stand beside arrays and that all lanes share: it stays one.
bool stays_scalar(const BatchArgs& b, size_t i) {
  if (b.rank(i) != 0 || b.is_batched(i)) return false;
  if (b.of.opcode == Opcode::kSelect) return i == 0;
  if (b.of.opcode == Opcode::kClamp) return i != 1 && !b.is_batched(2 - i);  // both bounds
  return false;
}

}  // namespace

// A scalar beside arrays (the predicate of select, the bounds of clamp) stands at all elements of
// its lane.
StatusOr<Values> batch_elementwise(const BatchArgs& b) {
  const Dims sizes = with_lanes(b.of.shape, b.size).dimensions();
  Values operands;
  for (size_t i = 0; i < b.x.size(); ++i) {
    if (stays_scalar(b, i))
      operands.push_back(b.x[i]);
    else if (b.rank(i) == 0)
      operands.push_back(broadcast(b.x[i], sizes, b.is_batched(i) ? Dims{0} : Dims{}));
    else
      operands.push_back(b.full(i));
  }
  return b.again(operands);
}

}  // namespace heddle::hlo
