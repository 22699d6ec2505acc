#include "heddle/cpu/rewrites/loops/distribution_choice.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

using Needs = Turns::Needs;

constexpr int64_t kManyTurns = 64;   // that make up for the code of a function of vectors
constexpr int64_t kMostInRow = 32;   // numbers of a turn; more of them fill vectors by themselves
constexpr int64_t kLongChain = 24;   // ops on few numbers, one after the other
constexpr size_t kMostResults = 4;   // of one loop; the leaves of a loop with more become lanes
constexpr int64_t kMostLeftOut = 4;  // an array that is made before a loop, to what is taken of it
constexpr int64_t kMostWider = 2;    // bytes that are stacked for results, to those of the results

// Many operations. Machines divide and take roots by themselves.
bool is_function(Opcode opcode) {
  return has_trait(opcode, hlo::kElementwise) &&
         hlo::definition(opcode).facts.work == hlo::Work::kMuch && opcode != Opcode::kDivide &&
         opcode != Opcode::kRemainder && opcode != Opcode::kSqrt;
}

bool is_short(const Shape& shape) { return shape.element_count() <= kMostInRow; }

// Which leaves of a body are worth computing for all turns at once, among those of `is_candidate`.
class Worth {
 public:
  template <class Candidate>
  Worth(const Turns& turns, const Candidate& is_candidate)
      : turns_(turns), chain_(turns.body().leaves().size()) {
    // The longest chain through each leaf: of what comes before it, and of what follows.
    std::vector<int64_t> before(chain_.size()), behind(chain_.size());
    const auto own = [&](LeafId leaf) {
      return is_candidate(leaf) && is_short_op(leaf) ? int64_t{1} : int64_t{0};
    };
    for (size_t i = 0; i < chain_.size(); ++i) {
      for (const LeafId operand : turns.operands(LeafId(i)))
        before[i] = std::max(before[i], before[operand.value]);
      before[i] = is_candidate(LeafId(i)) ? before[i] + own(LeafId(i)) : 0;
    }
    for (size_t i = chain_.size(); i-- > 0;) {
      chain_[i] = before[i] + behind[i];
      if (!is_candidate(LeafId(i))) continue;
      for (const LeafId operand : turns.operands(LeafId(i)))
        behind[operand.value] = std::max(behind[operand.value], behind[i] + own(LeafId(i)));
    }
  }

  [[nodiscard]] bool operator()(LeafId leaf) const {
    const Instruction& instruction = turns_.producer(leaf);
    if (!turns_.is_repeated() && turns_.count() < kManyTurns) return is_thin_product(instruction);
    if (is_function(instruction.opcode)) return is_short(instruction.shape);
    return (chain_[leaf.value] >= kLongChain && is_short_op(leaf)) || is_thin_product(instruction);
  }

 private:
  [[nodiscard]] bool is_short_op(LeafId leaf) const {
    const Instruction& instruction = turns_.producer(leaf);
    return has_trait(instruction.opcode, hlo::kElementwise) && is_short(instruction.shape);
  }
  // Few rows times a big matrix that all turns share.
  [[nodiscard]] bool is_thin_product(const Instruction& dot) const {
    if (dot.opcode != Opcode::kDot || !is_floating(dot.shape.dtype())) return false;
    const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
    if (!attrs.lhs_batch_dims.empty()) return false;
    for (size_t shared = 0; shared < 2; ++shared) {
      const LeafId matrix = turns_.body().leaf(dot.operands[shared]);
      const LeafId rows = turns_.body().leaf(dot.operands[1 - shared]);
      const Shape& shape = turns_.shape(matrix);
      if (turns_.needs(matrix) != Needs::kNothing || turns_.needs(rows) == Needs::kNothing ||
          shape.rank() < 2)
        continue;
      int64_t summed = 1;
      for (const int64_t d : shared == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims)
        summed *= shape.dimension(d);
      return summed > 0 &&
             is_thin(turns_.shape(rows).element_count() / summed, shape.element_count());
    }
    return false;
  }

  const Turns& turns_;
  std::vector<int64_t> chain_;  // by leaf
};

