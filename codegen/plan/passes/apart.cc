#include "heddle/codegen/plan/passes/apart.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

namespace heddle::cpu {
namespace {

constexpr int32_t kMostLanesApart = 8;
constexpr size_t kMostNodes = 2000;  // of a turn that is estimated
constexpr double kGain = 0.9;        // an estimate below this share of the other one counts
constexpr int kTurns = 4;            // of an estimate; the second half counts

using NodeMap = std::map<NodeId, NodeId>;

bool is_elementwise(Op op) { return op >= Op::kAdd && op <= Op::kBitcast; }

bool is_reduction_of_halves(const Plan& plan, const Node& node) {
  return node.op == Op::kReduceLanes &&
         std::has_single_bit(static_cast<uint32_t>(plan.at(plan.args_of(node)[0]).type.lanes));
}

// ---- The time of a turn -------------------------------------------------------------------------

// Cycles of a machine of 2022 from the last operand to the value, and cycles of the unit that is
// asked most.
struct Cycles {
  double wait = 1;
  double work = 0.25;
};

Cycles cycles_of(const Node& node) {
  const bool is_fp = is_float(node.type.scalar);
  switch (node.op) {
    case Op::kConstant:
    case Op::kLanes:
    case Op::kParameter:
    case Op::kResult:
    case Op::kSwitch: return {0, 0};
    case Op::kAdd:
    case Op::kSub: return is_fp ? Cycles{4, 0.4} : Cycles{};
    case Op::kMul: return {4, is_fp ? 0.4 : 1};
    case Op::kFma: return {4, 0.4};
    case Op::kMin:
    case Op::kMax: return {8, 2};  // NaN and zeros have an order
    case Op::kDiv: return {12, 4};
    case Op::kSqrt: return {15, 5};
    case Op::kSDiv:
    case Op::kUDiv:
    case Op::kSRem:
    case Op::kURem: return {15, (node.type.is_divided_as_float() ? 0.5 : 6.0) * node.type.lanes};
    case Op::kCompare:
    case Op::kSelect: return {3, 0.5};
    case Op::kMath: return {40, 40.0 * node.type.lanes};
    case Op::kSplat: return {1, 0.5};
    case Op::kExtract: return node.imm == 0 ? Cycles{0, 0} : Cycles{1, 1};
    case Op::kShuffle: return {1, std::max(1.0, node.arg_count - 1.0)};
    case Op::kReduceLanes: {
      const double levels = std::bit_width(static_cast<uint32_t>(node.type.lanes));
      return {5 * levels, 1.5 * levels};
    }
    case Op::kLoad: return {5, 0.5};
    case Op::kGather: return {12, static_cast<double>(node.type.lanes)};
    case Op::kFloatCast:
    case Op::kSToFloat:
    case Op::kUToFloat:
    case Op::kFloatToS:
    case Op::kFloatToU: return {5, 1};
    default: return {};
  }
}

// The turns of a loop, one after the other, on a machine that waits for operands alone.
class Clock {
 public:
  Clock(const Plan& plan, const NodeMap& instead) : plan_(plan), instead_(instead) {}

  double cycles_of_turn(const std::vector<NodeId>& nodes, const Block& body) {
    double half = 0;
    find_left_out(nodes, body);
    for (int turn = 0; turn < kTurns; ++turn) {
      work_ = 0;
      run(nodes);
      std::vector<std::vector<double>> next;
      for (NodeId yield : body.yields) next.push_back(lanes_of(yield));
      for (size_t i = 0; i < next.size(); ++i)
        times_[body.parameters[body.parameters.size() - next.size() + i]] = next[i];
      if (turn + 1 == kTurns / 2) half = latest(next);
    }
    std::vector<std::vector<double>> last;
    for (NodeId parameter : body.parameters) last.push_back(lanes_of(parameter));
    return std::max((latest(last) - half) / (kTurns / 2), work_);
  }

