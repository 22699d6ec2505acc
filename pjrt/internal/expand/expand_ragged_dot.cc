// ragged-dot as a dot: x is repeated for each group, with zeros where other groups stand, and the
// groups become a contracting dimension of the dot, or a batch dimension of it where the ragged
// dimension is a contracting one (then y is repeated, too).
//
// Source: JAX's ragged_dot_general, "dense form".
#include <algorithm>
#include <numeric>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using hlo::Dims;
using transform::Emitter;

bool contains(const Dims& dims, int64_t d) { return std::ranges::find(dims, d) != dims.end(); }

// Those before `d`.
Dims before(const Dims& dims, int64_t d) { return {dims.begin(), std::ranges::find(dims, d)}; }

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Dims shifted(Dims dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

Shape with_groups(const Shape& shape, int64_t groups) {
  Dims sizes = shape.dimensions();
  sizes.insert(sizes.begin(), groups);
  return {shape.dtype(), std::move(sizes)};
}

class RaggedDot {
 public:
  RaggedDot(transform::ModuleRebuilder& into, hlo::ComputationBuilder& to, const Instruction& op)
      : into_(into),
        emit_(to, op),
        op_(op),
        attrs_(op.attrs.get<hlo::RaggedDotAttrs>()),
        ragged_(attrs_.lhs_ragged_dims[0]),
        groups_(emit_.shape(op.operands[2]).dimensions().back()) {}

  InstructionId run() {
    hlo::DotAttrs dot{.lhs_batch_dims = attrs_.lhs_batch_dims,
                      .lhs_contracting_dims = attrs_.lhs_contracting_dims,
                      .rhs_batch_dims = attrs_.rhs_batch_dims,
                      .rhs_contracting_dims = attrs_.rhs_contracting_dims,
                      .operand_precision = attrs_.operand_precision};
    InstructionId x = op_.operands[0], y = op_.operands[1];
    if (contains(attrs_.lhs_batch_dims, ragged_)) return dot_of(x, y, std::move(dot));
    const bool contracts = contains(attrs_.lhs_contracting_dims, ragged_);
    x = by_group(x, ragged_,
                 prefix_of(x, attrs_.lhs_batch_dims, attrs_.lhs_contracting_dims, ragged_));
    dot.lhs_batch_dims = shifted(dot.lhs_batch_dims);
    dot.lhs_contracting_dims = shifted(dot.lhs_contracting_dims);
    if (!contracts) {
      dot.lhs_contracting_dims.push_back(0);
      dot.rhs_contracting_dims.push_back(attrs_.rhs_group_dims[0]);
      return dot_of(x, y, std::move(dot));
    }
    const int64_t in_y = partner_of(ragged_);
    y = by_group(y, in_y, prefix_of(y, attrs_.rhs_batch_dims, attrs_.rhs_contracting_dims, in_y));
    dot.rhs_batch_dims = shifted(dot.rhs_batch_dims);
    dot.rhs_contracting_dims = shifted(dot.rhs_contracting_dims);
    dot.lhs_batch_dims.insert(dot.lhs_batch_dims.begin(), 0);
    dot.rhs_batch_dims.insert(dot.rhs_batch_dims.begin(), 0);
    return dot_of(x, y, std::move(dot));
  }

 private:
  InstructionId dot_of(InstructionId x, InstructionId y, hlo::DotAttrs attrs) {
    Shape shape = op_.shape;
    shape.clear_layout();
    return emit_.op(Opcode::kDot, shape, {x, y}, std::move(attrs));
  }

  // The contracting dimension of y that meets one of x.
  [[nodiscard]] int64_t partner_of(int64_t contracting) const {
    const auto& dims = attrs_.lhs_contracting_dims;
    return attrs_.rhs_contracting_dims[static_cast<size_t>(std::ranges::find(dims, contracting) -
                                                           dims.begin())];
  }

  // The dimensions whose indices choose a vector of group sizes, where there are several: batch
  // ones, then those of the ragged one's kind before it.
  [[nodiscard]] Dims prefix_of(InstructionId x, const Dims& batch, const Dims& contracting,
                               int64_t ragged) const {
    if (contains(contracting, ragged)) return joined(batch, before(contracting, ragged));
    Dims free;
    for (int64_t d = 0; d < emit_.shape(x).rank(); ++d) {
      if (!contains(batch, d) && !contains(contracting, d)) free.push_back(d);
    }
    return joined(batch, before(free, ragged));
  }

  // [groups, x..]: x, with zeros where the index along `ragged` is not of the group.
  InstructionId by_group(InstructionId x, int64_t ragged, Dims prefix) {
    const Shape plain = emit_.shape(x);
    const Shape shape = with_groups(plain, groups_);
    if (emit_.shape(op_.operands[2]).rank() == 1) prefix.clear();
    const int64_t size = plain.dimension(ragged);
    const InstructionId at = emit_.op(Opcode::kIota, shape.with_dtype(s64), {},
                                      hlo::IotaAttrs{.iota_dimension = ragged + 1});
    const InstructionId begin = spread(bounds(size, hlo::ComparisonDirection::kLt), prefix, shape);
    const InstructionId end = spread(bounds(size, hlo::ComparisonDirection::kLe), prefix, shape);
    const InstructionId inside =
        binary(Opcode::kAnd, compare(at, begin, hlo::ComparisonDirection::kGe),
               compare(at, end, hlo::ComparisonDirection::kLt));
    Dims dims(static_cast<size_t>(plain.rank()));
    std::iota(dims.begin(), dims.end(), 1);
    const InstructionId repeated = emit_.op(Opcode::kBroadcast, shape, {x},
                                            hlo::DimensionsAttrs{.dimensions = std::move(dims)});
    return emit_.op(Opcode::kSelect, shape, {inside, repeated, emit_.zeros(shape)});
  }

  // Where each group begins (kLt) or ends (kLe), s64 of the type of group_sizes: sums of the sizes
  // before it, none of which is negative or reaches past the array.
  InstructionId bounds(int64_t limit, hlo::ComparisonDirection which) {
    const Shape shape = emit_.shape(op_.operands[2]).with_dtype(s64);
    const InstructionId sizes =
        within(emit_.op(Opcode::kConvert, plain(shape), {convertible(limit)}), limit);
    Dims all(static_cast<size_t>(shape.rank()));  // of group_sizes, as dimensions of the pairs
    std::iota(all.begin(), all.end(), 0);
    Shape pairs = shape;  // [.., from, of]: the sizes that are summed for each group
    Dims dims = shape.dimensions();
    dims.push_back(groups_);
    pairs = Shape(s64, std::move(dims));
    const InstructionId repeated = emit_.op(Opcode::kBroadcast, pairs, {sizes},
                                            hlo::DimensionsAttrs{.dimensions = std::move(all)});
    const auto iota = [&](int64_t dimension) {
      return emit_.op(Opcode::kIota, pairs, {}, hlo::IotaAttrs{.iota_dimension = dimension});
    };
    const InstructionId counts = compare(iota(shape.rank() - 1), iota(shape.rank()), which);
    const InstructionId summed =
        emit_.op(Opcode::kSelect, pairs, {counts, repeated, emit_.zeros(pairs)});
    const InstructionId sums =
        emit_.op(Opcode::kReduce, plain(shape), {summed, emit_.scalar(s64, 0)},
                 hlo::DimensionsAttrs{.dimensions = {shape.rank() - 1}}, {sum()});
    return within(sums, limit);
  }

  // The group sizes, without any that s64 has not.
  InstructionId convertible(int64_t limit) {
    const InstructionId sizes = op_.operands[2];
    if (emit_.shape(sizes).dtype() != u64) return sizes;
    return binary(Opcode::kMinimum, sizes, all(limit, plain(emit_.shape(sizes))));
  }

  // x, no less than 0 and no more than the limit. (No clamp: XLA complains of its scalar bounds
  // when it computes constants.)
  InstructionId within(InstructionId x, int64_t limit) {
    const Shape shape = emit_.shape(x);
    return binary(Opcode::kMinimum, binary(Opcode::kMaximum, x, all(0, shape)), all(limit, shape));
  }
  InstructionId all(int64_t value, const Shape& shape) {
    return emit_.op(Opcode::kBroadcast, shape, {emit_.scalar(shape.dtype(), value)},
                    hlo::DimensionsAttrs());
  }

  // [prefix.., groups] over an array [groups, x..]. Dimensions of a broadcast ascend.
  InstructionId spread(InstructionId x, const Dims& prefix, const Shape& shape) {
    Dims targets = shifted(prefix);
    targets.push_back(0);
    Dims order(targets.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int64_t i) { return targets[static_cast<size_t>(i)]; });
    Dims sizes;
    for (int64_t i : order) sizes.push_back(emit_.shape(x).dimension(i));
    const InstructionId turned = emit_.op(Opcode::kTranspose, Shape(s64, std::move(sizes)), {x},
                                          hlo::DimensionsAttrs{.dimensions = order});
    std::ranges::sort(targets);
    return emit_.op(Opcode::kBroadcast, shape.with_dtype(s64), {turned},
                    hlo::DimensionsAttrs{.dimensions = std::move(targets)});
  }

  InstructionId compare(InstructionId a, InstructionId b, hlo::ComparisonDirection direction) {
    return emit_.op(Opcode::kCompare, emit_.shape(a).with_dtype(pred), {a, b},
                    hlo::CompareAttrs{.direction = direction});
  }
  InstructionId binary(Opcode opcode, InstructionId a, InstructionId b) {
    return emit_.op(opcode, plain(emit_.shape(a)), {a, b});
  }

  hlo::ComputationId sum() {
    hlo::ComputationBuilder to(into_.into());
    const InstructionId a = to.parameter(Shape::scalar(s64)), b = to.parameter(Shape::scalar(s64));
    Emitter emit(to, op_);
    const InstructionId root = emit.op(Opcode::kAdd, Shape::scalar(s64), {a, b});
    return into_.add(std::move(to).finish(root));
  }

  static Shape plain(Shape shape) {
    shape.clear_layout();
    return shape;
  }

  transform::ModuleRebuilder& into_;
  Emitter emit_;
  const Instruction op_;
  const hlo::RaggedDotAttrs attrs_;
  const int64_t ragged_;
  const int64_t groups_;
};

}  // namespace

hlo::Module expand_ragged_dot(const hlo::Module& module) {
  const auto matches = [](const hlo::Computation&, const Instruction& instruction) {
    return instruction.opcode == Opcode::kRaggedDot;
  };
  return rewritten(module, matches,
                   [](transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i) {
                     return RaggedDot(into, to.builder(), to.mapped(i)).run();
                   });
}

}  // namespace heddle::pjrt
