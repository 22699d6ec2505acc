#include "heddle/codegen/plan/pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace heddle::cpu {
namespace {

// Those of all lanes: a vector that is wider than the machine's takes several.
int64_t code_size(const Plan& plan, const Node& node) {
  const int64_t lanes = node.type.lanes;
  switch (node.op) {
    case Op::kConstant:
    case Op::kLanes:
    case Op::kParameter:
    case Op::kResult: return 0;
    case Op::kMath: return 3 * lanes;
    case Op::kGather:
    case Op::kScatter: return 4 * lanes;
    case Op::kShuffle: return 4 * static_cast<int64_t>(node.arg_count);
    case Op::kKernel: return 8;
    default: break;
  }
  int64_t size = (lanes * bytes_of(node.type.scalar) + plan.vector_bytes - 1) / plan.vector_bytes;
  for (BlockId block : plan.blocks_of(node)) size += code_size(plan, block);
  return size;
}

// Reads a piece's nodes, with those in their blocks. Values are named by their order of first use.
class Reader {
 public:
  Reader(const Plan& plan, Piece& piece, int64_t size)
      : plan_(plan), piece_(piece), has_places_(!is_apart(plan, piece.nodes, size)) {
    add(has_places_ ? 1 : 0);
    read(piece.nodes);
    piece.buffers.assign(buffers_.begin(), buffers_.end());
  }

 private:
  // What threads run, and pieces of a block inside of this one, find their buffers by themselves.
  static bool is_apart(const Plan& plan, std::span<const NodeId> nodes, int64_t size) {
    return std::ranges::any_of(nodes, [&](NodeId id) {
      const Node& node = plan.at(id);
      return node.shared.valid() || std::ranges::any_of(plan.blocks_of(node), [&](BlockId block) {
               return code_size(plan, block) > size || is_apart(plan, plan.at(block).nodes, size);
             });
    });
  }

  void read(std::span<const NodeId> nodes) {
    for (NodeId id : nodes) {
      read(plan_.at(id));
      number(id);
    }
  }

  void read(const Node& node) {
    type(node);
    touch(node.buffer);
    touch(node.buffer2);
    add(node.checks_stop ? 1 + static_cast<int64_t>(node.origin) : 0);  // whose name is told
    if (node.op == Op::kKernel) {
      touch_kernel(node.imm);
    } else {
      add(node.op == Op::kShuffle ? -1 : node.imm);
    }
    if (node.op == Op::kShuffle) {
      for (const LaneSource& lane : plan_.shuffles[static_cast<size_t>(node.imm)]) {
        add(lane.operand);
        add(lane.lane);
      }
    }
    if (node.op == Op::kKernel) {
      for (BufferId buffer : plan_.kernels[static_cast<size_t>(node.imm)].buffers) touch(buffer);
    }
    use_all(plan_.args_of(node));
    add(node.block_count);
    for (BlockId id : plan_.blocks_of(node)) {
      const Block& block = plan_.at(id);
      for (NodeId parameter : block.parameters) number(parameter);
      add(static_cast<int64_t>(block.parameters.size()));
      add(static_cast<int64_t>(block.nodes.size()));
      read(block.nodes);
      use_all(block.yields);
    }
    if (!node.shared.valid()) return add(-1);
    const SharedLoop& shared = plan_.shared_loops[node.shared.value];
    add(shared.chunk);
    use_all(shared.captured);
    for (BufferId buffer : shared.buffers) touch(buffer);
  }

  void use_all(std::span<const NodeId> ids) {
    add(static_cast<int64_t>(ids.size()));
    for (NodeId id : ids) use(id);
  }
  // An input is told with what made it: products join sums (ops.def).
  void use(NodeId id) {
    if (const auto known = numbers_.find(id); known != numbers_.end()) return add(known->second);
    add(-1);
    type(plan_.at(id));
    if (is_literal(plan_.at(id))) return add(plan_.at(id).imm);
    number(id);
    piece_.inputs.push_back(id);
  }