 private:
  static double latest(const std::vector<std::vector<double>>& all) {
    double time = 0;
    for (const auto& lanes : all) {
      for (double each : lanes) time = std::max(time, each);
    }
    return time;
  }
  [[nodiscard]] NodeId resolved(NodeId id) const {
    const auto found = instead_.find(id);
    return found == instead_.end() ? id : found->second;
  }
  // What is made elsewhere is there.
  std::vector<double> lanes_of(NodeId id) {
    id = resolved(id);
    const auto found = times_.find(id);
    if (found != times_.end()) return found->second;
    return std::vector<double>(static_cast<size_t>(plan_.at(id).type.lanes), 0);
  }
  double time_of(NodeId id) { return latest({lanes_of(id)}); }

  void run(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      const Node& node = plan_.at(id);
      const Cycles cycles = cycles_of(node);
      if (!left_out_.contains(id)) work_ += cycles.work;
      times_[id] = lanes_after(node, cycles.wait);
    }
  }

  std::vector<double> lanes_after(const Node& node, double wait) {
    const auto args = plan_.args_of(node);
    std::vector<double> lanes(static_cast<size_t>(node.type.lanes), 0);
    if (node.op == Op::kExtract) return {lanes_of(args[0])[static_cast<size_t>(node.imm)] + wait};
    if (node.op == Op::kShuffle) {
      const auto& sources = plan_.shuffles[static_cast<size_t>(node.imm)];
      for (size_t lane = 0; lane < lanes.size(); ++lane)
        lanes[lane] = lanes_of(args[sources[lane].operand])[sources[lane].lane] + wait;
      return lanes;
    }
    if (leaves_out(node)) {  // a machine guesses which
      std::ranges::fill(lanes, std::min(time_of(args[1]), time_of(args[2])) + wait);
      return lanes;
    }
    double time = node.op == Op::kSwitch ? quickest_branch(node) : 0;
    for (NodeId arg : node.op == Op::kSwitch ? args.subspan(1) : args)
      time = std::max(time, time_of(arg));
    std::ranges::fill(lanes, time + wait);
    return lanes;
  }

  // A select of one number whose first value is computed where it is taken alone.
  static bool leaves_out(const Node& node) {
    return node.op == Op::kSelect && node.imm == 1 && node.type.lanes == 1;
  }
  // What such selects alone read.
  void find_left_out(const std::vector<NodeId>& nodes, const Block& body) {
    std::set<NodeId> needed;
    const auto need = [&](NodeId id) { needed.insert(resolved(id)); };
    std::ranges::for_each(body.yields, need);
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = plan_.at(nodes[i]);
      if (is_elementwise(node.op) && !needed.contains(nodes[i])) {
        left_out_.insert(nodes[i]);
        continue;
      }
      const auto args = plan_.args_of(node);
      for (size_t k = 0; k < args.size(); ++k)
        if (k != 1 || !leaves_out(node)) need(args[k]);
      need_in_blocks(node, need);
    }
  }
  template <class Need>
  void need_in_blocks(const Node& node, const Need& need) const {
    for (BlockId block : plan_.blocks_of(node)) {
      for (NodeId id : plan_.at(block).nodes) {
        std::ranges::for_each(plan_.args_of(plan_.at(id)), need);
        need_in_blocks(plan_.at(id), need);
      }
      std::ranges::for_each(plan_.at(block).yields, need);
    }
  }

  // A machine guesses the branch.
  double quickest_branch(const Node& node) {
    double least = -1;
    const double before = work_;
    double work = 0;
    for (BlockId branch : plan_.blocks_of(node)) {
      work_ = 0;
      run(plan_.at(branch).nodes);
      double time = 0;
      for (NodeId yield : plan_.at(branch).yields) time = std::max(time, time_of(yield));
      if (least < 0 || work_ < work) work = work_;
      if (least < 0 || time < least) least = time;
    }
    work_ = before + work;
    return std::max(least, 0.0);
  }

  const Plan& plan_;
  const NodeMap& instead_;
  std::map<NodeId, std::vector<double>> times_;
  std::set<NodeId> left_out_;
  double work_ = 0;
};

// ---- The lanes apart ----------------------------------------------------------------------------

class VectorParting {
 public:
  explicit VectorParting(Plan& plan) : plan_(plan) {}

