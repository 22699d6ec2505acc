#include "heddle/cpu/rewrites/loop_distribution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/turn_batches.h"
#include "heddle/cpu/rewrites/turns.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Computation;
using hlo::ComputationId;
using hlo::Graph;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Value;
using hlo::Values;
using Needs = Turns::Needs;

constexpr int64_t kFewestDistributed = 16;
constexpr int64_t kMostInRow = 32;   // numbers that lanes would hold badly, turn by turn
constexpr int64_t kLongChain = 24;   // ops on few numbers that are worth it together
constexpr size_t kMostResults = 4;   // of a loop with more the leaves themselves become lanes
constexpr int64_t kMostLeftOut = 4;  // times what is taken of an array that is made before a loop
constexpr int64_t kMostWider = 2;  // stacks of what is left to do after a loop, to those of results

bool is_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan:
    case Opcode::kAtan2:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kTan:
    case Opcode::kTanh: return true;
    default: return false;
  }
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
      return is_thin(turns_.shape(rows).element_count() / summed, shape.element_count());
    }
    return false;
  }

  const Turns& turns_;
  std::vector<int64_t> chain_;  // by leaf
};

// Calls a module of its own.
Values call(Graph& graph, const hlo::Module& module, const Values& arguments) {
  std::vector<ComputationId> now;
  for (const Computation& computation : module.computations) {
    Computation copy = computation;
    for (Instruction& instruction : copy.instructions)
      for (ComputationId& called : instruction.called) called = now[called.value];
    now.push_back(graph.writer().add(std::move(copy)));
  }
  return graph.op_of_many(Opcode::kCall, arguments, hlo::CallAttrs(), {now[module.entry.value]});
}

// The row of the turn, without the dimension of turns.
Value row_of(const Value& array, const Value& turn, const Shape& row) {
  return reshape(pick(array, 0, turn), row.dimensions());
}

// How a loop comes apart.
struct Split {
  Turns turns;
  // Leaves that the loop reads as rows of arrays that are computed before it.
  std::vector<LeafId> before;
  // Leaves that are rows of stacks, and which of Turns::stacks() are computed of them.
  struct Stacked {
    LeafId leaf;
    std::optional<size_t> carry;  // of the stack that has it already
  };
  std::vector<Stacked> after;
  std::vector<size_t> replaced;
  std::optional<TurnBatch> batch;
};

using Find = StatusOr<std::optional<Split>> (*)(const hlo::Module&, Turns);

// A module with its loops split.
class Distributor {
 public:
  Distributor(const hlo::Module& module, Find find)
      : into_(module), regions_(module), find_(find) {}

