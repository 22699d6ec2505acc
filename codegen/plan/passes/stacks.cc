#include "heddle/codegen/plan/passes/stacks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace heddle::cpu {
namespace {

constexpr size_t kFewest = 4;  // arrays that are worth it

// Where an array is written or read: every array of a stack has the same places.
struct Place {
  bool is_store = false;
  BlockId block;
  NodeId index;
  friend auto operator<=>(const Place& a, const Place& b) {
    return std::tuple(a.is_store, a.block.value, a.index.value) <=>
           std::tuple(b.is_store, b.block.value, b.index.value);
  }
};

// All that is done with one array.
struct Uses {
  std::set<Place> places;
  Type type;
  bool are_scalar = true;  // one element at a time, once at each place
};

// Which lane of which vector a scalar is; a scalar of its own is the lane of itself.
struct Lane {
  NodeId vector;
  uint32_t lane = 0;
};

class Joining {
 public:
  explicit Joining(Plan& plan) : plan_(plan), uses_(plan.buffers.size()) {}

  void run() {
    find_uses(plan_.entry);
    for (const KernelUse& kernel : plan_.kernels) {
      for (BufferId buffer : kernel.buffers) uses_[buffer.value].are_scalar = false;
    }
    using Key = std::tuple<std::set<Place>, Scalar, int64_t, int64_t>;
    std::map<Key, std::vector<BufferId>> groups;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const BufferInfo& buffer = plan_.buffers[i];
      const Uses& uses = uses_[i];
      if (buffer.kind != BufferInfo::Kind::kArena || !uses.are_scalar || uses.places.empty())
        continue;
      if (buffer.bytes < 2 * bytes_of(uses.type.scalar) || !uses.places.rbegin()->is_store)
        continue;
      groups[{uses.places, uses.type.scalar, buffer.bytes, buffer.last}].push_back(BufferId(i));
    }
    for (auto& [key, buffers] : groups) {
      if (buffers.size() < kFewest) continue;
      join(std::get<0>(key), buffers);
      is_changed_ = true;
    }
    if (is_changed_) shuffle_vectors();
  }

 private:
  struct Member {
    size_t chunk = 0;
    uint32_t lane = 0;
  };
  // Neighbours that are stored and loaded as one vector.
  struct Chunk {
    int64_t first = 0;  // its place in a row
    int32_t lanes = 0;
  };
  struct Stack {
    BufferId buffer;
    Type type;
    int64_t row = 0;  // elements of one turn
    std::map<BufferId, Member> members;
    std::vector<Chunk> chunks;
  };