// What is worth it, and what follows from it and has no more elements.
class Before {
 public:
  explicit Before(const Turns& turns)
      : turns_(turns),
        is_before_(turns.body().leaves().size()),
        is_worth_it_(turns, [&](LeafId leaf) { return is_known(leaf); }) {
    for (size_t i = 0; i < is_before_.size(); ++i) {
      if (!is_known(LeafId(i))) continue;
      int64_t most = 0;  // elements of an operand
      for (const LeafId operand : turns.operands(LeafId(i)))
        if (is_before_[operand.value]) most = std::max(most, turns.shape(operand).element_count());
      is_before_[i] =
          is_worth_it_(LeafId(i)) ||
          (most > 0 && turns.shape(LeafId(i)).element_count() <= std::max(most, kMostInRow));
    }
  }

  // What the loop reads of it.
  [[nodiscard]] std::vector<LeafId> results() const {
    std::vector<bool> is_read(is_before_.size());
    for (size_t i = 0; i < is_before_.size(); ++i) {
      if (is_before_[i]) continue;
      for (const LeafId operand : turns_.operands(LeafId(i))) is_read[source(operand).value] = true;
    }
    for (const LeafId result : turns_.body().results()) is_read[source(result).value] = true;
    std::vector<LeafId> out;
    for (size_t i = 0; i < is_read.size(); ++i)
      if (is_before_[i] && is_read[i]) out.push_back(LeafId(i));
    return out;
  }

 private:
  [[nodiscard]] bool is_known(LeafId leaf) const {
    return turns_.needs(leaf) == Needs::kTurn && !turns_.is_row(leaf) && !turns_.carry_of(leaf);
  }
  // What a movement moves: it is done where its result is read.
  [[nodiscard]] LeafId source(LeafId leaf) const {
    while (is_before_[leaf.value]) {
      const Instruction& move = turns_.producer(leaf);
      if (!has_trait(move.opcode, hlo::kMoves) || move.operands.size() != 1) break;
      const LeafId from = turns_.body().leaf(move.operands[0]);
      if (!is_before_[from.value] ||
          turns_.shape(from).element_count() > kMostLeftOut * turns_.shape(leaf).element_count())
        break;
      leaf = from;
    }
    return leaf;
  }

  const Turns& turns_;
  std::vector<bool> is_before_;  // by leaf
  Worth is_worth_it_;
};

// Parts of stacks that are worth it, and values that only these read and whose operands have no
// more bytes.
class After {
 public:
  explicit After(const Turns& turns)
      : turns_(turns),
        is_after_(turns.body().leaves().size()),
        readers_(is_after_.size()),
        is_worth_it_(turns, [&](LeafId leaf) { return is_open(leaf); }) {
    for (size_t i = 0; i < is_after_.size(); ++i) {
      const LeafId leaf(i);
      const std::vector<LeafId> operands = turns.operands(leaf);
      for (const LeafId operand : operands) readers_[operand.value].push_back(leaf);
      is_after_[i] = is_open(leaf) && (is_worth_it_(leaf) || any_after(operands));
    }
    for (const Turns::Stack& stack : turns.stacks()) {
      if (!stack.sum && is_open(stack.part) && turns.needs(stack.part) == Needs::kTurn &&
          is_short(turns.shape(stack.part)) && turns.count() >= kManyTurns)
        is_after_[stack.part.value] = true;
    }
    for (size_t i = is_after_.size(); i-- > 0;) take_what_feeds(LeafId(i));
  }
  // All that may move, too.
  void take_all() {
    for (size_t i = 0; i < is_after_.size(); ++i) is_after_[i] = is_open(LeafId(i));
  }

