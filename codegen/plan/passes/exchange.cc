#include "heddle/codegen/plan/passes/exchange.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "heddle/codegen/plan/accesses.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/passes/interleave.h"
#include "heddle/codegen/plan/work.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kLeastWork = 500'000;    // of all steps (work_of()): worth a second thread
constexpr int64_t kMostOfAStep = 300'000;  // threads share each step of more
constexpr int64_t kLeastRun = 512;         // bytes side by side that a part takes of a row
constexpr int64_t kWantedRun = 2048;       // with fewer, memory gets slower
constexpr int64_t kMostParts = 16;
constexpr int64_t kCached = int64_t{4} << 20;  // bytes of arrays that may be read line by line
constexpr int64_t kWorkPerLine = 16;           // operations on a line: its load hides behind them
constexpr int64_t kAtOnce = 16;  // operations that a processor does while one waits for another
constexpr int64_t kMostSideBySide = 8;         // turns, whose chains run beside each other
constexpr int64_t kMostOfTogether = 400;       // operations: more would be slow to compile
constexpr int64_t kStepShare = 4;              // what a step needs once: at most one in so many

// The bytes of registers that values of all steps may take.
int64_t register_bytes(const Plan& plan) {
  return plan.vector_bytes * (plan.vector_bytes == 64 ? 24 : 10);
}

// Of them, what the values of turns that take their steps side by side may take: the rest is for
// what a step computes.
int64_t together_bytes(const Plan& plan) {
  return plan.vector_bytes * (plan.vector_bytes == 64 ? 12 : 8);
}

class Exchange {
 public:
  Exchange(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken)
      : plan_(plan), same_(same_memory(plan, taken)) {}

  void visit(BlockId block) {
    for (size_t i = 0; i < plan_.at(block).nodes.size(); ++i) {
      const NodeId id = plan_.at(block).nodes[i];
      if (plan_.at(id).op == Op::kWhile || plan_.at(id).op == Op::kFor) {
        if (const std::optional<Nest> nest = nest_of(id)) {
          const NodeId instead = exchanged(*nest);
          if (instead.valid()) {
            std::vector<NodeId>& nodes = plan_.blocks[block.value].nodes;
            nodes[i] = instead;
            std::erase_if(nodes, [&](NodeId each) {
              return plan_.at(each).op == Op::kResult && plan_.args_of(plan_.at(each))[0] == id;
            });
            continue;
          }
        }
      }
      const auto inner = plan_.blocks_of(plan_.at(id));
      for (BlockId each : std::vector(inner.begin(), inner.end())) visit(each);
    }
  }

 private:
  // A while around one for_each whose turns are apart in all steps.
  struct Nest {
    NodeId steps, turns;
    LoopRange range;
    std::vector<Access> accesses;  // of the for_each
  };

  [[nodiscard]] std::optional<Nest> nest_of(NodeId id) const {
    const Node& loop = plan_.at(id);
    if (turns_of(plan_, loop).value_or(0) <= 1) return std::nullopt;
    if (loop.op == Op::kFor && loop.arg_count > 2) return std::nullopt;
    Nest nest{.steps = id};
    const Block& body = plan_.at(plan_.blocks_of(loop).back());
    for (NodeId each : body.nodes) {
      if (plan_.at(each).op != Op::kForEach) continue;
      if (nest.turns.valid()) return std::nullopt;
      nest.turns = each;
    }
    if (!nest.turns.valid() || is_used(id)) return std::nullopt;
    const auto range = range_of(plan_, plan_.at(nest.turns));
    auto accesses = accesses_of(plan_, same_, nest.turns);
    if (!range || range->from != 0 || range->to % range->step != 0 || !accesses)
      return std::nullopt;
    nest.range = *range;
    nest.accesses = *std::move(accesses);
    const bool is_simple = std::ranges::all_of(
        plan_.blocks_of(loop), [&](BlockId block) { return computes_numbers(block, nest); });
    return is_simple && are_apart(nest) ? std::optional(std::move(nest)) : std::nullopt;
  }

