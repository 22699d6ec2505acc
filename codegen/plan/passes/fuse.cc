#include "heddle/codegen/plan/passes/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/codegen/plan/accesses.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kTooLong = 600;  // operations of a turn: more would not fit into registers

class Fusion {
 public:
  Fusion(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken)
      : plan_(plan), same_(same_memory(plan, taken)) {}

  void run() {
    visit(plan_.entry);
    join_rows(plan_.entry);
  }
  [[nodiscard]] bool is_changed() const { return is_changed_; }

  [[nodiscard]] std::string_view obstacle_before(BlockId block, size_t position) const {
    const std::optional<size_t> first = loop_before(block, position);
    return first ? obstacle(block, *first, position) : "";
  }

 private:
  void visit(BlockId block) {
    for (size_t i = 0; i < plan_.at(block).nodes.size(); ++i) {
      const NodeId id = plan_.at(block).nodes[i];
      const Node node = plan_.at(id);
      if (node.op == Op::kForEach) {
        while (const std::optional<size_t> before = fusible_before(block, i)) {
          std::vector<NodeId>& nodes = plan_.blocks[block.value].nodes;
          live_until(nodes[*before], std::span(nodes).subspan(*before + 1, i - *before));
          fuse(nodes[*before], id);
          nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*before));
          --i;
          is_changed_ = true;
        }
        while (join_nests(block, i)) --i;
      }
      const std::span<const BlockId> blocks = plan_.blocks_of(plan_.at(id));
      for (BlockId inner : std::vector<BlockId>(blocks.begin(), blocks.end())) visit(inner);
    }
  }

  // The for_each before position `second` of the block, with plain nodes between.
  [[nodiscard]] std::optional<size_t> loop_before(BlockId block, size_t second) const {
    const std::vector<NodeId>& nodes = plan_.at(block).nodes;
    size_t first = second;
    while (first > 0 && plan_.at(nodes[first - 1]).block_count == 0) --first;
    if (first == 0 || plan_.at(nodes[first - 1]).op != Op::kForEach) return std::nullopt;
    return first - 1;
  }

  // The loop before position `second` of the block that may join the one there.
  [[nodiscard]] std::optional<size_t> fusible_before(BlockId block, size_t second) const {
    const std::optional<size_t> first = loop_before(block, second);
    return first && obstacle(block, *first, second).empty() ? first : std::nullopt;
  }

  // Why the loops at two positions do not become one; empty where they do.
  [[nodiscard]] std::string_view obstacle(BlockId block, size_t first, size_t second) const {
    const std::vector<NodeId>& nodes = plan_.at(block).nodes;
    const auto a = range_of(plan_, plan_.at(nodes[first])),
               b = range_of(plan_, plan_.at(nodes[second]));
    if (!a || !b || a->from != b->from || a->to != b->to || b->step % a->step != 0 ||
        (b->to - b->from) % b->step != 0)
      return "they have other turns";
    const int64_t copies = b->step / a->step;
    if (std::ssize(body_of(plan_, nodes[first]).nodes) * copies +
            std::ssize(body_of(plan_, nodes[second]).nodes) >
        kTooLong)
      return "together they would not fit into registers";
    const auto of_first = accesses_of(plan_, same_, nodes[first]),
               of_second = accesses_of(plan_, same_, nodes[second]);
    if (!of_first || !of_second || !are_apart(*of_first, *of_second, *a, copies))
      return "a turn reads what other turns write";
    if (!reads_any(*of_first, *of_second)) return "neither reads what the other writes";
    const auto between = std::span(nodes).subspan(first + 1, second - first - 1);
    return may_go_before(between, *of_first) ? "" : "what stands between them reads the first";
  }

  // ---- Loops over rows with a loop in each.
  // The one loop in the body, beside plain operations that touch no memory. Not valid: none.
  [[nodiscard]] NodeId inner_of(NodeId loop) const {
    NodeId inner;
    for (NodeId id : body_of(plan_, loop).nodes) {
      const Node& node = plan_.at(id);
      if (node.block_count == 0 && !node.buffer.valid() && node.op != Op::kKernel) continue;
      if (inner.valid() || node.op != Op::kForEach) return {};
      inner = id;
    }
    return inner;
  }

  // The distance of rows whose index the node is: turn * distance. 0: another node.
  [[nodiscard]] int64_t row_of(NodeId id, NodeId turn) const {
    if (!id.valid() || plan_.at(id).op != Op::kMul || plan_.args_of(plan_.at(id))[0] != turn)
      return 0;
    const Node& by = plan_.at(plan_.args_of(plan_.at(id))[1]);
    return by.op == Op::kConstant && by.imm > 0 ? by.imm : 0;
  }

  // The nest before position `second` of the block and the loop there become one over the rows, in
  // which the inner loops follow each other: where turns of the second touch what the same turns
  // of the first do. The second is such a nest too, or goes over all elements of the rows.
  bool join_nests(BlockId block, size_t second) {
    const std::optional<size_t> first = loop_before(block, second);
    if (!first) return false;
    const std::span behind = std::span(plan_.at(block).nodes).subspan(*first + 1, second - *first);
    const NodeId a = plan_.at(block).nodes[*first], b = behind.back();
    const NodeId inner = inner_of(a);
    if (!inner.valid()) return false;
    const auto rows = range_of(plan_, plan_.at(a)), columns = range_of(plan_, plan_.at(inner)),
               all = range_of(plan_, plan_.at(b));
    if (!rows || !columns || !all || rows->from != 0 || rows->step != 1 || columns->from != 0 ||
        columns->to % columns->step != 0)
      return false;
    const NodeId of_b = inner_of(b);
    const LoopRange expected =
        of_b.valid() ? *rows : LoopRange{0, rows->to * columns->to, columns->step};
    if (*all != expected || (of_b.valid() && range_of(plan_, plan_.at(of_b)) != columns))
      return false;
    const auto of_first = accesses_of(plan_, same_, inner),
               of_second = accesses_of(plan_, same_, of_b.valid() ? of_b : b);
    if (!of_first || !of_second || !may_go_before(behind.first(behind.size() - 1), *of_first))
      return false;
    NodeId row_of_a, row_of_b;
    for (const Access& y : *of_second) {
      for (const Access& x : *of_first) {
        if (x.buffer != y.buffer || (!x.is_write && !y.is_write)) continue;
        const int64_t distance = row_of(x.index.from, body_of(plan_, a).parameters[0]);
        const bool is_same_row =
            of_b.valid() ? row_of(y.index.from, body_of(plan_, b).parameters[0]) == distance
                         : !y.index.from.valid() && distance == columns->to;
        const auto is_of_turn = [&](const Access& access) {
          return access.is_known && access.index.by == 1 && access.index.offset >= 0 &&
                 access.index.offset + access.lanes <= columns->step;
        };
        if (distance < columns->to || !is_same_row || !is_of_turn(x) || !is_of_turn(y))
          return false;
        if (!x.is_write) continue;
        row_of_a = x.index.from, row_of_b = y.index.from;
      }
    }
    if (!row_of_a.valid()) return false;  // nothing would be gained
    live_until(a, behind);
    if (!of_b.valid()) split_rows(b, a, inner, row_of_a);
    // The first one's row stands for both.
    Block& to = plan_.blocks[plan_.blocks_of(plan_.at(b))[0].value];
    const NodeId turn = to.parameters[0];
    std::vector<NodeId> nodes = take_nodes(a);
    for (NodeId id : nodes) replace(id, body_of(plan_, a).parameters[0], turn);
    std::erase(nodes, inner);
    nodes.push_back(inner);
    for (NodeId id : to.nodes) {
      if (id == row_of_b) continue;
      replace(id, row_of_b, row_of_a);
      nodes.push_back(id);
    }
    to.nodes = std::move(nodes);
    std::vector<NodeId>& outer = plan_.blocks[block.value].nodes;
    outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(*first));
    is_changed_ = true;
    return true;
  }

  // A loop over all elements becomes one over the rows of a nest, with one over the columns; `row`
  // is the number of a row's first element.
  void split_rows(NodeId loop, NodeId nest, NodeId inner, NodeId row) {
    const Type index = {Scalar::kI64, 1};
    const BlockId body = plan_.blocks_of(plan_.at(loop))[0];
    const NodeId column = plan_.at(body).parameters[0];
    const NodeId both[] = {row, column};
    const NodeId element = plan_.add({.op = Op::kAdd, .type = index}, both);
    std::vector<NodeId>& nodes = plan_.blocks[body.value].nodes;
    for (NodeId id : nodes) replace(id, column, element);
    nodes.insert(nodes.begin(), element);
    const std::vector<NodeId> bounds(plan_.args_of(plan_.at(inner)).begin(),
                                     plan_.args_of(plan_.at(inner)).end());
    const NodeId columns = plan_.add(plan_.at(loop), bounds);  // with its body
    const NodeId turn = plan_.add({.op = Op::kParameter, .type = index}, {});
    Node& rows = plan_.nodes[loop.value];
    rows.imm = 1;
    rows.first_block = static_cast<uint32_t>(plan_.block_lists.size());
    plan_.args[rows.first_arg + 1] = plan_.args_of(plan_.at(nest))[1];
    plan_.block_lists.emplace_back(plan_.blocks.size());
    plan_.blocks.push_back({.parameters = {turn}, .nodes = {columns}, .yields = {}});
  }

  // The loop goes, and its block, which passes still come by, has nothing any more.
  std::vector<NodeId> take_nodes(NodeId loop) {
    return std::exchange(plan_.blocks[plan_.blocks_of(plan_.at(loop))[0].value].nodes, {});
  }

  // In the node and what it holds.
  void replace(NodeId id, NodeId what, NodeId by) {
    const Node node = plan_.at(id);
    for (uint32_t i = 0; i < node.arg_count; ++i) {
      NodeId& arg = plan_.args[node.first_arg + i];
      if (arg == what) arg = by;
    }
    for (BlockId block : plan_.blocks_of(node)) {
      for (NodeId inner : plan_.at(block).nodes) replace(inner, what, by);
      for (NodeId& yield : plan_.blocks[block.value].yields) {
        if (yield == what) yield = by;
      }
    }
  }

  // ---- Loops over rows that write parts of the same rows, as of a concatenation: one loop writes
  // memory in order, and each inner loop or part stays what it is.
  void join_rows(BlockId block) {
    for (size_t i = 0; i < plan_.at(block).nodes.size(); ++i) {
      if (plan_.at(plan_.at(block).nodes[i]).op == Op::kForEach) {
        while (const std::optional<size_t> first = rows_before(block, i)) {
          put_before(block, *first, i);
          --i;
        }
      }
      const Node node = plan_.at(plan_.at(block).nodes[i]);
      for (uint32_t k = 0; k < node.block_count; ++k)
        join_rows(plan_.block_lists[node.first_block + k]);
    }
  }

  // The loop before position `second` of the block that writes other parts of the rows that the
  // loop there writes: no turn of either touches what another turn of the other writes.
  [[nodiscard]] std::optional<size_t> rows_before(BlockId block, size_t second) const {
    const std::vector<NodeId>& nodes = plan_.at(block).nodes;
    const std::optional<size_t> first = loop_before(block, second);
    if (!first) return std::nullopt;
    const auto range = range_of(plan_, plan_.at(nodes[*first]));
    if (!range || range->step != 1 || range != range_of(plan_, plan_.at(nodes[second])))
      return std::nullopt;
    const auto a = nest_of(plan_, same_, nodes[*first]), b = nest_of(plan_, same_, nodes[second]);
    if (!a || !b || (a->inner.empty() && b->inner.empty()) ||
        std::ssize(a->inside) + std::ssize(b->inside) > kTooLong)
      return std::nullopt;
    const auto end = [](const Access& x) { return x.index.offset + x.index.spread + x.lanes; };
    bool both_write = false;
    for (const Access& x : a->accesses) {
      for (const Access& y : b->accesses) {
        if (x.buffer != y.buffer || (!x.is_write && !y.is_write)) continue;
        const int64_t width = std::max(end(x), end(y)) - std::min(x.index.offset, y.index.offset);
        if (x.index.from != y.index.from || x.index.by != y.index.by || x.index.by < width)
          return std::nullopt;
        both_write |= x.is_write && y.is_write;
      }
    }
    const auto between = std::span(nodes).subspan(*first + 1, second - *first - 1);
    return both_write && may_go_before(between, a->accesses) ? first : std::nullopt;
  }

  // The turns of the first loop go before those of the second one, which stays.
  void put_before(BlockId block, size_t first, size_t second) {
    std::vector<NodeId>& outer = plan_.blocks[block.value].nodes;
    const NodeId a = outer[first], b = outer[second];
    live_until(a, std::span(outer).subspan(first + 1, second - first));
    Block& to = plan_.blocks[plan_.blocks_of(plan_.at(b))[0].value];
    std::vector<NodeId> nodes = take_nodes(a);
    for (NodeId id : nodes) replace(id, body_of(plan_, a).parameters[0], to.parameters[0]);
    // Where a row begins is one node, by which the loops inside are known to write the same rows.
    for (NodeId id : to.nodes) {
      const Node& node = plan_.at(id);
      const auto same = std::ranges::find_if(nodes, [&](NodeId other) {
        const Node& its = plan_.at(other);
        return (node.op == Op::kMul || node.op == Op::kAdd) && its.op == node.op &&
               its.type == node.type && std::ranges::equal(plan_.args_of(its), plan_.args_of(node));
      });
      if (same == nodes.end() || *same == id) {
        nodes.push_back(id);
      } else {
        for (NodeId user : to.nodes) replace(user, id, *same);
      }
    }
    to.nodes = std::move(nodes);
    outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(first));
    is_changed_ = true;
  }

  // Nodes that the first loop moves behind.
  [[nodiscard]] bool may_go_before(std::span<const NodeId> nodes,
                                   const std::vector<Access>& loop) const {
    return std::ranges::none_of(nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kKernel || node.op == Op::kCopy) return true;
      if (!node.buffer.valid()) return false;
      return std::ranges::any_of(loop, [&](const Access& access) {
        return access.buffer == same_[node.buffer.value] &&
               (access.is_write || writes_memory(node.op));
      });
    });
  }

  // Turns of the two touch each other's elements in one turn of the second alone.
  static bool are_apart(const std::vector<Access>& first, const std::vector<Access>& second,
                        const LoopRange& range, int64_t copies) {
    for (const Access& b : second) {
      for (const Access& a : first) {
        if (a.buffer != b.buffer || (!a.is_write && !b.is_write)) continue;
        const int64_t row = a.index.by * range.step;  // elements of a turn of the first
        if (!a.is_known || !b.is_known || row <= 0 || a.index.by != b.index.by ||
            a.index.from != b.index.from || a.index.offset < 0 || b.index.offset < 0)
          return false;
        if (a.index.offset + a.lanes > row || b.index.offset % row + b.lanes > row ||
            b.index.offset / row >= copies)
          return false;
      }
    }
    return true;
  }

  // The second touches what the first writes: then a loop fewer gains something.
  static bool reads_any(const std::vector<Access>& first, const std::vector<Access>& second) {
    return std::ranges::any_of(second, [&](const Access& b) {
      return std::ranges::any_of(
          first, [&](const Access& a) { return a.is_write && a.buffer == b.buffer; });
    });
  }

  // What the first loop touches lives as long as what those behind it touch, the second loop and
  // the nodes between, which go before it.
  void live_until(NodeId first, std::span<const NodeId> behind) {
    int64_t born = -1;
    const auto touch = [&](NodeId id) {
      if (const BufferId buffer = plan_.at(id).buffer; buffer.valid())
        born = std::max(born, plan_.buffers[buffer.value].born);
    };
    for (NodeId id : behind) for_each_inside(id, touch);
    for_each_inside(first, [&](NodeId id) {
      const BufferId buffer = plan_.at(id).buffer;
      if (!buffer.valid() || plan_.buffers[buffer.value].born < 0) return;
      int64_t& last = plan_.buffers[buffer.value].last;
      last = std::max(last, born);
    });
  }

  // The node and what it holds.
  template <class Visit>
  void for_each_inside(NodeId id, const Visit& visit) const {
    visit(id);
    for (BlockId block : plan_.blocks_of(plan_.at(id))) {
      for (NodeId inner : plan_.at(block).nodes) for_each_inside(inner, visit);
    }
  }

  // The turns of the first loop stand in the second one's, each before the first load of what it
  // stores.
  void fuse(NodeId first, NodeId second) {
    const LoopRange range = *range_of(plan_, plan_.at(first));
    const int64_t copies = plan_.at(second).imm / range.step;
    const Block from = body_of(plan_, first), to = body_of(plan_, second);
    const std::set<NodeId> inside(to.nodes.begin(), to.nodes.end());
    const NodeId turn = to.parameters[0];
    std::vector<NodeId> nodes;
    std::vector<bool> is_made(static_cast<size_t>(copies));
    std::map<std::tuple<BufferId, int64_t, Type>, NodeId, ByPlace> stored;
    const auto make = [&](int64_t copy) {
      if (is_made[static_cast<size_t>(copy)]) return;
      is_made[static_cast<size_t>(copy)] = true;
      add_turn(from, turn, copy * range.step, nodes, stored);
    };
    std::map<BufferId, bool> is_written;  // buffers of the first
    for (NodeId id : from.nodes) {
      const Node& node = plan_.at(id);
      if (node.buffer.valid()) is_written[same_[node.buffer.value]] |= node.op == Op::kStore;
    }
    std::map<NodeId, NodeId> instead;
    for (NodeId id : to.nodes) {
      Node& node = plan_.nodes[id.value];
      for (uint32_t i = 0; i < node.arg_count; ++i) {
        NodeId& arg = plan_.args[node.first_arg + i];
        if (const auto found = instead.find(arg); found != instead.end()) arg = found->second;
      }
      const auto shared =
          is_written.find(node.buffer.valid() ? same_[node.buffer.value] : BufferId());
      const bool is_store = node.op == Op::kStore;
      if (shared != is_written.end() && (is_store || shared->second)) {
        const Type type = node.type;
        const ElementIndex index = *index_of(plan_, plan_.args_of(node)[0], turn, inside);
        make(index.offset / (index.by * range.step));
        const auto found = stored.find({shared->first, index.offset, type});
        if (!is_store && found != stored.end()) {
          instead.emplace(id, found->second);
          continue;
        }
        if (is_store) {
          std::erase_if(stored,
                        [&](const auto& each) { return std::get<0>(each.first) == shared->first; });
        }
      }
      nodes.push_back(id);
    }
    for (int64_t copy = 0; copy < copies; ++copy) make(copy);
    plan_.blocks[plan_.blocks_of(plan_.at(second))[0].value].nodes = std::move(nodes);
  }

  struct ByPlace {
    bool operator()(const std::tuple<BufferId, int64_t, Type>& a,
                    const std::tuple<BufferId, int64_t, Type>& b) const {
      const auto key = [](const auto& place) {
        const Type type = std::get<2>(place);
        return std::tuple(std::get<0>(place).value, std::get<1>(place), type.scalar, type.lanes);
      };
      return key(a) < key(b);
    }
  };

  // A turn of the first loop, `ahead` of the turn of the second; what it stores goes to `stored`.
  void add_turn(const Block& body, NodeId turn, int64_t ahead, std::vector<NodeId>& nodes,
                std::map<std::tuple<BufferId, int64_t, Type>, NodeId, ByPlace>& stored) {
    const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
    const NodeId by = plan_.add({.op = Op::kConstant, .type = {Scalar::kI64, 1}, .imm = ahead}, {});
    const NodeId both[] = {turn, by};
    const NodeId now = plan_.add({.op = Op::kAdd, .type = {Scalar::kI64, 1}}, both);
    nodes.insert(nodes.end(), {by, now});
    std::map<NodeId, NodeId> copies = {{body.parameters[0], now}};
    for (NodeId id : body.nodes) {
      const Node node = plan_.at(id);
      std::vector<NodeId> args(plan_.args_of(node).begin(), plan_.args_of(node).end());
      for (NodeId& arg : args) {
        if (const auto found = copies.find(arg); found != copies.end()) arg = found->second;
      }
      nodes.push_back(plan_.add(node, args));
      copies.emplace(id, nodes.back());
      if (node.op != Op::kStore) continue;
      const auto index = index_of(plan_, plan_.args_of(node)[0], body.parameters[0], inside);
      if (!index) continue;
      const BufferId buffer = same_[node.buffer.value];
      const int64_t from = index->offset + index->by * ahead, to = from + node.type.lanes;
      std::erase_if(stored, [&](const auto& each) {
        const auto& [of, first, type] = each.first;
        return of == buffer && first < to && from < first + type.lanes;
      });
      stored[{buffer, from, node.type}] = args[1];
    }
  }

  Plan& plan_;
  std::vector<BufferId> same_;  // by buffer: the one that stands for its memory
  bool is_changed_ = false;
};

}  // namespace

void fuse_loops(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken) {
  Fusion fusion(plan, taken);
  fusion.run();
  if (fusion.is_changed()) remove_unread_stores(plan);
}

std::map<NodeId, std::string_view> fusion_obstacles(Plan plan) {
  const Fusion fusion(plan, {});
  std::map<NodeId, std::string_view> obstacles;
  for (size_t block = 0; block < plan.blocks.size(); ++block) {
    const std::vector<NodeId>& nodes = plan.blocks[block].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (plan.at(nodes[i]).op == Op::kForEach)
        obstacles[nodes[i]] = fusion.obstacle_before(BlockId(block), i);
    }
  }
  return obstacles;
}

}  // namespace heddle::cpu
