#include "heddle/codegen/plan/summary.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/passes/fuse.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr size_t kMostNames = 12;

bool is_for(Op op) { return op == Op::kFor || op == Op::kForEach; }
bool is_control(Op op) { return is_for(op) || op == Op::kWhile || op == Op::kSwitch; }

// Arithmetic; not places, constants and what moves lanes.
bool computes(const Node& node) {
  switch (node.op) {
    case Op::kConstant:
    case Op::kLanes:
    case Op::kParameter:
    case Op::kResult:
    case Op::kSplat:
    case Op::kExtract:
    case Op::kShuffle:
    case Op::kLoad:
    case Op::kGather:
    case Op::kStore:
    case Op::kScatter:
    case Op::kCopy:
    case Op::kKernel: return false;
    default: return !is_control(node.op);
  }
}

std::string_view scalar_name(Scalar scalar) {
  static constexpr std::string_view kNames[] = {"pred", "i8", "i16", "i32", "i64", "f32", "f64"};
  return kNames[static_cast<size_t>(scalar)];
}

// What the nodes of one block, and of no block inside, say about it.
struct Contents {
  std::vector<std::string> names;  // of what is computed or written, in order
  Type widest;                     // of what is computed or written
  bool gathers = false, calls = false, has_inner = false;
  int shuffles = 0;  // of scalars into lanes
};

class Text {
 public:
  explicit Text(const Plan& plan) : plan_(plan), apart_(fusion_obstacles(plan)) {}

  std::string run() {
    write_straight(plan_.entry, 1);
    write(plan_.entry, 1);
    return std::move(out_);
  }

 private:
  [[nodiscard]] Contents contents_of(BlockId id) const {
    Contents found;
    for (NodeId n : plan_.at(id).nodes) {
      const Node& node = plan_.at(n);
      found.has_inner |= is_for(node.op) || node.op == Op::kWhile || node.op == Op::kKernel;
      found.gathers |= node.op == Op::kGather || node.op == Op::kScatter;
      found.calls |= node.op == Op::kMath;
      found.shuffles += node.op == Op::kShuffle ? 1 : 0;
      const bool writes = node.op == Op::kStore || node.op == Op::kScatter;
      if (!writes && (!computes(node) || node.type == Type{})) continue;  // indices
      if (node.type.lanes > found.widest.lanes || !is_float(found.widest.scalar))
        found.widest = node.type;
      if (node.origin == 0) continue;
      const std::string& name = plan_.origins[node.origin].name;
      if (!std::ranges::count(found.names, name)) found.names.push_back(name);
    }
    return found;
  }

  void line(int depth, uint32_t origin, const std::string& text) {
    const std::string what = origin == 0 ? "" : to_string(plan_.origins[origin]) + ": ";
    out_ += cat(std::string(static_cast<size_t>(2 * depth), ' '), what, text, "\n");
  }

  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
      text += cat(i == 0 ? "" : ", ", names[i]);
    if (names.size() > kMostNames) text += cat(" and ", names.size() - kMostNames, " more");
    return text;
  }

  [[nodiscard]] std::string width(const Node& loop, const Contents& body) const {
    if (body.widest.lanes > 1)
      return cat(", vectors of ", body.widest.lanes, " ", scalar_name(body.widest.scalar));
    if (body.has_inner || body.names.empty()) return "";
    if (loop.op == Op::kFor && loop.arg_count > 2)
      return ", no vectors: a turn needs what the one before it leaves";
    if (body.gathers)
      return ", no vectors: elements are read from or written to places of their own";
    if (body.calls) return ", no vectors: it calls the C library";
    const std::optional<double> turns = turns_of(plan_, loop);
    if (turns && *turns * static_cast<double>(bytes_of(body.widest.scalar)) <
                     static_cast<double>(plan_.vector_bytes))
      return ", no vectors: there are too few elements side by side";
    return ", no vectors";
  }

  [[nodiscard]] std::string carries(std::span<const NodeId> initial) const {
    int scalars = 0, vectors = 0;
    for (NodeId id : initial) ++(plan_.at(id).type.lanes > 1 ? vectors : scalars);
    std::string text;
    if (scalars > 0) text += cat("; scalars in registers: ", scalars);
    if (vectors > 0) text += cat("; packed, vectors in registers: ", vectors);
    return text;
  }

  void write(BlockId id, int depth) {
    for (NodeId n : plan_.at(id).nodes) write(n, depth);
  }

  // What a block computes between its loops.
  void write_straight(BlockId id, int depth) {
    const Contents found = contents_of(id);
    if (found.names.empty()) return;
    std::string text = cat("without a loop: ", listed(found.names));
    if (found.widest.lanes > 1)
      text += cat("; vectors of up to ", found.widest.lanes, " ", scalar_name(found.widest.scalar));
    if (found.widest.lanes <= 1 && found.names.size() > 1)
      text += "; no vectors: too few scalars are computed alike";
    if (found.shuffles > 0) text += cat("; scalars are packed into ", found.shuffles, " of them");
    line(depth, 0, text);
  }

  void write(NodeId id, int depth) {
    const Node& node = plan_.at(id);
    const char* asks = node.checks_stop ? "; asks whether to stop" : "";
    if (node.op == Op::kKernel) {
      line(depth, node.origin, "kernel: " + plan_.kernels[static_cast<size_t>(node.imm)].what);
    } else if (node.op == Op::kCopy) {
      line(depth, node.origin,
           cat("copies ", node.imm, " bytes to b", node.buffer.value, " from b",
               node.buffer2.value));
    } else if (node.op == Op::kSwitch) {
      line(depth, node.origin, cat("one of ", node.block_count, " branches"));
    } else if (node.op == Op::kWhile) {
      const std::string turns = node.imm > 0 ? cat(node.imm) : "an unknown number of";
      line(depth, node.origin,
           cat("while of ", turns, " turns", carries(plan_.args_of(node)), asks));
    } else if (is_for(node.op)) {
      const Contents body = contents_of(plan_.blocks_of(node)[0]);
      const std::optional<double> turns = turns_of(plan_, node);
      std::string text =
          cat("for of ", turns ? cat(*turns) : "so many", " turns", width(node, body));
      if (body.names.size() > 1) text += cat("; fused: ", listed(body.names));
      if (const auto found = apart_.find(id); found != apart_.end() && !found->second.empty())
        text += cat("; not one with the loop before it: ", found->second);
      line(depth, node.origin, text + asks);
    }
    const auto blocks = plan_.blocks_of(node);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool is_condition = node.op == Op::kWhile && i == 0;
      if (!is_for(node.op) && !is_condition) write_straight(blocks[i], depth + 1);
      write(blocks[i], depth + 1);
    }
  }

  const Plan& plan_;
  const std::map<NodeId, std::string_view> apart_;
  std::string out_;
};

}  // namespace

std::string loops_text(const Plan& plan) { return Text(plan).run(); }

}  // namespace heddle::cpu