  void find_uses(BlockId block) {
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      const bool is_store = node.op == Op::kStore;
      if (is_store || node.op == Op::kLoad) {
        Uses& uses = uses_[node.buffer.value];
        if (uses.places.empty()) uses.type = node.type;
        const bool is_new = uses.places.insert({is_store, block, plan_.args_of(node)[0]}).second;
        if (!is_new || node.type.lanes != 1 || node.type != uses.type) uses.are_scalar = false;
      } else {
        for (BufferId buffer : {node.buffer, node.buffer2}) {
          if (buffer.valid()) uses_[buffer.value].are_scalar = false;
        }
      }
      for (BlockId inner : plan_.blocks_of(node)) find_uses(inner);
    }
  }

  [[nodiscard]] Lane lane_of(NodeId value) const {
    const Node& node = plan_.at(value);
    if (node.op != Op::kExtract) return {value, 0};
    return {plan_.args_of(node)[0], static_cast<uint32_t>(node.imm)};
  }

  // The arrays in the order in which the first store finds their values in vectors.
  [[nodiscard]] std::vector<std::pair<BufferId, Lane>> in_order(
      const Place& store, const std::set<BufferId>& buffers) const {
    std::vector<std::pair<BufferId, Lane>> members;
    for (NodeId id : plan_.at(store.block).nodes) {
      const Node& node = plan_.at(id);
      const bool is_here = node.op == Op::kStore && plan_.args_of(node)[0] == store.index;
      if (is_here && buffers.contains(node.buffer))
        members.emplace_back(node.buffer, lane_of(plan_.args_of(node)[1]));
    }
    std::ranges::stable_sort(members, {}, [&](const auto& member) {
      const Lane lane = member.second;
      const bool is_alone = plan_.at(lane.vector).type.lanes == 1;
      return std::tuple(is_alone, is_alone ? 0 : lane.vector.value, lane.lane);
    });
    return members;
  }

  void join(const std::set<Place>& places, const std::vector<BufferId>& buffers) {
    const std::set<BufferId> all(buffers.begin(), buffers.end());
    Stack stack{.buffer = buffers[0], .type = uses_[buffers[0].value].type};
    const auto widest = static_cast<int32_t>(plan_.vector_bytes /
                                             std::max<int64_t>(bytes_of(stack.type.scalar), 4));
    std::optional<Lane> before;
    for (const auto& [buffer, lane] : in_order(*places.rbegin(), all)) {
      const bool is_alone = plan_.at(lane.vector).type.lanes == 1;
      const bool goes_on =
          before.has_value() && stack.chunks.back().lanes < widest &&
          (is_alone ? plan_.at(before->vector).type.lanes == 1 : before->vector == lane.vector);
      if (!goes_on) stack.chunks.push_back({.first = stack.row});
      Chunk& chunk = stack.chunks.back();
      stack.members[buffer] = {stack.chunks.size() - 1, static_cast<uint32_t>(chunk.lanes++)};
      ++stack.row;
      before = lane;
    }
    for (const Place& place : places) move(stack, place);
    BufferInfo& info = plan_.buffers[stack.buffer.value];
    for (BufferId buffer : buffers) {
      if (buffer == stack.buffer) continue;
      BufferInfo& part = plan_.buffers[buffer.value];
      info.bytes += part.bytes;
      info.born = std::min(info.born, part.born);
      part = {.bytes = 0};
    }
  }

  NodeId index_constant(int64_t value, std::vector<NodeId>& to) {
    to.push_back(plan_.add({.op = Op::kConstant, .type = {Scalar::kI64, 1}, .imm = value}, {}));
    return to.back();
  }
  NodeId index_op(Op op, NodeId a, NodeId b, std::vector<NodeId>& to) {
    const NodeId args[] = {a, b};
    to.push_back(plan_.add({.op = op, .type = {Scalar::kI64, 1}}, args));
    return to.back();
  }

  // What is done at one place, chunk by chunk. A chunk is stored where its last array was, and
  // loaded where its first one was; if something stands between that could see the difference, its
  // elements stay apart.
  void move(const Stack& stack, const Place& place) {
    std::vector<std::vector<size_t>> chunks(stack.chunks.size());  // positions in the block
    const std::vector<NodeId> nodes = plan_.at(place.block).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (is_at(stack, place, nodes[i])) chunks[member(stack, nodes[i]).chunk].push_back(i);
    }
    std::map<size_t, std::vector<NodeId>> before;  // new nodes, by the position that they precede
    std::set<size_t> gone;
    NodeId row;
    for (size_t c = 0; c < chunks.size(); ++c) {
      const Chunk& chunk = stack.chunks[c];
      const std::vector<size_t>& at = chunks[c];
      const bool is_whole = at.size() > 1 && std::ssize(at) == chunk.lanes &&
                            can_move(stack, place, nodes, at.front(), at.back());
      for (size_t position : at) {
        if (is_whole && position != (place.is_store ? at.back() : at.front())) continue;
        std::vector<NodeId>& made = before[position];
        if (!row.valid()) {
          std::vector<NodeId>& first = before[first_position(chunks)];
          row = index_op(Op::kMul, place.index, index_constant(stack.row, first), first);
        }
        const int64_t offset = chunk.first + (is_whole ? 0 : member(stack, nodes[position]).lane);
        const NodeId index = index_op(Op::kAdd, row, index_constant(offset, made), made);
        if (is_whole && place.is_store) {
          store(stack, nodes, at, index, made);
          gone.insert(at.begin(), at.end());
        } else if (is_whole) {
          load(stack, nodes, at, index, made);
        } else {
          Node& node = plan_.nodes[nodes[position].value];
          node.buffer = stack.buffer;
          plan_.args[node.first_arg] = index;
        }
      }
    }
    std::vector<NodeId> result;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (const auto made = before.find(i); made != before.end())
        result.insert(result.end(), made->second.begin(), made->second.end());
      if (!gone.contains(i)) result.push_back(nodes[i]);
    }
    plan_.blocks[place.block.value].nodes = std::move(result);
  }

  static size_t first_position(const std::vector<std::vector<size_t>>& chunks) {
    size_t first = std::numeric_limits<size_t>::max();
    for (const std::vector<size_t>& chunk : chunks) {
      if (!chunk.empty()) first = std::min(first, chunk.front());
    }
    return first;
  }

  [[nodiscard]] static Member member(const Stack& stack, BufferId buffer) {
    return stack.members.at(buffer);
  }
  [[nodiscard]] Member member(const Stack& stack, NodeId node) const {
    return member(stack, plan_.at(node).buffer);
  }

  [[nodiscard]] bool is_at(const Stack& stack, const Place& place, NodeId id) const {
    const Node& node = plan_.at(id);
    return node.op == (place.is_store ? Op::kStore : Op::kLoad) &&
           stack.members.contains(node.buffer) && plan_.args_of(node)[0] == place.index;
  }

  // Nothing between the two positions reads, or where loads move, writes the stack.
  [[nodiscard]] bool can_move(const Stack& stack, const Place& place,
                              const std::vector<NodeId>& nodes, size_t from, size_t to) const {
    for (size_t i = from; i < to; ++i) {
      const Node& node = plan_.at(nodes[i]);
      if (node.block_count > 0) return false;
      const bool touches = node.op == Op::kLoad || node.op == Op::kStore;
      if (touches && stack.members.contains(node.buffer) && !is_at(stack, place, nodes[i]))
        return false;
    }
    return true;
  }

  void store(const Stack& stack, const std::vector<NodeId>& nodes, const std::vector<size_t>& at,
             NodeId index, std::vector<NodeId>& made) {
    std::vector<NodeId> values(at.size());
    for (size_t position : at) {
      values[member(stack, nodes[position]).lane] = plan_.args_of(plan_.at(nodes[position]))[1];
    }
    const Type wide = {stack.type.scalar, static_cast<int32_t>(at.size())};
    std::vector<LaneSource> sources;
    for (uint32_t lane = 0; lane < values.size(); ++lane) sources.push_back({lane, 0});
    plan_.shuffles.push_back(std::move(sources));
    made.push_back(plan_.add(
        {.op = Op::kShuffle, .type = wide, .imm = static_cast<int64_t>(plan_.shuffles.size() - 1)},
        values));
    const NodeId args[] = {index, made.back()};
    made.push_back(plan_.add({.op = Op::kStore,
                              .type = wide,
                              .buffer = stack.buffer,
                              .origin = plan_.at(nodes[at.back()]).origin},
                             args));
  }

  void load(const Stack& stack, const std::vector<NodeId>& nodes, const std::vector<size_t>& at,
            NodeId index, std::vector<NodeId>& made) {
    const Type wide = {stack.type.scalar, static_cast<int32_t>(at.size())};
    const NodeId args[] = {index};
    made.push_back(plan_.add({.op = Op::kLoad,
                              .type = wide,
                              .buffer = stack.buffer,
                              .origin = plan_.at(nodes[at.front()]).origin},
                             args));
    for (size_t position : at) {
      Node& node = plan_.nodes[nodes[position].value];
      const uint32_t lane = member(stack, node.buffer).lane;
      node.op = Op::kExtract;
      node.imm = lane;
      node.buffer = {};
      plan_.args[node.first_arg] = made.back();
    }
  }

  // Shuffles take lanes of vectors where they took scalars that are such lanes.
  void shuffle_vectors() {
    const size_t count = plan_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      const Node node = plan_.nodes[i];
      if (node.op != Op::kShuffle) continue;
      const std::vector<NodeId> operands(plan_.args_of(node).begin(), plan_.args_of(node).end());
      std::vector<NodeId> vectors;
      for (LaneSource& source : plan_.shuffles[static_cast<size_t>(node.imm)]) {
        const NodeId operand = operands[source.operand];
        const Lane lane =
            plan_.at(operand).type.lanes == 1 ? lane_of(operand) : Lane{operand, source.lane};
        const auto found = std::ranges::find(vectors, lane.vector);
        source = {static_cast<uint32_t>(found - vectors.begin()), lane.lane};
        if (found == vectors.end()) vectors.push_back(lane.vector);
      }
      std::ranges::copy(vectors, plan_.args.begin() + node.first_arg);  // they are not more
      plan_.nodes[i].arg_count = static_cast<uint32_t>(vectors.size());
    }
  }

  Plan& plan_;
  std::vector<Uses> uses_;  // by buffer
  bool is_changed_ = false;
};

}  // namespace

void join_stacks(Plan& plan) { Joining(plan).run(); }

}  // namespace heddle::cpu
