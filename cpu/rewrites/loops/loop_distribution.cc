#include "heddle/cpu/rewrites/loops/loop_distribution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/loops/distribution_choice.h"
#include "heddle/cpu/rewrites/loops/turn_batches.h"
#include "heddle/cpu/rewrites/loops/turns.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Graph;
using hlo::Value;
using hlo::Values;

constexpr int64_t kFewestTurnsSplit = 16;

// Calls a copy of the module's computations.
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

// The parts of a loop that is split.
struct Split {
  Turns turns;
  std::vector<LeafId> before;  // read as rows of arrays that are computed before it
  RowsAfter after;
  std::optional<TurnBatch> batch = {};  // of the values before, or of the replaced stacks' parts
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
    if (!turns || turns->count() < kFewestTurnsSplit) {
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
    for (const StackedRow& row : split.after.stacked)
      if (!row.carry) state.push_back(graph.zeros(stack_shape(split, row.leaf)));
    const Value start = graph.tuple(state);
    Instruction now = to.mapped(id);
    now.operands = {start.id()};
    now.shape = start.shape();
    now.called = {body(split, loop.called[0], now.shape), condition(loop.called[1], now.shape)};
    const Value end = graph.append(std::move(now));
    Values results = graph.elements(end);
    if (!split.after.replaced.empty()) {
      const Values rows =
          call(graph, split.batch->module, arguments(graph, split, initial, results));
      for (size_t i = 0; i < rows.size(); ++i) {
        const Turns::Stack& stack = split.turns.stacks()[split.after.replaced[i]];
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
          const Value turn =
              turns.goes_backward() ? i.number(static_cast<double>(turns.count() - 1)) - i : i;
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
    for (const StackedRow& row : split.after.stacked)
      stacks[row.leaf] = results[row.carry ? *row.carry : next++];
    Values out;
    for (const LeafId leaf : split.batch->parameters) {
      if (const auto stack = stacks.find(leaf); stack != stacks.end()) {
        out.push_back(reshape(stack->second, stack_shape(split, leaf).dimensions()));
      } else if (turns.is_row(leaf)) {
        const LeafId whole = turns.body().leaf(turns.producer(leaf).operands[0]);
        const std::optional<size_t> carry = turns.carry_of(whole);
        const Value array =
            carry ? initial[*carry] : graph.append(without_order(turns.producer(whole)));
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
    for (const size_t i : split.after.replaced)
      results[turns.stacks()[i].carry] = elements[turns.stacks()[i].carry];
    const size_t first = results.size();
    results.insert(results.end(), elements.begin() + static_cast<std::ptrdiff_t>(first),
                   elements.end());
    size_t next = first;
    for (const StackedRow& stacked : split.after.stacked) {
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
  for (const StackedRow& row : split.after.stacked) is_given[row.leaf.value] = true;
  HEDDLE_ASSIGN_OR_RETURN(split.batch, batch_of_turns(module, split.turns, results, is_given));
  if (!split.batch) return std::optional<Split>();
  return std::optional(std::move(split));
}

StatusOr<std::optional<Split>> find_before(const hlo::Module& module, Turns turns) {
  std::vector<LeafId> before = values_before(turns);
  if (before.empty()) return std::optional<Split>();
  Split split{.turns = std::move(turns), .before = before, .after = {}};
  return with_batch(module, std::move(split), before);
}

StatusOr<std::optional<Split>> find_after(const hlo::Module& module, Turns turns) {
  std::optional<RowsAfter> after = rows_after(turns);
  if (!after) return std::optional<Split>();
  std::vector<LeafId> parts;
  for (const size_t i : after->replaced) parts.push_back(turns.stacks()[i].part);
  Split split{.turns = std::move(turns), .before = {}, .after = *std::move(after)};
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