  // Which of the stacks.
  [[nodiscard]] std::vector<size_t> replaced() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < turns_.stacks().size(); ++i)
      if (is_after_[turns_.stacks()[i].part.value]) out.push_back(i);
    return out;
  }
  // A sum of parts that fill vectors by themselves, and cost little but for what they are made of:
  // the loop adds them as they come, and nobody stores all of them.
  [[nodiscard]] bool stores_summands() const {
    for (size_t i = 0; i < is_after_.size(); ++i) {
      if (is_after_[i] && turns_.producer(LeafId(i)).opcode == Opcode::kDot) return false;
    }
    return std::ranges::any_of(replaced(), [&](size_t i) {
      const Turns::Stack& stack = turns_.stacks()[i];
      return stack.sum && !is_short(turns_.shape(stack.part)) &&
             has_trait(turns_.producer(stack.part).opcode, hlo::kElementwise);
    });
  }
  // What is left in the loop, and read after it.
  [[nodiscard]] std::vector<StackedRow> stacked() const {
    std::vector<bool> is_read(is_after_.size());
    for (size_t i = 0; i < is_after_.size(); ++i) {
      if (!is_after_[i]) continue;
      for (const LeafId operand : turns_.operands(LeafId(i)))
        if (!is_after_[operand.value] && turns_.needs(operand) == Needs::kState)
          is_read[operand.value] = true;
    }
    std::vector<StackedRow> out;
    for (size_t i = 0; i < is_read.size(); ++i)
      if (is_read[i]) out.push_back({.leaf = LeafId(i), .carry = stack_of(LeafId(i))});
    return out;
  }
  // Of a turn: of the rows that are stacked for it.
  [[nodiscard]] int64_t stacked_bytes() const {
    int64_t bytes = 0;
    for (const StackedRow& row : stacked())
      if (!row.carry) bytes += turns_.shape(row.leaf).byte_size();
    return bytes;
  }

 private:
  // It may move behind the loop.
  [[nodiscard]] bool is_open(LeafId leaf) const {
    return turns_.is_for_stacks(leaf) && turns_.needs(leaf) != Needs::kNothing &&
           !turns_.is_row(leaf) && !turns_.carry_of(leaf) &&
           turns_.is_batched(turns_.producer(leaf));
  }
  [[nodiscard]] bool any_after(const std::vector<LeafId>& leaves) const {
    return std::ranges::any_of(leaves, [&](LeafId leaf) { return is_after_[leaf.value]; });
  }
  // The stack that has the leaf as its row anyway.
  [[nodiscard]] std::optional<size_t> stack_of(LeafId leaf) const {
    for (const Turns::Stack& stack : turns_.stacks()) {
      const Instruction& part = turns_.producer(stack.part);
      if (!stack.sum && part.opcode == Opcode::kReshape && !is_after_[stack.part.value] &&
          turns_.body().leaf(part.operands[0]) == leaf)
        return stack.carry;
    }
    return std::nullopt;
  }
  void take_what_feeds(LeafId leaf) {
    if (is_after_[leaf.value] || !is_open(leaf) || turns_.needs(leaf) != Needs::kState ||
        !is_read_after(leaf))
      return;
    int64_t bytes = 0;
    for (const LeafId operand : turns_.operands(leaf))
      if (turns_.needs(operand) == Needs::kState) bytes += turns_.shape(operand).byte_size();
    is_after_[leaf.value] = bytes <= turns_.shape(leaf).byte_size();
  }
  // By someone, and by nobody who stays in the loop.
  [[nodiscard]] bool is_read_after(LeafId leaf) const {
    const std::vector<LeafId>& readers = readers_[leaf.value];
    return !readers.empty() &&
           std::ranges::all_of(readers, [&](LeafId reader) { return is_after_[reader.value]; });
  }

  const Turns& turns_;
  std::vector<bool> is_after_;                // by leaf
  std::vector<std::vector<LeafId>> readers_;  // by leaf
  Worth is_worth_it_;
};

}  // namespace

std::vector<LeafId> values_before(const Turns& turns) {
  std::vector<LeafId> values = Before(turns).results();
  if (values.size() > kMostResults) values.clear();
  return values;
}

std::optional<RowsAfter> rows_after(const Turns& turns) {
  const After worth_it(turns);
  if (worth_it.replaced().empty() || worth_it.stores_summands()) return std::nullopt;
  After all = worth_it;
  all.take_all();
  const bool takes_all =
      all.replaced().size() <= kMostResults && all.stacked_bytes() < worth_it.stacked_bytes();
  const After& chosen = takes_all ? all : worth_it;
  RowsAfter after{.stacked = chosen.stacked(), .replaced = chosen.replaced()};
  int64_t bytes = 0;
  for (const size_t i : after.replaced) bytes += turns.shape(turns.stacks()[i].part).byte_size();
  if (after.replaced.size() > kMostResults || chosen.stacked_bytes() > kMostWider * bytes)
    return std::nullopt;
  return after;
}

}  // namespace heddle::cpu