  void visit(BlockId block) {
    for (size_t i = 0; i < plan_.at(block).nodes.size(); ++i) {
      const NodeId id = plan_.at(block).nodes[i];
      const auto inner = plan_.blocks_of(plan_.at(id));
      for (BlockId each : std::vector(inner.begin(), inner.end())) visit(each);
      const Op op = plan_.at(id).op;
      if (op == Op::kWhile || op == Op::kFor) part(plan_.blocks_of(plan_.at(id)).back());
    }
  }

 private:
  void part(BlockId body) {
    const std::vector<NodeId> old = plan_.at(body).nodes;
    if (old.size() > kMostNodes || !is_straight(body)) return;
    find_parted(body);
    if (parted_.empty()) return;
    instead_.clear();
    lanes_.clear();
    made_.clear();
    const size_t nodes = plan_.nodes.size(), args = plan_.args.size(),
                 shuffles = plan_.shuffles.size();
    for (NodeId id : old) take(id);
    for (NodeId yield : plan_.at(body).yields) use(yield);
    const NodeMap nothing;
    const Block& block = plan_.at(body);
    const double before = Clock(plan_, nothing).cycles_of_turn(old, block);
    const double after = Clock(plan_, instead_).cycles_of_turn(made_, block);
    if (after < kGain * before) return commit(body);
    plan_.nodes.resize(nodes);
    plan_.args.resize(args);
    plan_.shuffles.resize(shuffles);
  }

