#include "heddle/cpu/rewrites/shapes/late_transposes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

// order[dims[0]], order[dims[1]], ..
Dims mapped(const Dims& order, const Dims& dims) {
  Dims out;
  for (const int64_t d : dims) out.push_back(order[static_cast<size_t>(d)]);
  return out;
}

bool is_increasing(const Dims& dims) {
  return std::ranges::adjacent_find(dims, std::ranges::greater_equal()) == dims.end();
}

bool is_plain_fold(const hlo::Module& module, const Instruction& fold) {
  return fold.opcode == Opcode::kReduce && fold.operands.size() == 2 &&
         fold_of(module.at(fold.called[0])).has_value();
}

// Which elementwise ops, and reversals, of a computation are worth computing before the transposes
// of their operands, and in which order: dimension d of such a value is dimension order[d] of what
// lies in memory.
class Orders {
 public:
  Orders(const hlo::Module& module, const Computation& in)
      : in_(in), orders_(in.instructions.size()), is_late_(in.instructions.size(), true) {
    for (size_t i = 0; i < orders_.size(); ++i) orders_[i] = order_of(in.instructions[i]);
    is_late_[in.root.value] = false;
    for (size_t i = orders_.size(); i-- > 0;) {
      const Instruction& user = in.instructions[i];
      const bool takes_any = user.opcode == Opcode::kDot || user.opcode == Opcode::kTranspose ||
                             is_plain_fold(module, user) || (is_moved(user) && is_late_[i]);
      for (const InstructionId operand : user.operands)
        is_late_[operand.value] = is_late_[operand.value] && takes_any;
    }
  }

  // The order of an elementwise op that comes before the transpose; null: it stays.
  [[nodiscard]] const Dims* of(InstructionId id) const {
    const bool moves = is_late_[id.value] && is_moved(in_.at(id));
    return moves ? &*orders_[id.value] : nullptr;
  }

 private:
  [[nodiscard]] bool is_moved(const Instruction& instruction) const {
    return instruction.opcode != Opcode::kTranspose &&
           orders_[static_cast<size_t>(&instruction - in_.instructions.data())].has_value();
  }

  [[nodiscard]] std::optional<Dims> order_of(const Instruction& instruction) const {
    if (!instruction.shape.is_array() || instruction.shape.is_dynamic()) return std::nullopt;
    if (instruction.opcode == Opcode::kTranspose) return dimensions_of(instruction);
    if (!has_trait(instruction.opcode, hlo::kElementwise) && instruction.opcode != Opcode::kReverse)
      return std::nullopt;
    std::optional<Dims> order;
    for (const InstructionId operand : instruction.operands) {
      const std::optional<Dims>& own = orders_[operand.value];
      if (!own) continue;
      if (order && *order != *own) return std::nullopt;
      order = own;
    }
    const auto follows = [&](InstructionId operand) {
      const Instruction& read = in_.at(operand);
      return orders_[operand.value].has_value() || read.shape.is_scalar() ||
             (read.opcode == Opcode::kBroadcast &&
              is_increasing(mapped(*order, dimensions_of(read))));
    };
    return order && std::ranges::all_of(instruction.operands, follows) ? order : std::nullopt;
  }

  const Computation& in_;
  std::vector<std::optional<Dims>> orders_;
  std::vector<bool> is_late_;  // all that read it take any order
};

class Rewriting {
 public:
  Rewriting(transform::Rebuilder& to, Orders orders) : to_(to), orders_(std::move(orders)) {}

  // Nothing: the instruction stays.
  hlo::Value elementwise(InstructionId id) {
    const Dims* order = orders_.of(id);
    if (order == nullptr) return {};
    const Instruction& old = to_.old(id);
    Dims sizes(order->size());
    for (size_t d = 0; d < sizes.size(); ++d)
      sizes[static_cast<size_t>((*order)[d])] = old.shape.dimension(static_cast<int64_t>(d));
    const hlo::Values given = to_.operands(id);
    if (!std::ranges::all_of(given, [&](const hlo::Value& x) { return follows(x, *order); }))
      return {};  // an operand stayed
    hlo::Graph& graph = to_.in_place_of(id);
    hlo::Values operands;
    for (const hlo::Value& operand : given) {
      const Instruction& read = to_.at(operand.id());
      operands.push_back(operand.shape().is_scalar() ? operand
                         : read.opcode == Opcode::kTranspose
                             ? graph.wrap(read.operands[0])
                             : broadcast(graph.wrap(read.operands[0]), sizes,
                                         mapped(*order, dimensions_of(read))));
    }
    Instruction now = to_.mapped(id);
    now.shape = Shape(old.shape.dtype(), sizes);
    if (now.opcode == Opcode::kReverse)
      now.attrs = hlo::DimensionsAttrs{mapped(*order, dimensions_of(old))};
    now.operands.clear();
    for (const hlo::Value& operand : operands) now.operands.push_back(operand.id());
    return transpose(graph.wrap(to_.builder().append(std::move(now))), *order);
  }

  hlo::Value fold(InstructionId id) {
    Instruction now = to_.mapped(id);
    const Instruction& read = to_.at(now.operands[0]);
    if (read.opcode != Opcode::kTranspose) return {};
    const Dims& order = dimensions_of(read);
    Dims folded = mapped(order, dimensions_of(now)), kept;
    for (int64_t d = 0; d < std::ssize(order); ++d)
      if (std::ranges::count(dimensions_of(now), d) == 0)
        kept.push_back(order[static_cast<size_t>(d)]);
    Dims sorted = kept, back, sizes;
    std::ranges::sort(folded);
    std::ranges::sort(sorted);
    for (const int64_t d : kept) back.push_back(std::ranges::find(sorted, d) - sorted.begin());
    const InstructionId from = read.operands[0];
    for (const int64_t d : sorted) sizes.push_back(to_.at(from).shape.dimension(d));
    hlo::Graph& graph = to_.in_place_of(id);
    now.operands[0] = from;
    now.attrs = hlo::DimensionsAttrs{folded};
    now.shape = Shape(now.shape.dtype(), sizes);
    const hlo::Value value = graph.wrap(to_.builder().append(std::move(now)));
    return is_increasing(back) ? value : transpose(value, back);
  }

 private:
  [[nodiscard]] bool follows(const hlo::Value& x, const Dims& order) const {
    const Instruction& read = to_.at(x.id());
    return x.shape().is_scalar() || read.opcode == Opcode::kBroadcast ||
           (read.opcode == Opcode::kTranspose && dimensions_of(read) == order);
  }

  transform::Rebuilder& to_;
  Orders orders_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> transpose_late(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId id) {
    return [&module, &to,
            rewriting = Rewriting(to, Orders(module, module.at(id)))](InstructionId i) mutable {
      const bool is_fold = is_plain_fold(module, to.old(i)) && !to.old(i).shape.is_dynamic();
      return is_fold ? rewriting.fold(i) : rewriting.elementwise(i);
    };
  });
}

}  // namespace heddle::cpu
