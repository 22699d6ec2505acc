#include "heddle/codegen/plan/plan.h"

#include <algorithm>
#include <bit>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/summary.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr int64_t kAlignment = 64;

std::string text_of(Type type) {
  static constexpr std::string_view kNames[] = {"pred", "i8", "i16", "i32", "i64", "f32", "f64"};
  const std::string_view name = kNames[static_cast<size_t>(type.scalar)];
  return type.lanes == 1 ? std::string(name) : cat(name, "x", type.lanes);
}

std::string text_of(const BufferInfo& buffer) {
  static constexpr std::string_view kNames[] = {"arena+", "argument ", "result ", "constant "};
  return cat(kNames[static_cast<size_t>(buffer.kind)], buffer.index);
}

class PlanWriter {
 public:
  explicit PlanWriter(const Plan& plan) : plan_(plan) {}

  std::string run() {
    out_ =
        cat("plan ", plan_.name, ", arena ", plan_.arena_bytes, " bytes, of which ",
            live_bytes(plan_), " are alive at one moment\nloops\n", loops_text(plan_), "buffers\n");
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      out_ +=
          cat("  b", i, ": ", plan_.buffers[i].bytes, " bytes, ", text_of(plan_.buffers[i]), "\n");
    }
    out_ += "nodes\n";
    write(plan_.entry, 1);
    return std::move(out_);
  }

 private:
  static std::string name(NodeId id) { return cat("%", id.value); }
  static std::string names(std::span<const NodeId> ids) {
    std::string text;
    for (NodeId id : ids) text += cat(text.empty() ? "" : ", ", name(id));
    return text;
  }

  void write(BlockId id, int depth) {
    const Block& block = plan_.at(id);
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    if (!block.parameters.empty()) out_ += cat(indent, "(", names(block.parameters), ")\n");
    for (NodeId node : block.nodes) write(node, depth);
    if (!block.yields.empty()) out_ += cat(indent, "yield ", names(block.yields), "\n");
  }

  void write(NodeId id, int depth) {
    const Node& node = plan_.at(id);
    out_ += cat(std::string(static_cast<size_t>(2 * depth), ' '), name(id), " = ",
                to_string(node.op), " ", text_of(node.type));
    if (node.op == Op::kConstant) out_ += cat(" ", constant(node));
    if (node.buffer.valid()) out_ += cat(" b", node.buffer.value);
    if (node.buffer2.valid()) out_ += cat(" from b", node.buffer2.value);
    if (node.arg_count > 0) out_ += cat(" (", names(plan_.args_of(node)), ")");
    if (node.op == Op::kMath)
      out_ += cat(" ", to_string(static_cast<MathFunction>(node.imm)));
    else if (node.op == Op::kShuffle)
      out_ += lanes(node);
    else if (node.op != Op::kConstant && node.imm != 0)
      out_ += cat(" #", node.imm);
    if (node.shared.valid())
      out_ += cat(" shared by ", plan_.shared_loops[node.shared.value].chunk);
    if (node.op == Op::kKernel) {
      for (BufferId buffer : plan_.kernels[static_cast<size_t>(node.imm)].buffers)
        out_ += cat(" b", buffer.value);
    }
    if (node.origin != origin_ && node.origin != 0)
      out_ += cat("  // ", to_string(plan_.origins[node.origin]));
    origin_ = node.origin;
    out_ += '\n';
    for (BlockId block : plan_.blocks_of(node)) write(block, depth + 1);
  }

  // Which lane of which operand: " [a3 a0 b1]".
  [[nodiscard]] std::string lanes(const Node& node) const {
    std::string text;
    for (const LaneSource& source : plan_.shuffles[static_cast<size_t>(node.imm)]) {
      const std::string_view between = text.empty() ? " [" : " ";
      text += cat(between, std::string(1, static_cast<char>('a' + source.operand % 26)),
                  source.lane);
    }
    return text + "]";
  }

  static std::string constant(const Node& node) {
    if (node.type.scalar == Scalar::kF32)
      return cat(std::bit_cast<float>(static_cast<uint32_t>(node.imm)));
    if (node.type.scalar == Scalar::kF64) return cat(std::bit_cast<double>(node.imm));
    return cat(node.imm);
  }

  const Plan& plan_;
  uint32_t origin_ = 0;  // of the node before
  std::string out_;
};

}  // namespace

std::string_view to_string(Op op) {
  static constexpr std::string_view kNames[] = {
#define HEDDLE_PLAN_OP(enumerator, text) text,
#include "heddle/codegen/plan/ops.def"
#undef HEDDLE_PLAN_OP
  };
  return kNames[static_cast<size_t>(op)];
}

std::string_view to_string(MathFunction function) {
  static constexpr std::string_view kNames[] = {
#define HEDDLE_X(name) #name,
      HEDDLE_MATH_FUNCTIONS(HEDDLE_X)
#undef HEDDLE_X
  };
  return kNames[static_cast<size_t>(function)];
}

void remove_unread_stores(Plan& plan) {
  for (;;) {
    std::vector<bool> is_read(plan.buffers.size());
    for (const Block& block : plan.blocks) {
      for (NodeId id : block.nodes) {
        const Node& node = plan.at(id);
        if (node.op == Op::kLoad || node.op == Op::kGather) is_read[node.buffer.value] = true;
        if (node.op == Op::kCopy) is_read[node.buffer2.value] = true;
        if (node.op != Op::kKernel) continue;
        for (BufferId buffer : plan.kernels[static_cast<size_t>(node.imm)].buffers)
          is_read[buffer.value] = true;
      }
    }
    const auto is_unread = [&](NodeId id) {
      const Node& node = plan.at(id);
      const bool writes = node.op == Op::kStore || node.op == Op::kScatter || node.op == Op::kCopy;
      return writes && !is_read[node.buffer.value] &&
             plan.buffers[node.buffer.value].kind == BufferInfo::Kind::kArena;
    };
    size_t removed = 0;
    bool may_free = false;  // a copy may have been the last that read
    for (Block& block : plan.blocks) {
      removed += std::erase_if(block.nodes, [&](NodeId id) {
        const bool unread = is_unread(id);
        may_free |= unread && plan.at(id).op == Op::kCopy;
        return unread;
      });
    }
    if (removed == 0 || !may_free) return;
  }
}

// First fit, in the order of birth: a buffer goes to the lowest place that none of those that live
// beside it takes.
void place_buffers(Plan& plan) {
  std::vector<BufferInfo*> order;
  for (BufferInfo& buffer : plan.buffers) {
    if (buffer.kind == BufferInfo::Kind::kArena && buffer.born >= 0) order.push_back(&buffer);
  }
  std::ranges::stable_sort(order, {}, &BufferInfo::born);
  std::vector<BufferInfo*> live;  // by offset
  for (BufferInfo* buffer : order) {
    std::erase_if(live, [&](const BufferInfo* other) { return other->last < buffer->born; });
    int64_t offset = 0;
    auto place = live.begin();
    for (; place != live.end() && (*place)->index < offset + buffer->bytes; ++place) {
      const int64_t end = (*place)->index + (*place)->bytes;
      offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
    }
    buffer->index = offset;
    live.insert(place, buffer);
    plan.arena_bytes = std::max(plan.arena_bytes, offset + buffer->bytes);
  }
}

std::string to_text(const Plan& plan) { return PlanWriter(plan).run(); }

}  // namespace heddle::cpu
