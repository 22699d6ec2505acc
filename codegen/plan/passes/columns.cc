#include "heddle/codegen/plan/passes/columns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "heddle/codegen/plan/accesses.h"
#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

using Rows = std::vector<NodeId>;  // vectors of as many lanes as there are vectors

bool works_by_lane(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kFma:
    case Op::kMin:
    case Op::kMax:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSqrt:
    case Op::kCompare:
    case Op::kSelect: return true;
    default: return false;
  }
}

bool is_in_any_order(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax;
}

// One loop and one fold in it. Nothing of the plan changes until all is known to work.
class Turning {
 public:
  // `at`: the loop's place in `block`
  Turning(Plan& plan, BlockId block, size_t at)
      : plan_(plan),
        block_(block),
        at_(at),
        loop_(plan.at(block).nodes[at]),
        body_(plan.blocks_of(plan.at(loop_))[1]) {
    const Block& body = plan_.at(body_);
    inside_ = {body.nodes.begin(), body.nodes.end()};
    for (NodeId id : body.nodes) {
      if (writes_memory(plan_.at(id).op)) written_.insert(plan_.at(id).buffer);
    }
  }

  bool run() {
    const Block& body = plan_.at(body_);
    if (!std::ranges::all_of(body.nodes, [&](NodeId id) { return is_plain(plan_.at(id)); }))
      return false;
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const std::optional<Rows> rows = rows_of_fold(body.nodes[i]);
      if (rows) return turn(body.nodes[i], *rows);
    }
    return false;
  }

 private:
  static bool is_plain(const Node& node) {
    return node.block_count == 0 && node.op != Op::kKernel && node.op != Op::kCopy;
  }

  // What the lanes of a node are folds of.
  struct Part {
    NodeId vector;
    int64_t lane = 0;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  using Lanes = std::vector<std::vector<Part>>;

  const Lanes& lanes_of(NodeId id, Op fold) {
    if (const auto found = lanes_.find(id); found != lanes_.end()) return found->second;
    const Node& node = plan_.at(id);
    const auto args = plan_.args_of(node);
    Lanes lanes(static_cast<size_t>(node.type.lanes));
    const auto is_shuffle = [&](NodeId arg) { return plan_.at(arg).op == Op::kShuffle; };
    const auto parts_of = [&](NodeId arg, size_t lane) { return lanes_of(arg, fold)[lane]; };
    if (node.op == Op::kShuffle) {
      const std::vector<LaneSource>& sources = plan_.shuffles[static_cast<size_t>(node.imm)];
      for (size_t lane = 0; lane < lanes.size(); ++lane)
        lanes[lane] = parts_of(args[sources[lane].operand], sources[lane].lane);
    } else if (node.op == fold && std::ranges::all_of(args, is_shuffle)) {
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        lanes[lane] = parts_of(args[0], lane);
        const std::vector<Part> more = parts_of(args[1], lane);
        // Of more than a row no fold is made here; chains of such sums would grow without end.
        if (lanes[lane].size() + more.size() > lanes.size()) return lanes_[id] = own_lanes(id);
        lanes[lane].insert(lanes[lane].end(), more.begin(), more.end());
      }
    } else {
      lanes = own_lanes(id);
    }
    return lanes_[id] = std::move(lanes);
  }
  [[nodiscard]] Lanes own_lanes(NodeId id) const {
    Lanes lanes(static_cast<size_t>(plan_.at(id).type.lanes));
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] = {{id, static_cast<int64_t>(lane)}};
    return lanes;
  }

  // By lane of the node: the vector that all of it folds.
  std::optional<Rows> rows_of_fold(NodeId id) {
    const Node& node = plan_.at(id);
    if (node.arg_count != 2 || node.type.lanes < 2 || node.imm != 0 || !is_in_any_order(node.op))
      return std::nullopt;
    for (NodeId arg : plan_.args_of(node)) {
      if (plan_.at(arg).op != Op::kShuffle) return std::nullopt;
    }
    lanes_.clear();
    Rows rows;
    for (std::vector<Part> parts : lanes_of(id, node.op)) {
      std::ranges::sort(parts);
      if (std::ssize(parts) != node.type.lanes) return std::nullopt;
      for (size_t k = 0; k < parts.size(); ++k) {
        if (parts[k] != Part{parts[0].vector, static_cast<int64_t>(k)}) return std::nullopt;
      }
      if (std::ranges::count(rows, parts[0].vector) > 0) return std::nullopt;
      rows.push_back(parts[0].vector);
    }
    return rows;
  }

  bool turn(NodeId fold, const Rows& rows) {
    std::optional<Rows> columns = columns_of(rows);
    if (!columns || carried_.empty()) return false;
    std::vector<Rows> yields;
    for (size_t i = 0; i < carried_.size(); ++i) {  // more may come up on the way
      Rows next;
      for (size_t number : carried_[i].numbers) next.push_back(plan_.at(body_).yields[number]);
      auto turned = columns_of(next);
      if (!turned) return false;
      yields.push_back(*std::move(turned));
    }
    const NodeId folded = folded_columns(fold, *columns);
    if (!replace(fold, folded, yields)) return false;
    write_outside();
    return true;
  }

  // Two chains, since each operation waits for the one before.
  NodeId folded_columns(NodeId fold, const Rows& columns) {
    Node node = plan_.at(fold);
    NodeId chains[] = {columns[0], columns[1]};
    for (size_t k = 2; k < columns.size(); ++k)
      chains[k % 2] = make(node, {chains[k % 2], columns[k]});
    return make(node, {chains[0], chains[1]});
  }

  NodeId make(Node node, std::initializer_list<NodeId> args) {
    made_.push_back(plan_.add(node, std::vector(args)));
    return made_.back();
  }

  // None where rows have no columns that cost less than they save.
  std::optional<Rows> columns_of(const Rows& rows) {
    if (const auto found = known_.find(rows); found != known_.end()) return found->second;
    std::optional<Rows> columns = new_columns_of(rows);
    if (columns) known_.emplace(rows, *columns);
    return columns;
  }

  std::optional<Rows> new_columns_of(const Rows& rows) {
    const Node& first = plan_.at(rows[0]);
    const bool is_square = std::ranges::all_of(rows, [&](NodeId id) {
      const Node& node = plan_.at(id);
      return node.op == first.op && node.imm == first.imm && node.type == first.type &&
             node.arg_count == first.arg_count && node.type.lanes == std::ssize(rows);
    });
    if (!is_square || !std::has_single_bit(rows.size())) return std::nullopt;
    if (std::ranges::count(rows, rows[0]) == std::ssize(rows)) return columns_of_one(rows[0]);
    if (first.op == Op::kParameter) return columns_of_carried(rows);
    if (!std::ranges::all_of(rows, [&](NodeId id) { return inside_.contains(id); }))
      return std::nullopt;
    if (first.op == Op::kSplat) return columns_of_numbers(rows);
    if (first.op == Op::kLoad) return columns_of_memory(rows);
    return works_by_lane(first.op) ? columns_by_lane(rows) : std::nullopt;
  }

  // All rows are one vector: its lanes, each in all lanes.
  std::optional<Rows> columns_of_one(NodeId row) {
    const Node node = plan_.at(row);
    if (node.op == Op::kConstant || node.op == Op::kSplat)
      return Rows(static_cast<size_t>(node.type.lanes), row);
    if (node.op != Op::kLoad || written_.contains(node.buffer)) return std::nullopt;
    Rows columns;
    for (int64_t k = 0; k < node.type.lanes; ++k) {
      const NodeId offset = make({.op = Op::kConstant, .type = kIndex, .imm = k}, {});
      const NodeId index = make({.op = Op::kAdd, .type = kIndex}, {plan_.args_of(node)[0], offset});
      Node one = node;
      one.type.lanes = 1;
      columns.push_back(make({.op = Op::kSplat, .type = node.type}, {make(one, {index})}));
    }
    return columns;
  }

  // Each row is a number, and these lie side by side in memory.
  std::optional<Rows> columns_of_numbers(const Rows& rows) {
    Rows numbers;
    for (NodeId row : rows) numbers.push_back(plan_.args_of(plan_.at(row))[0]);
    const Node first = plan_.at(numbers[0]);
    for (size_t r = 0; r < numbers.size(); ++r) {
      const Node& node = plan_.at(numbers[r]);
      if (node.op != Op::kLoad || node.buffer != first.buffer || written_.contains(node.buffer) ||
          difference(plan_.args_of(node)[0], plan_.args_of(first)[0]) != static_cast<int64_t>(r))
        return std::nullopt;
    }
    Node all = first;
    all.type = plan_.at(rows[0]).type;
    return Rows(rows.size(), make(all, {plan_.args_of(first)[0]}));
  }

  // x - y, where that is a constant.
  [[nodiscard]] std::optional<int64_t> difference(NodeId x, NodeId y) const {
    const Offset a = sum_of(x), b = sum_of(y);
    if (a.terms != b.terms) return std::nullopt;
    return a.constant - b.constant;
  }
  struct Offset {
    std::map<NodeId, int64_t> terms;
    int64_t constant = 0;
  };
  [[nodiscard]] Offset sum_of(NodeId id) const {
    const Node& node = plan_.at(id);
    if (node.op == Op::kConstant) return {{}, node.imm};
    if (node.op != Op::kAdd || node.type != kIndex) return {{{id, 1}}, 0};
    Offset a = sum_of(plan_.args_of(node)[0]);
    const Offset b = sum_of(plan_.args_of(node)[1]);
    for (const auto& [term, by] : b.terms) a.terms[term] += by;
    return {a.terms, a.constant + b.constant};
  }

  // Rows that no turn changes are turned before the loop.
  std::optional<Rows> columns_of_memory(const Rows& rows) {
    Rows outside;
    for (NodeId row : rows) {
      const Node node = plan_.at(row);
      if (written_.contains(node.buffer)) return std::nullopt;
      const NodeId index = moved_out(plan_.args_of(node)[0]);
      if (!index.valid()) return std::nullopt;
      outside.push_back(add_before(node, {index}));
    }
    return turned(outside, before_);
  }

  // The index, computed before the loop; not valid where turns change it.
  NodeId moved_out(NodeId id) {
    if (!inside_.contains(id)) {
      const auto& parameters = plan_.at(body_).parameters;
      return std::ranges::count(parameters, id) > 0 ? NodeId() : id;
    }
    if (const auto found = moved_.find(id); found != moved_.end()) return found->second;
    const Node node = plan_.at(id);
    if (node.op != Op::kAdd && node.op != Op::kMul && node.op != Op::kConstant) return {};
    std::vector<NodeId> args(plan_.args_of(node).begin(), plan_.args_of(node).end());
    for (NodeId& arg : args) {
      arg = moved_out(arg);
      if (!arg.valid()) return {};
    }
    before_.push_back(plan_.add(node, args));
    return moved_[id] = before_.back();
  }

  NodeId add_before(const Node& node, std::initializer_list<NodeId> args) {
    before_.push_back(plan_.add(node, std::vector(args)));
    return before_.back();
  }

  // Rows that the loop carries.
  struct Carried {
    std::vector<size_t> numbers;  // of the parameters
    Rows columns;                 // the parameters that take their place
  };
  std::optional<Rows> columns_of_carried(const Rows& rows) {
    const std::vector<NodeId>& parameters = plan_.at(body_).parameters;
    Carried carried;
    for (NodeId row : rows) {
      const auto found = std::ranges::find(parameters, row);
      if (found == parameters.end()) return std::nullopt;
      const auto number = static_cast<size_t>(found - parameters.begin());
      if (std::ranges::count(carried.numbers, number) > 0) return std::nullopt;
      for (const Carried& other : carried_) {
        if (std::ranges::count(other.numbers, number) > 0) return std::nullopt;
      }
      carried.numbers.push_back(number);
      carried.columns.push_back(plan_.add(plan_.at(row), {}));
    }
    carried_.push_back(carried);
    return carried.columns;
  }

  std::optional<Rows> columns_by_lane(const Rows& rows) {
    std::vector<Rows> args(plan_.at(rows[0]).arg_count);
    for (size_t a = 0; a < args.size(); ++a) {
      for (NodeId row : rows) args[a].push_back(plan_.args_of(plan_.at(row))[a]);
      auto columns = columns_of(args[a]);
      if (!columns) return std::nullopt;
      args[a] = *std::move(columns);
    }
    if (const Node& node = plan_.at(rows[0]); node.op == Op::kAdd) {
      for (size_t a : {0u, 1u}) {
        if (is_minus_zero(plan_.at(args[a][0]))) return args[1 - a];
      }
    }
    Rows columns;
    for (size_t k = 0; k < rows.size(); ++k) {
      std::vector<NodeId> of;
      for (const Rows& each : args) of.push_back(each[k]);
      made_.push_back(plan_.add(plan_.at(rows[k]), of));
      columns.push_back(made_.back());
    }
    return columns;
  }

  // What a sum begins with.
  static bool is_minus_zero(const Node& node) {
    return node.op == Op::kConstant && is_float(node.type.scalar) &&
           node.imm == (node.type.scalar == Scalar::kF64 ? std::bit_cast<int64_t>(-0.0)
                                                         : int64_t{std::bit_cast<int32_t>(-0.0f)});
  }

  // The square with its rows as columns: squares of half the size change places.
  Rows turned(Rows rows, std::vector<NodeId>& nodes) {
    const size_t count = rows.size();
    for (size_t half = count / 2; half > 0; half /= 2) {
      std::vector<LaneSource> low, high;
      for (uint32_t lane = 0; lane < count; ++lane) {
        const bool is_first = (lane & half) == 0;
        const auto shift = static_cast<uint32_t>(half);
        low.push_back(is_first ? LaneSource{0, lane} : LaneSource{1, lane - shift});
        high.push_back(is_first ? LaneSource{0, lane + shift} : LaneSource{1, lane});
      }
      for (size_t i = 0; i < count; ++i) {
        if ((i & half) != 0) continue;
        const NodeId both[] = {rows[i], rows[i + half]};
        for (const auto& [to, lanes] : {std::pair(i, &low), std::pair(i + half, &high)}) {
          plan_.shuffles.push_back(*lanes);
          nodes.push_back(plan_.add({.op = Op::kShuffle,
                                     .type = plan_.at(both[0]).type,
                                     .imm = static_cast<int64_t>(plan_.shuffles.size() - 1)},
                                    both));
          rows[to] = nodes.back();
        }
      }
    }
    return rows;
  }

  // The body with columns; false where a turn still needs one of the rows that it carried.
  bool replace(NodeId fold, NodeId folded, const std::vector<Rows>& yields) {
    const Block& old = plan_.at(body_);
    Block body = old;
    std::set<NodeId> gone;  // parameters
    for (size_t i = 0; i < carried_.size(); ++i) {
      for (size_t k = 0; k < carried_[i].numbers.size(); ++k) {
        const size_t number = carried_[i].numbers[k];
        gone.insert(old.parameters[number]);
        body.parameters[number] = carried_[i].columns[k];
        body.yields[number] = yields[i][k];
      }
    }
    const auto at = std::ranges::find(body.nodes, fold);
    const std::set<NodeId> behind(at, body.nodes.end());
    for (NodeId id : made_) {
      for (NodeId arg : plan_.args_of(plan_.at(id))) {
        if (behind.contains(arg)) return false;
      }
    }
    body.nodes.insert(at, made_.begin(), made_.end());
    std::set<NodeId> used(body.yields.begin(), body.yields.end());
    const Block& condition = plan_.at(plan_.blocks_of(plan_.at(loop_))[0]);
    std::vector<NodeId> nodes;
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const NodeId id = body.nodes[i];
      if (id == fold && used.contains(fold)) used.insert(folded);
      if (id == fold || (!writes_memory(plan_.at(id).op) && !used.contains(id))) continue;
      nodes.push_back(id);
      for (NodeId arg : plan_.args_of(plan_.at(id))) used.insert(arg);
    }
    std::ranges::reverse(nodes);
    for (NodeId id : condition.nodes) {
      if (plan_.at(id).block_count > 0) return false;
      for (NodeId arg : plan_.args_of(plan_.at(id))) used.insert(arg);
    }
    for (size_t i = 0; i < condition.parameters.size(); ++i) {
      if (used.contains(condition.parameters[i]) && gone.contains(old.parameters[i])) return false;
    }
    if (std::ranges::any_of(gone, [&](NodeId id) { return used.contains(id); })) return false;
    for (NodeId id : nodes) {
      const Node& node = plan_.at(id);
      for (uint32_t a = 0; a < node.arg_count; ++a) {
        NodeId& arg = plan_.args[node.first_arg + a];
        if (arg == fold) arg = folded;
      }
    }
    std::ranges::replace(body.yields, fold, folded);
    body.nodes = std::move(nodes);
    plan_.blocks[body_.value] = std::move(body);
    return true;
  }

  // Columns before the loop and rows after it.
  void write_outside() {
    const uint32_t first_arg = plan_.at(loop_).first_arg;
    std::vector<NodeId> behind;
    std::vector<NodeId>& nodes = plan_.blocks[block_.value].nodes;
    for (const Carried& carried : carried_) {
      Rows initial, results;
      for (size_t number : carried.numbers) initial.push_back(plan_.args[first_arg + number]);
      initial = turned(initial, before_);
      for (size_t k = 0; k < carried.numbers.size(); ++k) {
        plan_.args[first_arg + carried.numbers[k]] = initial[k];
        const NodeId of[] = {loop_};
        results.push_back(plan_.add({.op = Op::kResult,
                                     .type = plan_.at(initial[k]).type,
                                     .imm = static_cast<int64_t>(carried.numbers[k])},
                                    of));
        behind.push_back(results.back());
      }
      results = turned(results, behind);
      instead_of(carried.numbers, results);
    }
    auto at = nodes.begin() + static_cast<std::ptrdiff_t>(at_);
    nodes.insert(at + 1, behind.begin(), behind.end());
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at_), before_.begin(), before_.end());
  }

  // Who used a carried row's last value uses that of `rows`.
  void instead_of(const std::vector<size_t>& numbers, const Rows& rows) {
    std::map<NodeId, NodeId> instead;
    std::vector<NodeId>& nodes = plan_.blocks[block_.value].nodes;
    std::erase_if(nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      if (node.op != Op::kResult || plan_.args_of(node)[0] != loop_) return false;
      const auto found = std::ranges::find(numbers, static_cast<size_t>(node.imm));
      if (found == numbers.end()) return false;
      instead.emplace(id, rows[static_cast<size_t>(found - numbers.begin())]);
      return true;
    });
    const auto replace = [&](NodeId& id) {
      if (const auto found = instead.find(id); found != instead.end()) id = found->second;
    };
    std::ranges::for_each(plan_.args, replace);
    for (Block& block : plan_.blocks) std::ranges::for_each(block.yields, replace);
  }

  Plan& plan_;
  BlockId block_;
  size_t at_;
  NodeId loop_;
  BlockId body_;
  std::set<NodeId> inside_;
  std::set<BufferId> written_;
  std::map<NodeId, Lanes> lanes_;
  std::map<Rows, Rows> known_;
  std::vector<Carried> carried_;
  std::map<NodeId, NodeId> moved_;
  std::vector<NodeId> made_;    // in the body
  std::vector<NodeId> before_;  // the loop
};

void visit(Plan& plan, BlockId block) {
  for (size_t i = 0; i < plan.at(block).nodes.size(); ++i) {
    const NodeId id = plan.at(block).nodes[i];
    const auto inner = plan.blocks_of(plan.at(id));
    for (BlockId each : std::vector(inner.begin(), inner.end())) visit(plan, each);
    if (plan.at(id).op != Op::kWhile || plan.at(id).arg_count < 2) continue;
    if (Turning(plan, block, i).run())
      i = static_cast<size_t>(std::ranges::find(plan.at(block).nodes, id) -
                              plan.at(block).nodes.begin());
  }
}

}  // namespace

void carry_columns(Plan& plan) { visit(plan, plan.entry); }

}  // namespace heddle::cpu
