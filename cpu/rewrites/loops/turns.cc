#include "heddle/cpu/rewrites/loops/turns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

// Of one value for all turns. A program's memory may grow by a few of them.
constexpr int64_t kMostBytesAtOnce = int64_t{16} << 20;

bool has_flat_state(const Instruction& loop) {
  if (loop.opcode != Opcode::kWhile || !loop.shape.is_tuple()) return false;
  return std::ranges::all_of(loop.shape.elements(), [](const Shape& element) {
    return element.is_array() && !element.is_dynamic();
  });
}

}  // namespace

std::optional<Turns> Turns::of(const hlo::Module& module, const Region& around,
                               const Instruction& loop) {
  if (!has_flat_state(loop)) return std::nullopt;
  Turns turns(module, around, loop);
  if (!turns.counts_) return std::nullopt;
  return turns;
}

Turns::Turns(const hlo::Module& module, const Region& around, const Instruction& loop)
    : module_(&module),
      condition_(module, module.at(loop.called[1])),
      body_(module, module.at(loop.called[0])) {
  const std::optional<CountedLoop> counted = counted_loop(around, loop, condition_, body_);
  counts_ = counted && counted->step == 1;
  if (!counts_) return;
  counted_ = *counted;
  is_repeated_ = &around.computation() != &module.entry_computation();
  count_reads();
  find_stacks();
  find_needs();
  find_what_is_for_stacks();
}

std::optional<size_t> Turns::carry_of(LeafId leaf) const {
  const auto found = std::ranges::find(body_.parameters(), leaf);
  if (found == body_.parameters().end()) return std::nullopt;
  return static_cast<size_t>(found - body_.parameters().begin());
}

std::vector<LeafId> Turns::operands(LeafId leaf) const {
  std::vector<LeafId> out;
  if (carry_of(leaf) || is_row(leaf)) return out;
  for (const InstructionId operand : producer(leaf).operands) {
    const auto leaves = body_.leaves_of(operand);
    out.insert(out.end(), leaves.begin(), leaves.end());
  }
  return out;
}

bool Turns::fits(const Shape& shape) const {
  return shape.is_array() && !shape.is_dynamic() && shape.element_count() > 0 &&
         shape.byte_size() <= kMostBytesAtOnce / count();
}

bool Turns::is_batched(const Instruction& instruction) const {
  return fits(instruction.shape) && is_of_one(instruction);
}

// One result that the operands alone tell, in each turn for itself.
bool Turns::is_of_one(const Instruction& instruction) const {
  switch (instruction.opcode) {
    case Opcode::kStochasticConvert: return false;
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
    case Opcode::kPad:
    case Opcode::kBitcastConvert:
    case Opcode::kDot: return true;
    // Of what all turns share; else lanes would have their own arrays.
    case Opcode::kDynamicSlice:
    case Opcode::kGather: return needs(body_.leaf(instruction.operands[0])) == Needs::kNothing;
    case Opcode::kReduce:
      return instruction.shape.is_array() &&
             is_scalar_computation(module_->at(instruction.called[0]));
    default: return has_trait(instruction.opcode, hlo::kElementwise);
  }
}

// A stack of the order of the first one alone, so that all rows have one order.
void Turns::find_stacks() {
  for (size_t carry = 0; carry < body_.parameters().size(); ++carry) {
    if (const std::optional<Stack> sum = sum_in(carry)) {
      stacks_.push_back(*sum);
      continue;
    }
    if (!writes_all_rows(counted_, condition_, body_, carry)) continue;
    const Instruction& update = producer(body_.results()[carry]);
    const Row row = row_at(counted_, body_, body_.leaf(update.operands[2]));
    if (order_ == Row::kUnknown) order_ = row;
    if (row == order_)
      stacks_.push_back({.carry = carry, .part = body_.leaf(update.operands[1]), .sum = {}});
  }
}