  StatusOr<std::optional<hlo::Module>> run() && {
    for (const ComputationId id : into_.order()) {
      transform::Rebuilder to(into_, id);
      for (const InstructionId i : to.order()) write(to, i);
      into_.replace(id, std::move(to).finish());
    }
    if (!found_) return std::optional<hlo::Module>();
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into_).finish());
    return std::optional(std::move(out));
  }

 private:
  void write(transform::Rebuilder& to, InstructionId id) {
    const Instruction& loop = to.old(id);
    std::optional<Turns> turns = loop.opcode == Opcode::kWhile
                                     ? Turns::of(into_.from(), regions_.of(to.from()), loop)
                                     : std::nullopt;
    if (!turns || turns->count() < kFewestDistributed) {
      to.copy(id);
      return;
    }
    StatusOr<std::optional<Split>> split = find_(into_.from(), *std::move(turns));
    if (!split.ok()) into_.fail(split.status());
    if (!split.ok() || !split->has_value()) {
      to.copy(id);
      return;
    }
    found_ = true;
    write_split(to, id, **split);
  }

  void write_split(transform::Rebuilder& to, InstructionId id, const Split& split) {
    const Instruction& loop = to.old(id);
    Graph& graph = to.in_place_of(id);
    const Values initial = graph.elements(to.value(loop.operands[0]));
    Values state = initial;
    if (!split.before.empty()) {
      const Values before = call(graph, split.batch->module, arguments(graph, split, initial, {}));
      state.insert(state.end(), before.begin(), before.end());
    }
    for (const Split::Stacked& row : split.after)
      if (!row.carry) state.push_back(graph.zeros(stack_shape(split, row.leaf)));
    const Value start = graph.tuple(state);
    Instruction now = to.mapped(id);
    now.operands = {start.id()};
    now.shape = start.shape();
    now.called = {body(split, loop.called[0], now.shape), condition(loop.called[1], now.shape)};
    const Value end = graph.append(std::move(now));
    Values results = graph.elements(end);
    if (!split.replaced.empty()) {
      const Values rows =
          call(graph, split.batch->module, arguments(graph, split, initial, results));
      for (size_t i = 0; i < rows.size(); ++i) {
        const Turns::Stack& stack = split.turns.stacks()[split.replaced[i]];
        results[stack.carry] = stack.sum ? sum_of(*stack.sum, initial[stack.carry], rows[i], split)
                                         : reshape(rows[i], initial[stack.carry].sizes());
      }
    }
    results.resize(initial.size());
    to.replace(id, graph.tuple(results));
  }

  // In the order of the turns.
  static Value sum_of(Opcode sum, const Value& initial, const Value& rows, const Split& split) {
    const Turns& turns = split.turns;
    return hlo::repeat(
        turns.count(), {initial, rows}, [&](Graph&, const Value& i, const Values& state) -> Values {
          const Value turn = turns.goes_backward() ? i.number(double(turns.count() - 1)) - i : i;
          return {binary(sum, state[0], row_of(state[1], turn, initial.shape())), state[1]};
        })[0];
  }

  static Shape stack_shape(const Split& split, LeafId leaf) {
    hlo::Dims sizes = split.turns.shape(leaf).dimensions();
    sizes.insert(sizes.begin(), split.turns.count());
    return Shape(split.turns.shape(leaf).dtype(), sizes);
  }

  // The batch's: all rows of an array, the numbers of the turns, stacks, what all turns share.
  static Values arguments(Graph& graph, const Split& split, const Values& initial,
                          const Values& results) {
    const Turns& turns = split.turns;
    std::map<LeafId, Value> stacks;
    size_t next = initial.size();
    for (const Split::Stacked& row : split.after)
      stacks[row.leaf] = results[row.carry ? *row.carry : next++];
    Values out;
    for (const LeafId leaf : split.batch->parameters) {
      if (const auto stack = stacks.find(leaf); stack != stacks.end()) {
        out.push_back(reshape(stack->second, stack_shape(split, leaf).dimensions()));
      } else if (turns.is_row(leaf)) {
        const LeafId whole = turns.body().leaf(turns.producer(leaf).operands[0]);
        const std::optional<size_t> carry = turns.carry_of(whole);
        Instruction made = turns.producer(whole);
        if (made.extras.has_value()) made.extras.mutate().control_predecessors.clear();
        const Value array = carry ? initial[*carry] : graph.append(std::move(made));
        out.push_back(
            reshape(slice(array, 0, 0, turns.count()), stack_shape(split, leaf).dimensions()));
      } else if (turns.is_counter(leaf)) {
        const Value numbers = graph.iota({turns.count()}, 0, turns.shape(leaf).dtype());
        out.push_back(turns.goes_backward() ? reverse(numbers, {0}) : numbers);
      } else {
        out.push_back(initial[*turns.carry_of(leaf)]);
      }
    }
    return out;
  }

  // The parameter of a computation whose state is wider now, and what the old one was of it.
  static Values widened(transform::Rebuilder& to, const Shape& state) {
    const InstructionId old = to.from().parameters[0];
    Graph& graph = to.in_place_of(old);
    Values elements = graph.elements(graph.parameter(state));
    const auto count = static_cast<std::ptrdiff_t>(to.old(old).shape.element_shapes());
    to.replace(old, graph.tuple({elements.begin(), elements.begin() + count}));
    return elements;
  }

  ComputationId condition(ComputationId id, const Shape& state) {
    transform::Rebuilder to(into_, id);
    for (const InstructionId i : to.order()) {
      if (to.old(i).opcode == Opcode::kParameter)
        widened(to, state);
      else
        write(to, i);
    }
    return into_.add(std::move(to).finish());
  }

  ComputationId body(const Split& split, ComputationId id, const Shape& state) {
    const Turns& turns = split.turns;
    transform::Rebuilder to(into_, id);
    Values elements;
    Value turn;
    for (const InstructionId i : to.order()) {
      if (to.old(i).opcode == Opcode::kParameter) {
        elements = widened(to, state);
        turn = elements[turns.counter()];
        if (turns.goes_backward())
          turn = turn.number(static_cast<double>(turns.count() - 1)) - turn;
        continue;
      }
      const size_t place = place_of(split.before, turns, i);
      if (place == split.before.size()) {
        write(to, i);
        continue;
      }
      to.in_place_of(i);
      to.replace(i, row_of(elements[elements.size() - split.before.size() + place], turn,
                           to.old(i).shape));
    }
    Graph& graph = to.in_place_of(to.from().root);
    Values results = graph.elements(to.value(to.from().root));
    for (const size_t i : split.replaced)
      results[turns.stacks()[i].carry] = elements[turns.stacks()[i].carry];
    const size_t first = results.size();
    results.insert(results.end(), elements.begin() + static_cast<std::ptrdiff_t>(first),
                   elements.end());
    size_t next = first;
    for (const Split::Stacked& stacked : split.after) {
      if (stacked.carry) continue;
      const std::optional<size_t> carry = turns.carry_of(stacked.leaf);
      const Value row = carry ? elements[*carry] : to.value(array_of(turns.body(), stacked.leaf));
      results[next] = put(results[next], add_dimension(row, 0), 0, turn);
      ++next;
    }
    const Value root = graph.tuple(results);
    return into_.add(std::move(to).finish(root.id()));
  }

  // The instruction that is the leaf, and no tuple of it.
  static InstructionId array_of(const Region& body, LeafId leaf) {
    for (int64_t i = 0; i < body.computation().size(); ++i) {
      const InstructionId id(static_cast<size_t>(i));
      if (body.computation().at(id).shape.is_array() && body.leaf(id) == leaf) return id;
    }
    return {};
  }

  // Which of the leaves the instruction makes.
  static size_t place_of(const std::vector<LeafId>& leaves, const Turns& turns, InstructionId id) {
    const auto found = std::ranges::find_if(
        leaves, [&](LeafId leaf) { return turns.body().leaves()[leaf.value].producer == id; });
    return static_cast<size_t>(found - leaves.begin());
  }

  transform::ModuleRebuilder into_;
  Regions regions_;
  Find find_;
  bool found_ = false;
};