  // Buffers in one place are one.
  void touch(BufferId id) {
    if (!id.valid()) return add(-1);
    const BufferInfo& buffer = plan_.buffers[id.value];
    add(static_cast<int64_t>(buffer.kind));
    buffers_.insert(id);
    if (!has_places_) return add(buffer.index);
    piece_.place_of[id] = add_place(static_cast<int>(buffer.kind), buffer.index);
  }
  void touch_kernel(int64_t number) {
    if (!has_places_) return add(number);
    piece_.place_of_kernel[number] = add_place(/*table=*/-1, number);
  }
  size_t add_place(int table, int64_t number) {
    const auto [place, is_new] = places_.emplace(std::pair(table, number), places_.size());
    if (is_new) piece_.places.push_back(number);
    add(static_cast<int64_t>(place->second));
    return place->second;
  }
  void type(const Node& node) {
    add(static_cast<int64_t>(node.op));
    add(static_cast<int64_t>(node.type.scalar));
    add(node.type.lanes);
  }
  void number(NodeId id) { numbers_.emplace(id, static_cast<int64_t>(numbers_.size())); }
  void add(int64_t word) { piece_.form.push_back(word); }

  const Plan& plan_;
  Piece& piece_;
  const bool has_places_;
  std::map<std::pair<int, int64_t>, size_t> places_;  // by table and number in it
  std::unordered_map<NodeId, int64_t> numbers_;
  std::set<BufferId> buffers_;
};

// Of what a node is, not of its place.
uint64_t hash_of(const Plan& plan, const Node& node) {
  uint64_t hash = 0;
  for (const int64_t word :
       {static_cast<int64_t>(node.op), static_cast<int64_t>(node.type.scalar),
        static_cast<int64_t>(node.type.lanes), static_cast<int64_t>(node.arg_count),
        node.block_count == 0 ? 0 : code_size(plan, node)})
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15 + (hash >> 29);
  return hash;
}

// Where the piece ends that begins at `first`: of the places that it may end, before the node of
// the least hash, which is the same one in each turn of what repeats.
size_t end_of(const Plan& plan, std::span<const NodeId> nodes, std::span<const size_t> last_results,
              size_t first, int64_t size) {
  size_t end = nodes.size();
  size_t open = 0;  // the last result of the loops so far
  uint64_t least = 0;
  int64_t sum = 0;
  for (size_t last = first; last < nodes.size(); ++last) {
    const Node& node = plan.at(nodes[last]);
    if (sum >= size && last > open) {
      const bool is_first = end == nodes.size();
      if (!is_first && sum > size + size / 4) break;
      const uint64_t hash = hash_of(plan, node);
      if (is_first || hash < least) std::tie(end, least) = std::tuple(last, hash);
    }
    open = std::max(open, last_results[last]);
    sum += code_size(plan, node);
  }
  return end;
}

// By node: the place of a loop's last result; 0 for nodes without one.
std::vector<size_t> last_results_of(const Plan& plan, std::span<const NodeId> nodes) {
  std::vector<size_t> last(nodes.size());
  std::unordered_map<NodeId, size_t> places;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = plan.at(nodes[i]);
    if (node.block_count > 0) places.emplace(nodes[i], i);
    if (node.op == Op::kResult) last[places.at(plan.args_of(node)[0])] = i;
  }
  return last;
}

}  // namespace

bool is_literal(const Node& node) { return node.op == Op::kConstant || node.op == Op::kLanes; }

int64_t code_size(const Plan& plan, BlockId block) {
  int64_t size = 0;
  for (NodeId id : plan.at(block).nodes) size += code_size(plan, plan.at(id));
  return size;
}

Pieces cut(const Plan& plan, BlockId block, int64_t size) {
  const std::vector<NodeId>& nodes = plan.at(block).nodes;
  Pieces out;
  const std::vector<size_t> last_results = last_results_of(plan, nodes);
  std::set<NodeId> kept(plan.at(block).yields.begin(), plan.at(block).yields.end());
  for (size_t first = 0; first < nodes.size();) {
    const size_t end = end_of(plan, nodes, last_results, first, size);
    Piece& piece = out.pieces.emplace_back();
    piece.nodes = std::span(nodes).subspan(first, end - first);
    Reader(plan, piece, size);
    kept.insert(piece.inputs.begin(), piece.inputs.end());
    first = end;
  }
  for (NodeId id : nodes) {
    if (kept.contains(id) && !is_literal(plan.at(id))) out.kept.push_back(id);
  }
  return out;
}

}  // namespace heddle::cpu