  // Of what the while hands on.
  [[nodiscard]] bool is_used(NodeId loop) const {
    std::set<NodeId> results;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const Node& node = plan_.nodes[i];
      if (node.op == Op::kResult && plan_.args_of(node)[0] == loop) results.insert(NodeId(i));
    }
    const auto is_result = [&](NodeId id) { return results.contains(id); };
    return std::ranges::any_of(plan_.args, is_result) ||
           std::ranges::any_of(plan_.blocks, [&](const Block& block) {
             return std::ranges::any_of(block.yields, is_result);
           });
  }

  // Beside the for_each a step computes numbers from its own number and from what stays.
  [[nodiscard]] bool computes_numbers(BlockId block, const Nest& nest) const {
    return std::ranges::all_of(plan_.at(block).nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      if (id == nest.turns) return true;
      if (node.block_count > 0 || node.op == Op::kKernel || node.op == Op::kCopy ||
          writes_memory(node.op))
        return false;
      return !node.buffer.valid() || !is_written(nest, same_[node.buffer.value]);
    });
  }

  static bool is_written(const Nest& nest, BufferId buffer) {
    return std::ranges::any_of(nest.accesses, [&](const Access& access) {
      return access.buffer == buffer && access.is_write;
    });
  }

  // An index, modulo the elements of all turns, tells the turn that touches it.
  [[nodiscard]] bool are_apart(const Nest& nest) const {
    std::map<BufferId, int64_t> by;
    return std::ranges::all_of(nest.accesses, [&](const Access& access) {
      if (!is_written(nest, access.buffer)) return true;
      const ElementIndex& index = access.index;
      return access.is_known && index.by > 0 && index.offset >= 0 &&
             by.emplace(access.buffer, index.by).first->second == index.by &&
             index.offset + access.lanes <= index.by * nest.range.step &&
             (!index.from.valid() || is_multiple(index.from, index.by * nest.range.to));
    });
  }
  [[nodiscard]] bool is_multiple(NodeId id, int64_t of) const {
    const Node& node = plan_.at(id);
    if (node.op != Op::kMul) return false;
    const Node& by = plan_.at(plan_.args_of(node)[1]);
    return by.op == Op::kConstant && of != 0 && by.imm % of == 0;
  }

  NodeId exchanged(const Nest& nest) {
    const bool is_while = plan_.at(nest.steps).op == Op::kWhile;
    const std::vector<Cell> cells = is_while ? cells_of(nest) : std::vector<Cell>();
    if (cells.empty() || !fits(nest, cells)) return in_parts(nest);
    const int64_t together = turns_together(nest, cells);
    if (together == 1) return with_cells(nest, cells);
    join_turns(plan_, nest.turns, together);
    const std::optional<Nest> joined = nest_of(nest.steps);
    return joined ? with_cells(*joined, cells_of(*joined)) : NodeId();
  }

  // Memory that a turn touches in all steps.
  struct Cell {
    BufferId buffer;
    ElementIndex index;
    Type type;
    bool is_written = false;
  };

  // A turn waits for itself from step to step. So several take their steps side by side, as many as
  // registers hold.
  [[nodiscard]] int64_t turns_together(const Nest& nest, const std::vector<Cell>& cells) const {
    const Block& body = body_of(plan_, nest.turns);
    if (!is_straight(plan_, body)) return 1;
    int64_t held = 0;
    for (const Cell& cell : cells) held += cell.type.lanes * bytes_of(cell.type.scalar);
    const int64_t turns = nest.range.to / nest.range.step, operations = std::ssize(body.nodes);
    const int64_t wanted = kAtOnce * longest_chain(plan_, body) / std::max<int64_t>(operations, 1);
    int64_t together = 1;
    while (together < std::min(wanted, kMostSideBySide) && turns % (2 * together) == 0 &&
           2 * together * held <= together_bytes(plan_) &&
           2 * together * operations <= kMostOfTogether)
      together *= 2;
    return together;
  }

  [[nodiscard]] static bool overlap(const Cell& a, const Cell& b) {
    return a.buffer == b.buffer && a.index.offset < b.index.offset + b.type.lanes &&
           b.index.offset < a.index.offset + a.type.lanes;
  }

  // The cell of a load or store; none where its place changes.
  [[nodiscard]] std::optional<Cell> cell_of(const Node& node, NodeId turn,
                                            const std::set<NodeId>& inside) const {
    if (node.op != Op::kLoad && node.op != Op::kStore) return std::nullopt;
    const auto index = index_of(plan_, plan_.args_of(node)[0], turn, inside);
    if (!index || index->from.valid()) return std::nullopt;
    const Type type = node.op == Op::kStore ? plan_.at(plan_.args_of(node)[1]).type : node.type;
    return Cell{node.buffer, *index, type, node.op == Op::kStore};
  }

  // None where one is not like the others of its memory.
  [[nodiscard]] std::vector<Cell> cells_of(const Nest& nest) const {
    std::vector<Cell> cells;
    const Block& body = body_of(plan_, nest.turns);
    const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
    for (NodeId id : body.nodes) {
      const Node& node = plan_.at(id);
      if (!node.buffer.valid() || !is_written(nest, same_[node.buffer.value])) continue;
      const std::optional<Cell> cell = cell_of(node, body.parameters[0], inside);
      if (!cell) continue;
      const auto known =
          std::ranges::find_if(cells, [&](const Cell& each) { return overlap(each, *cell); });
      if (known == cells.end()) {
        cells.push_back(*cell);
      } else if (known->index.offset != cell->index.offset || known->type != cell->type) {
        return {};
      } else {
        known->is_written |= cell->is_written;
      }
    }
    const bool is_mixed = std::ranges::any_of(nest.accesses, [&](const Access& access) {
      return access.index.from.valid() && std::ranges::any_of(cells, [&](const Cell& cell) {
               return same_[cell.buffer.value] == access.buffer;
             });
    });
    const bool is_taken = std::ranges::any_of(
        cells, [&](const Cell& cell) { return same_[cell.buffer.value] != cell.buffer; });
    return is_mixed || is_taken ? std::vector<Cell>() : cells;
  }

  // The cells are registers, and what steps read from elsewhere is little beside their work.
  [[nodiscard]] bool fits(const Nest& nest, const std::vector<Cell>& cells) const {
    int64_t held = 0, streamed = 0, arrays = 0;
    for (const Cell& cell : cells) held += cell.type.lanes * bytes_of(cell.type.scalar);
    std::set<BufferId> seen;
    const Block& body = body_of(plan_, nest.turns);
    const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
    for (NodeId id : body.nodes) {
      const Node& node = plan_.at(id);
      if (!node.buffer.valid() || cell_of(node, body.parameters[0], inside)) continue;
      streamed += node.type.lanes * bytes_of(node.type.scalar);
      if (seen.insert(node.buffer).second) arrays += plan_.buffers[node.buffer.value].bytes;
    }
    const int64_t turn = work_of(plan_, plan_.blocks_of(plan_.at(nest.turns))[0]);
    const int64_t step = work_of(plan_, plan_.blocks_of(plan_.at(nest.steps))[1]) -
                         work_of(plan_, plan_.at(nest.turns));
    const int64_t lines = streamed / plan_.vector_bytes;
    return held <= register_bytes(plan_) && arrays <= kCached && kStepShare * step <= turn &&
           lines * kWorkPerLine <= std::ssize(body.nodes);
  }

  NodeId add(const Node& node, std::initializer_list<NodeId> args) {
    return plan_.add(node, std::vector(args));
  }
  BlockId add_block(Block block) {
    plan_.blocks.push_back(std::move(block));
    return BlockId(plan_.blocks.size() - 1);
  }
  void set_blocks(Node& node, std::initializer_list<BlockId> blocks) {
    node.first_block = static_cast<uint32_t>(plan_.block_lists.size());
    node.block_count = static_cast<uint32_t>(blocks.size());
    plan_.block_lists.insert(plan_.block_lists.end(), blocks);
  }

  NodeId with_cells(const Nest& nest, const std::vector<Cell>& cells) {
    const Node steps = plan_.at(nest.steps), turns = plan_.at(nest.turns);
    const Block inner = moved(turns, 0);
    Block condition = moved(steps, 0), step = moved(steps, 1);
    Block outer{.parameters = inner.parameters, .nodes = {}, .yields = {}};
    std::vector<NodeId> initial(plan_.args_of(steps).begin(), plan_.args_of(steps).end());
    std::vector<NodeId> places, now;
    for (const Cell& cell : cells) {
      places.push_back(place_of(cell, inner.parameters[0], outer.nodes));
      initial.push_back(
          add({.op = Op::kLoad, .type = cell.type, .buffer = cell.buffer}, {places.back()}));
      outer.nodes.push_back(initial.back());
      now.push_back(add({.op = Op::kParameter, .type = cell.type}, {}));
      condition.parameters.push_back(now.back());
      step.parameters.push_back(now.back());
    }
    const auto at = std::ranges::find(step.nodes, nest.turns);
    std::vector<NodeId> nodes(step.nodes.begin(), at);
    replace_cells(cells, inner, now, nodes);
    nodes.insert(nodes.end(), at + 1, step.nodes.end());
    step.nodes = std::move(nodes);
    step.yields.insert(step.yields.end(), now.begin(), now.end());
    Node loop = steps;
    set_blocks(loop, {add_block(std::move(condition)), add_block(std::move(step))});
    const NodeId all_steps = plan_.add(loop, initial);
    outer.nodes.push_back(all_steps);
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].is_written) continue;
      const auto number = static_cast<int64_t>(plan_.args_of(steps).size() + i);
      const NodeId last =
          add({.op = Op::kResult, .type = cells[i].type, .imm = number}, {all_steps});
      outer.nodes.push_back(last);
      outer.nodes.push_back(add(
          {.op = Op::kStore, .type = cells[i].type, .buffer = cells[i].buffer}, {places[i], last}));
    }
    Node each = turns;
    each.origin = steps.origin;
    set_blocks(each, {add_block(std::move(outer))});
    const std::vector<NodeId> bounds(plan_.args_of(turns).begin(), plan_.args_of(turns).end());
    return plan_.add(each, bounds);
  }

  Block moved(const Node& from, size_t number) {
    return std::exchange(plan_.blocks[plan_.blocks_of(from)[number].value], {});
  }

  NodeId place_of(const Cell& cell, NodeId turn, std::vector<NodeId>& nodes) {
    const auto constant = [&](int64_t value) {
      nodes.push_back(add({.op = Op::kConstant, .type = {Scalar::kI64, 1}, .imm = value}, {}));
      return nodes.back();
    };
    const NodeId by = constant(cell.index.by), offset = constant(cell.index.offset);
    nodes.push_back(add({.op = Op::kMul, .type = {Scalar::kI64, 1}}, {turn, by}));
    nodes.push_back(add({.op = Op::kAdd, .type = {Scalar::kI64, 1}}, {nodes.back(), offset}));
    return nodes.back();
  }

  // The for_each's turn, with cells in place of memory: `now` has what they hold.
  void replace_cells(const std::vector<Cell>& cells, const Block& turn, std::vector<NodeId>& now,
                     std::vector<NodeId>& nodes) {
    std::map<NodeId, NodeId> instead;
    const std::set<NodeId> inside(turn.nodes.begin(), turn.nodes.end());
    for (NodeId id : turn.nodes) {
      const Node& node = plan_.at(id);
      const std::optional<Cell> cell = cell_of(node, turn.parameters[0], inside);
      for (uint32_t i = 0; i < node.arg_count; ++i) {
        NodeId& arg = plan_.args[node.first_arg + i];
        if (const auto found = instead.find(arg); found != instead.end()) arg = found->second;
      }
      const auto known = !cell ? cells.end() : std::ranges::find_if(cells, [&](const Cell& each) {
        return overlap(each, *cell);
      });
      if (known == cells.end()) {
        nodes.push_back(id);
        continue;
      }
      NodeId& value = now[static_cast<size_t>(known - cells.begin())];
      if (node.op == Op::kStore) {
        value = plan_.args_of(node)[1];
      } else {
        instead.emplace(id, value);
      }
    }
  }

  // All steps of a part of the elements, where rows are long enough.
  NodeId in_parts(const Nest& nest) {
    const Node steps = plan_.at(nest.steps), turns = plan_.at(nest.turns);
    if (work_of(plan_, steps) < kLeastWork || work_of(plan_, turns) >= kMostOfAStep) return {};
    int64_t row = 0;
    const Block& body = body_of(plan_, nest.turns);
    const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
    for (NodeId id : body.nodes) {
      const Node& node = plan_.at(id);
      if (!node.buffer.valid() || cell_of(node, body.parameters[0], inside)) continue;
      const auto index = index_of(plan_, plan_.args_of(node)[0], body.parameters[0], inside);
      const int64_t by = index ? index->by : 1;
      if (by == 0) continue;
      const int64_t bytes = by * nest.range.to * bytes_of(node.type.scalar);
      row = row == 0 ? bytes : std::min(row, bytes);
    }
    const auto wanted = std::bit_floor(static_cast<uint64_t>(row / kWantedRun));
    const int64_t parts = std::clamp(static_cast<int64_t>(wanted), int64_t{2}, kMostParts);
    if (row < parts * kLeastRun || nest.range.to / nest.range.step < parts) return {};
    const int64_t turns_of_part = (nest.range.to / nest.range.step + parts - 1) / parts;
    const std::vector<NodeId> bounds(plan_.args_of(turns).begin(), plan_.args_of(turns).end());
    Block outer;
    for (NodeId bound : bounds)
      outer.parameters.push_back(add({.op = Op::kParameter, .type = {Scalar::kI64, 1}}, {bound}));
    outer.nodes = {nest.steps};
    std::ranges::copy(outer.parameters, plan_.args.begin() + turns.first_arg);
    Node whole{.op = Op::kParts, .imm = turns_of_part * nest.range.step, .origin = steps.origin};
    set_blocks(whole, {add_block(std::move(outer))});
    return plan_.add(whole, bounds);
  }

  Plan& plan_;
  std::vector<BufferId> same_;
};

}  // namespace

void exchange_loops(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken) {
  Exchange(plan, taken).visit(plan.entry);
}

}  // namespace heddle::cpu