StatusOr<std::optional<Split>> with_batch(const hlo::Module& module, Split split,
                                          const std::vector<LeafId>& results) {
  std::vector<bool> is_given(split.turns.body().leaves().size());
  for (const Split::Stacked& row : split.after) is_given[row.leaf.value] = true;
  HEDDLE_ASSIGN_OR_RETURN(split.batch, batch_of_turns(module, split.turns, results, is_given));
  if (!split.batch) return std::optional<Split>();
  return std::optional(std::move(split));
}

// What is worth it, and what follows from it without more numbers in a row.
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

StatusOr<std::optional<Split>> find_before(const hlo::Module& module, Turns turns) {
  const std::vector<LeafId> before = Before(turns).results();
  if (before.empty() || before.size() > kMostResults) return std::optional<Split>();
  Split split{.turns = std::move(turns), .before = before};
  return with_batch(module, std::move(split), before);
}

// The rows of stacks that are worth it, and what they alone are computed from where its own
// operands are no more numbers.
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
          is_short(turns.shape(stack.part)))
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
  // What is left in the loop, and read after it.
  [[nodiscard]] std::vector<Split::Stacked> stacked() const {
    std::vector<bool> is_read(is_after_.size());
    for (size_t i = 0; i < is_after_.size(); ++i) {
      if (!is_after_[i]) continue;
      for (const LeafId operand : turns_.operands(LeafId(i)))
        if (!is_after_[operand.value] && turns_.needs(operand) == Needs::kState)
          is_read[operand.value] = true;
    }
    std::vector<Split::Stacked> out;
    for (size_t i = 0; i < is_read.size(); ++i)
      if (is_read[i]) out.push_back({.leaf = LeafId(i), .carry = stack_of(LeafId(i))});
    return out;
  }
  // Of a turn: of the rows that are stacked for it.
  [[nodiscard]] int64_t stacked_bytes() const {
    int64_t bytes = 0;
    for (const Split::Stacked& row : stacked())
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

// What is worth it alone, or with all that may move, whichever the loop stacks less for.
StatusOr<std::optional<Split>> find_after(const hlo::Module& module, Turns turns) {
  const After worth_it(turns);
  if (worth_it.replaced().empty()) return std::optional<Split>();
  After all = worth_it;
  all.take_all();
  const bool takes_all =
      all.replaced().size() <= kMostResults && all.stacked_bytes() < worth_it.stacked_bytes();
  const After& after = takes_all ? all : worth_it;
  const std::vector<size_t> replaced = after.replaced();
  std::vector<LeafId> parts;
  int64_t bytes = 0;
  for (const size_t i : replaced) {
    parts.push_back(turns.stacks()[i].part);
    bytes += turns.shape(parts.back()).byte_size();
  }
  if (replaced.size() > kMostResults || after.stacked_bytes() > kMostWider * bytes)
    return std::optional<Split>();
  const std::vector<Split::Stacked> stacked = after.stacked();
  Split split{.turns = std::move(turns), .after = stacked, .replaced = replaced};
  return with_batch(module, std::move(split), parts);
}

}  // namespace

StatusOr<std::optional<hlo::Module>> compute_after_loops(const hlo::Module& module) {
  return Distributor(module, find_after).run();
}

StatusOr<std::optional<hlo::Module>> compute_before_loops(const hlo::Module& module) {
  return Distributor(module, find_before).run();
}

}  // namespace heddle::cpu
