#include "heddle/cpu/rewrites/shapes/late_repeats.h"

#include <algorithm>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostEqualTerms = 16;

class RepeatMover {
 public:
  RepeatMover(const hlo::Module& from, transform::Rebuilder& to) : from_(from), to_(to) {}

  // Nothing: the instruction stays.
  hlo::Value operator()(InstructionId id) {
    return to_.old(id).opcode == Opcode::kReduce ? sum(id) : elementwise(id);
  }

 private:
  hlo::Value elementwise(InstructionId id) {
    const Instruction& old = to_.old(id);
    if (!has_trait(old.opcode, hlo::kElementwise) || old.operands.empty() ||
        !old.shape.is_array() || old.shape.is_dynamic() || old.shape.is_scalar())
      return {};
    return late(id, to_.operands(id));
  }

  // A sum over what a broadcast repeats, of equal terms.
  hlo::Value sum(InstructionId id) {
    const Instruction& old = to_.old(id);
    if (old.operands.size() != 2 || !old.shape.is_array() || old.shape.is_dynamic() ||
        fold_of(from_.at(old.called[0])) != Op::kAdd)
      return {};
    const InstructionId broadcast = broadcast_under(to_.value(old.operands[0]).id());
    if (!broadcast.valid()) return {};
    const auto& reduced = dimensions_of(old);
    Dims dims = dimensions_of(to_.at(broadcast));
    int64_t times = 1;
    for (const int64_t d : reduced) {
      if (std::ranges::count(dims, d) > 0) return {};
      times *= to_.at(broadcast).shape.dimension(d);
    }
    if (times > kMostEqualTerms) return {};
    for (int64_t& d : dims)
      d -= std::ranges::count_if(reduced, [&](int64_t before) { return before < d; });
    hlo::Graph& graph = to_.in_place_of(id);
    const hlo::Value term = graph.wrap(to_.at(broadcast).operands[0]);
    const hlo::Value all = sum_of(term, times, to_.value(old.operands[1]));
    return hlo::broadcast(all, old.shape.dimensions(), dims);
  }

  // init + x + x + .., of what is repeated in x where it is.
  hlo::Value sum_of(const hlo::Value& x, int64_t times, const hlo::Value& init) {
    hlo::Graph& graph = x.graph();
    if (is_repeat(x)) {
      const InstructionId broadcast = to_.at(x.id()).operands[0];
      const hlo::Value all = sum_of(graph.wrap(to_.at(broadcast).operands[0]), times, init);
      return reshape(hlo::broadcast(all, to_.at(broadcast).shape.dimensions(),
                                    dimensions_of(to_.at(broadcast))),
                     to_.at(x.id()).shape.dimensions());
    }
    hlo::Value all = hlo::broadcast(init, x.shape().dimensions(), {});
    for (int64_t i = 0; i < times; ++i) all = all + x;
    return all;
  }

  // The broadcast that the instruction is, or that a reshape made a repeat of and this one undoes.
  [[nodiscard]] InstructionId broadcast_under(InstructionId id) const {
    if (to_.at(id).opcode == Opcode::kReshape) {
      const Instruction& repeat = to_.at(to_.at(id).operands[0]);
      if (repeat.opcode != Opcode::kReshape || to_.at(repeat.operands[0]).shape != to_.at(id).shape)
        return {};
      id = repeat.operands[0];
    }
    return to_.at(id).opcode == Opcode::kBroadcast ? id : InstructionId();
  }

  // A broadcast number, or none.
  [[nodiscard]] hlo::Value number(const hlo::Value& x) {
    if (x.shape().is_scalar()) return x;
    const Instruction& read = to_.at(x.id());
    if (read.opcode != Opcode::kBroadcast || !to_.at(read.operands[0]).shape.is_scalar()) return {};
    return to_.in_place_of(to_.from().root).wrap(read.operands[0]);
  }
  [[nodiscard]] bool is_repeat(const hlo::Value& x) const {
    const Instruction& reshape = to_.at(x.id());
    if (reshape.opcode != Opcode::kReshape) return false;
    const Instruction& broadcast = to_.at(reshape.operands[0]);
    return broadcast.opcode == Opcode::kBroadcast &&
           !to_.at(broadcast.operands[0]).shape.is_scalar() &&
           broadcast.shape.element_count() > to_.at(broadcast.operands[0]).shape.element_count() &&
           !is_degenerate_reshape(broadcast.shape, reshape.shape);
  }

  // The op on what is repeated, repeated; as late as it can be.
  hlo::Value late(InstructionId id, const hlo::Values& given) {
    InstructionId first;
    for (const hlo::Value& x : given) {
      if (number(x)) continue;
      if (!is_repeat(x) || (first.valid() && !is_same_repeat(x.id(), first))) return {};
      first = x.id();
    }
    if (!first.valid()) return {};
    const InstructionId broadcast = to_.at(first).operands[0];
    const Dims dims = dimensions_of(to_.at(broadcast));
    const Dims all = to_.at(broadcast).shape.dimensions(),
               joined = to_.at(first).shape.dimensions();
    const Shape small = to_.at(to_.at(broadcast).operands[0]).shape;
    hlo::Values operands;
    for (const hlo::Value& x : given) {
      const hlo::Value scalar = number(x);
      hlo::Graph& graph = to_.in_place_of(id);
      operands.push_back(x.shape().is_scalar() ? x
                         : scalar              ? hlo::broadcast(scalar, small.dimensions(), {})
                                  : graph.wrap(to_.at(to_.at(x.id()).operands[0]).operands[0]));
    }
    return reshape(hlo::broadcast(computed(id, operands, small), all, dims), joined);
  }

  [[nodiscard]] bool is_same_repeat(InstructionId x, InstructionId y) const {
    const Instruction &a = to_.at(to_.at(x).operands[0]), &b = to_.at(to_.at(y).operands[0]);
    return a.shape.dimensions() == b.shape.dimensions() && dimensions_of(a) == dimensions_of(b);
  }

  hlo::Value computed(InstructionId id, const hlo::Values& operands, const Shape& small) {
    if (const hlo::Value later = late(id, operands)) return later;
    Instruction now = to_.mapped(id);
    now.shape = Shape(now.shape.dtype(), small.dimensions());
    now.operands.clear();
    for (const hlo::Value& operand : operands) now.operands.push_back(operand.id());
    return to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  }

  const hlo::Module& from_;
  transform::Rebuilder& to_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> repeat_late(const hlo::Module& module) {
  return rewritten_if_any(
      module, [&](transform::Rebuilder& to, ComputationId) { return RepeatMover(module, to); });
}

}  // namespace heddle::cpu