  // No loops and kernels, in no branch.
  [[nodiscard]] bool is_straight(BlockId block) const {
    return std::ranges::all_of(plan_.at(block).nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kSwitch)
        return std::ranges::all_of(plan_.blocks_of(node),
                                   [&](BlockId inner) { return is_straight(inner); });
      return node.block_count == 0 && node.op != Op::kKernel && node.op != Op::kCopy;
    });
  }

  [[nodiscard]] bool has_lanes_apart(const Node& node) const {
    return node.type.lanes > 1 && node.type.lanes <= kMostLanesApart &&
           (is_elementwise(node.op) || node.op == Op::kShuffle);
  }

  // The vectors that are made of scalars, or of what the loop carries, and become such again.
  void find_parted(BlockId body) {
    const Block& block = plan_.at(body);
    std::set<NodeId> made, taken(block.yields.begin(), block.yields.end());
    for (NodeId parameter : block.parameters) made.insert(parameter);
    for (NodeId id : block.nodes) {
      const Node& node = plan_.at(id);
      const bool is_made = std::ranges::any_of(plan_.args_of(node), [&](NodeId arg) {
        return made.contains(arg) || (node.op == Op::kShuffle && plan_.at(arg).type.lanes == 1);
      });
      if (has_lanes_apart(node) && is_made) made.insert(id);
    }
    parted_.clear();
    for (size_t i = block.nodes.size(); i-- > 0;) {
      const NodeId id = block.nodes[i];
      const Node& node = plan_.at(id);
      const bool is_parted = has_lanes_apart(node) && taken.contains(id) && made.contains(id);
      if (is_parted) parted_.insert(id);
      if (is_parted || node.op == Op::kExtract || is_reduction_of_halves(plan_, node)) {
        const auto args = plan_.args_of(node);
        taken.insert(args.begin(), args.end());
      }
    }
  }

  // Writes what the node needs, and itself, to made_; one that is taken apart waits for its uses.
  void take(NodeId id) {
    if (parted_.contains(id)) return;
    const Node node = plan_.at(id);
    const auto first = [&] { return plan_.args_of(node)[0]; };
    if (node.op == Op::kExtract && parted_.contains(first())) {
      instead_[id] = lane(first(), node.imm);
    } else if (is_reduction_of_halves(plan_, node) && parted_.contains(first())) {
      instead_[id] = folded(node, first());
    } else {
      use_all(node);
      made_.push_back(id);
    }
  }
  void use_all(const Node& node) {
    const auto args = plan_.args_of(node);
    for (NodeId arg : std::vector(args.begin(), args.end())) use(arg);
    const auto inner = plan_.blocks_of(node);
    for (BlockId block : std::vector(inner.begin(), inner.end())) {
      for (NodeId id : std::vector(plan_.at(block).nodes)) use_all(plan_.at(id));
      for (NodeId yield : std::vector(plan_.at(block).yields)) use(yield);
    }
  }

  // A vector that is needed whole is put together.
  void use(NodeId id) {
    if (!parted_.contains(id) || instead_.contains(id)) return;
    const Type type = plan_.at(id).type;
    std::vector<NodeId> args;
    std::vector<LaneSource> sources;
    for (int64_t i = 0; i < type.lanes; ++i) {
      const NodeId scalar = lane(id, i);
      const auto place = std::ranges::find(args, scalar) - args.begin();
      if (place == std::ssize(args)) args.push_back(scalar);
      sources.push_back({static_cast<uint32_t>(place), 0});
    }
    plan_.shuffles.push_back(std::move(sources));
    instead_[id] = write({.op = Op::kShuffle,
                          .type = type,
                          .imm = static_cast<int64_t>(plan_.shuffles.size()) - 1,
                          .origin = plan_.at(id).origin},
                         args);
  }

  NodeId lane(NodeId id, int64_t number) {
    if (plan_.at(id).type.lanes == 1) {
      const auto found = instead_.find(id);
      return found == instead_.end() ? id : found->second;
    }
    const auto known = lanes_.find({id, number});
    if (known != lanes_.end()) return known->second;
    const NodeId made = make_lane(id, number);
    lanes_[{id, number}] = made;
    return made;
  }

  NodeId make_lane(NodeId id, int64_t number) {
    Node node = plan_.at(id);
    const auto span = plan_.args_of(node);
    const std::vector<NodeId> args(span.begin(), span.end());
    node.type.lanes = 1;
    if (node.op == Op::kSplat) return lane(args[0], 0);
    if (node.op == Op::kConstant) return write(node, {});
    if (!parted_.contains(id))
      return write({.op = Op::kExtract, .type = node.type, .imm = number, .origin = node.origin},
                   {id});
    if (node.op == Op::kShuffle) {
      const LaneSource source =
          plan_.shuffles[static_cast<size_t>(node.imm)][static_cast<size_t>(number)];
      return lane(args[source.operand], source.lane);
    }
    std::vector<NodeId> scalars;
    for (NodeId arg : args) scalars.push_back(lane(arg, number));
    return write(node, scalars);
  }

  // The lower half with the upper one, and so on: as vectors are folded.
  NodeId folded(const Node& node, NodeId vector) {
    std::vector<NodeId> scalars;
    for (int64_t i = 0; i < plan_.at(vector).type.lanes; ++i) scalars.push_back(lane(vector, i));
    const Node fold{.op = static_cast<Op>(node.imm),
                    .type = node.type,
                    .imm = is_float(node.type.scalar) ? 1 : 0,
                    .origin = node.origin};
    while (scalars.size() > 1) {
      const size_t half = scalars.size() / 2;
      for (size_t i = 0; i < half; ++i) scalars[i] = write(fold, {scalars[i], scalars[i + half]});
      scalars.resize(half);
    }
    return scalars[0];
  }

  NodeId write(const Node& node, const std::vector<NodeId>& args) {
    made_.push_back(plan_.add(node, args));
    return made_.back();
  }

  void commit(BlockId body) {
    plan_.blocks[body.value].nodes = made_;
    resolve(body);
  }
  void resolve(BlockId block) {
    const auto change = [&](NodeId& id) {
      if (const auto found = instead_.find(id); found != instead_.end()) id = found->second;
    };
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      std::ranges::for_each(std::span(plan_.args).subspan(node.first_arg, node.arg_count), change);
      for (BlockId inner : plan_.blocks_of(node)) resolve(inner);
    }
    std::ranges::for_each(plan_.blocks[block.value].yields, change);
  }

  Plan& plan_;
  std::set<NodeId> parted_;
  NodeMap instead_;                                     // of what made_ does not have
  std::map<std::pair<NodeId, int64_t>, NodeId> lanes_;  // scalars
  std::vector<NodeId> made_;                            // the turn, anew
};

}  // namespace

void part_vectors(Plan& plan) { VectorParting(plan).visit(plan.entry); }

}  // namespace heddle::cpu
