#include "heddle/cpu/lower/control/counted_loop.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

const Instruction& producer(const Region& region, LeafId leaf) {
  return region.computation().at(region.leaves()[leaf.value].producer);
}

std::optional<int64_t> integer_constant(const Region& region, LeafId leaf) {
  const Instruction& instruction = producer(region, leaf);
  if (instruction.opcode != Opcode::kConstant || !instruction.shape.is_scalar() ||
      !is_integer(instruction.shape.dtype()))
    return std::nullopt;
  return instruction.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0);
}

LeafId operand(const Region& region, const Instruction& instruction, size_t i) {
  return region.leaf(instruction.operands[i]);
}

// That an integer of the type, and of s32, holds.
int64_t greatest(DType dtype) {
  const int64_t bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return (int64_t{1} << std::min<int64_t>(bits, 31)) - 1;
}

// What is chosen where numpy's negative indices need a choice: x of select(x < 0, x + n, x).
LeafId without_wrap(const Region& body, LeafId leaf) {
  const Instruction& select = producer(body, leaf);
  if (select.opcode != Opcode::kSelect) return leaf;
  const LeafId chosen = operand(body, select, 2);
  const Instruction& test = producer(body, operand(body, select, 0));
  const bool wraps =
      test.opcode == Opcode::kCompare &&
      test.attrs.get<hlo::CompareAttrs>().direction == hlo::ComparisonDirection::kLt &&
      operand(body, test, 0) == chosen && integer_constant(body, operand(body, test, 1)) == 0;
  return wraps ? chosen : leaf;
}

// The leaf is the counter as it enters the turn.
bool is_counter(const Region& body, LeafId leaf, LeafId counter) {
  return without_wrap(body, leaf) == counter;
}

// n - 1 - i, also as (n - i) - 1.
bool is_reversed(const Region& body, LeafId leaf, LeafId counter, int64_t turns) {
  const Instruction* difference = &producer(body, without_wrap(body, leaf));
  if (difference->opcode != Opcode::kSubtract) return false;
  const LeafId first = operand(body, *difference, 0), second = operand(body, *difference, 1);
  if (is_counter(body, second, counter)) return integer_constant(body, first) == turns - 1;
  const Instruction& inner = producer(body, first);
  return integer_constant(body, second) == 1 && inner.opcode == Opcode::kSubtract &&
         integer_constant(body, operand(body, inner, 0)) == turns &&
         is_counter(body, operand(body, inner, 1), counter);
}

}  // namespace

std::optional<CountedLoop> counted_loop(const Region& outer, const Instruction& loop,
                                        const Region& condition, const Region& body) {
  if (condition.has_effects()) return std::nullopt;  // which are one more than there are turns
  const Instruction& test = producer(condition, condition.results()[0]);
  if (test.opcode != Opcode::kCompare ||
      test.attrs.get<hlo::CompareAttrs>().direction != hlo::ComparisonDirection::kLt)
    return std::nullopt;
  const auto& parameters = condition.parameters();
  const auto found = std::ranges::find(parameters, operand(condition, test, 0));
  const auto turns = integer_constant(condition, operand(condition, test, 1));
  if (found == parameters.end() || !turns || *turns <= 0) return std::nullopt;
  const auto counter = static_cast<size_t>(found - parameters.begin());
  const std::optional<int64_t> step = step_of(body, counter);
  if (!step || *step < 1) return std::nullopt;
  const LeafId initial = outer.leaves_of(loop.operands[0])[counter];
  if (integer_constant(outer, initial) != 0) return std::nullopt;
  // A step of more than 1 may go beyond the limit, and must not go beyond the type.
  const DType dtype = body.leaves()[body.parameters()[counter].value].shape->dtype();
  if (*step > 1 && (*turns > greatest(dtype) || *step > greatest(dtype) - *turns))
    return std::nullopt;
  return CountedLoop{counter, (*turns + *step - 1) / *step, *step};
}

std::optional<int64_t> step_of(const Region& body, size_t carry) {
  const LeafId before = body.parameters()[carry];
  int64_t step = 0;
  for (LeafId leaf = body.results()[carry]; leaf != before;) {
    const Instruction& next = producer(body, leaf);
    if (next.opcode != Opcode::kAdd) return std::nullopt;
    const auto more = integer_constant(body, operand(body, next, 1));
    if (!more || __builtin_add_overflow(step, *more, &step)) return std::nullopt;
    leaf = operand(body, next, 0);
  }
  return step;
}

bool writes_all_rows(const CountedLoop& loop, const Region& condition, const Region& body,
                     size_t carry) {
  const LeafId array = body.parameters()[carry];
  const Shape& shape = *body.leaves()[array.value].shape;
  const Instruction& update = producer(body, body.results()[carry]);
  if (update.opcode != Opcode::kDynamicUpdateSlice || operand(body, update, 0) != array)
    return false;
  // What reads the updated array sees rows that are still the old ones.
  if (loop.step != 1 || body.read_count(array) != 1 ||
      body.read_count(body.results()[carry]) != 1 ||
      condition.read_count(condition.parameters()[carry]) != 0)
    return false;
  const Shape& part = body.computation().at(update.operands[1]).shape;
  if (shape.rank() < 1 || shape.dimension(0) != loop.turns || part.dimension(0) != 1) return false;
  for (int64_t d = 1; d < shape.rank(); ++d) {
    if (part.dimension(d) != shape.dimension(d)) return false;
  }
  // The part may be computed from the old rows.
  if (body.is_lazy(body.leaf(update.operands[1])) &&
      body.reaches(body.leaf(update.operands[1]), array))
    return false;
  return row_at(loop, body, body.leaf(update.operands[2])) != Row::kUnknown;
}

Row row_at(const CountedLoop& loop, const Region& body, LeafId start) {
  const LeafId counter = body.parameters()[loop.counter];
  if (is_counter(body, start, counter)) return Row::kOfTurn;
  return is_reversed(body, start, counter, loop.turns) ? Row::kFromEnd : Row::kUnknown;
}

}  // namespace heddle::cpu