// x + part, part + x or x - part of a carried x that nothing else reads.
std::optional<Turns::Stack> Turns::sum_in(size_t carry) const {
  const LeafId before = body_.parameters()[carry], after = body_.results()[carry];
  const Instruction& sum = producer(after);
  if (carry == counted_.counter || (sum.opcode != Opcode::kAdd && sum.opcode != Opcode::kSubtract))
    return std::nullopt;
  const LeafId first = body_.leaf(sum.operands[0]), second = body_.leaf(sum.operands[1]);
  const bool is_last = first == before;
  const bool is_sum = is_last || (sum.opcode == Opcode::kAdd && second == before);
  if (!is_sum || first == second || reads_[before.value] != 1 || reads_[after.value] != 1 ||
      condition_.read_count(condition_.parameters()[carry]) != 0)
    return std::nullopt;
  return Stack{.carry = carry, .part = is_last ? second : first, .sum = sum.opcode};
}

void Turns::count_reads() {
  reads_.assign(body_.leaves().size(), 0);
  for (const LeafId result : body_.results()) ++reads_[result.value];
  for (const Instruction& user : body_.computation().instructions) {
    if (is_alias(user)) continue;
    for (const InstructionId operand : user.operands)
      for (const LeafId leaf : body_.leaves_of(operand)) ++reads_[leaf.value];
  }
}

void Turns::find_needs() {
  needs_.assign(body_.leaves().size(), Needs::kState);
  is_row_.assign(body_.leaves().size(), false);
  for (size_t carry = 0; carry < body_.parameters().size(); ++carry) {
    const LeafId parameter = body_.parameters()[carry];
    if (body_.results()[carry] == parameter) needs_[parameter.value] = Needs::kNothing;
  }
  needs_[body_.parameters()[counted_.counter].value] = Needs::kTurn;
  for (int64_t i = 0; i < body_.computation().size(); ++i) find_needs_of(InstructionId(i));
}

void Turns::find_needs_of(InstructionId id) {
  const Instruction& instruction = body_.computation().at(id);
  if (is_alias(instruction) || instruction.opcode == Opcode::kParameter) return;
  if (takes_row(instruction)) {
    is_row_[body_.leaf(id).value] = true;
    needs_[body_.leaf(id).value] = Needs::kTurn;
    return;
  }
  if (!is_of_one(instruction)) return;
  Needs most = Needs::kNothing;
  for (const InstructionId operand : instruction.operands)
    most = std::max(most, needs(body_.leaf(operand)));
  if (most == Needs::kNothing || fits(instruction.shape)) needs_[body_.leaf(id).value] = most;
}

bool Turns::takes_row(const Instruction& slice) {
  if (slice.opcode != Opcode::kDynamicSlice || slice.operands.size() < 2) return false;
  const LeafId array = body_.leaf(slice.operands[0]);
  const Shape &from = shape(array), &part = slice.shape;
  if (needs(array) != Needs::kNothing || (!carry_of(array) && !producer(array).operands.empty()) ||
      from.dimension(0) < count() || part.element_count() == 0 || part.dimension(0) != 1 ||
      !std::equal(part.dimensions().begin() + 1, part.dimensions().end(),
                  from.dimensions().begin() + 1) ||
      !fits(part))
    return false;
  const Row row = row_at(counted_, body_, body_.leaf(slice.operands[1]));
  if (row == Row::kUnknown || (order_ != Row::kUnknown && row != order_)) return false;
  order_ = row;
  return true;
}

// Users come after what they use, so one walk from the end sees all of them first.
void Turns::find_what_is_for_stacks() {
  is_for_stacks_.assign(body_.leaves().size(), true);
  const auto read = [&](LeafId leaf) { is_for_stacks_[leaf.value] = false; };
  for (const LeafId result : body_.results()) read(result);
  std::map<InstructionId, LeafId> updates;  // their parts
  for (const Stack& stack : stacks_)
    updates[body_.leaves()[body_.results()[stack.carry].value].producer] = stack.part;
  for (int64_t i = body_.computation().size(); i-- > 0;) {
    const Instruction& user = body_.computation().at(InstructionId(i));
    if (is_alias(user) || user.opcode == Opcode::kParameter) continue;
    const auto stack = updates.find(InstructionId(i));
    const bool hands_on = is_batched(user) && is_for_stacks(body_.leaf(InstructionId(i)));
    for (size_t k = 0; k < user.operands.size(); ++k) {
      const auto leaves = body_.leaves_of(user.operands[k]);
      if (hands_on || (stack != updates.end() && leaves[0] == stack->second)) continue;
      for (const LeafId leaf : leaves) read(leaf);
    }
  }
}

}  // namespace heddle::cpu
