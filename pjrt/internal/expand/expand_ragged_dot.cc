// ragged-dot as a dot: x is repeated for each group, with zeros where other groups stand, and the
// groups become a contracting dimension of the dot, or a batch dimension of it where the ragged
// dimension is a contracting one (then y is repeated, too).
//
// Source: JAX's ragged_dot_general, "dense form".
#include <algorithm>

#include "heddle/hlo/dimensions.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

using hlo::Dims;

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

class RaggedDot {
 public:
  RaggedDot(Graph& graph, const Instruction& op)
      : graph_(graph),
        op_(op),
        attrs_(op.attrs.get<hlo::RaggedDotAttrs>()),
        ragged_(attrs_.lhs_ragged_dims[0]),
        group_sizes_(graph.wrap(op.operands[2])),
        groups_(group_sizes_.sizes().back()) {}

  Value run() {
    hlo::DotAttrs dot{.lhs_batch_dims = attrs_.lhs_batch_dims,
                      .lhs_contracting_dims = attrs_.lhs_contracting_dims,
                      .rhs_batch_dims = attrs_.rhs_batch_dims,
                      .rhs_contracting_dims = attrs_.rhs_contracting_dims,
                      .operand_precision = attrs_.operand_precision};
    Value x = graph_.wrap(op_.operands[0]), y = graph_.wrap(op_.operands[1]);
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
  Value dot_of(const Value& x, const Value& y, hlo::DotAttrs attrs) {
    Shape shape = op_.shape;
    shape.clear_layout();
    return graph_.op(Opcode::kDot, {x, y}, std::move(attrs), {}, &shape);
  }

  // The contracting dimension of y that meets one of x.
  [[nodiscard]] int64_t partner_of(int64_t contracting) const {
    const auto& dims = attrs_.lhs_contracting_dims;
    return attrs_.rhs_contracting_dims[static_cast<size_t>(std::ranges::find(dims, contracting) -
                                                           dims.begin())];
  }

  // The dimensions whose indices choose a vector of group sizes, where there are several: batch
  // ones, then those of the ragged one's kind before it.
  [[nodiscard]] Dims prefix_of(const Value& x, const Dims& batch, const Dims& contracting,
                               int64_t ragged) const {
    if (contains(contracting, ragged)) return joined(batch, before(contracting, ragged));
    Dims free;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (!contains(batch, d) && !contains(contracting, d)) free.push_back(d);
    }
    return joined(batch, before(free, ragged));
  }

  // [groups, x..]: x, with zeros where the index along `ragged` is not of the group.
  Value by_group(const Value& x, int64_t ragged, Dims prefix) {
    if (group_sizes_.rank() == 1) prefix.clear();
    const Value of_each = repeated(x, 0, groups_);
    const Value at = graph_.iota(of_each.sizes(), ragged + 1, s64);
    const auto bound = [&](hlo::ComparisonDirection which) {
      return over_array(bounds(x.size(ragged), which), prefix, of_each.sizes());
    };
    const Value begin = bound(hlo::ComparisonDirection::kLt),
                end = bound(hlo::ComparisonDirection::kLe);
    return select((at >= begin) & (at < end), of_each, 0);
  }

  // Where each group begins (kLt) or ends (kLe), s64 of the type of group_sizes: sums of the sizes
  // before it, none of which is negative or reaches past the array.
  Value bounds(int64_t limit, hlo::ComparisonDirection which) {
    const int64_t last = group_sizes_.rank() - 1;
    // [.., from, of]: the sizes that are summed for each group
    const Value summed =
        repeated(within(convert(convertible(limit), s64), limit), last + 1, groups_);
    const Value counts = compare(which, graph_.iota(summed.sizes(), last, s64),
                                 graph_.iota(summed.sizes(), last + 1, s64));
    return within(reduce_sum(select(counts, summed, 0), {last}), limit);
  }

  // The group sizes, without any that s64 has not.
  [[nodiscard]] Value convertible(int64_t limit) const {
    if (group_sizes_.dtype() != u64) return group_sizes_;
    return minimum(group_sizes_, group_sizes_.number(static_cast<double>(limit)));
  }

  // x, no less than 0 and no more than the limit. (No clamp: XLA complains of its scalar bounds
  // when it computes constants.)
  static Value within(const Value& x, int64_t limit) {
    return minimum(maximum(x, x.number(0)), x.number(static_cast<double>(limit)));
  }

  // [prefix.., groups] over an array [groups, x..]. Dimensions of a broadcast ascend.
  static Value over_array(const Value& x, const Dims& prefix, const Dims& sizes) {
    Dims targets = shifted(prefix);
    targets.push_back(0);
    Dims order = consecutive_dimensions(std::ssize(targets));
    std::ranges::sort(order, {}, [&](int64_t i) { return targets[static_cast<size_t>(i)]; });
    std::ranges::sort(targets);
    return broadcast(transpose(x, order), sizes, targets);
  }

  Graph& graph_;
  const Instruction& op_;
  const hlo::RaggedDotAttrs attrs_;
  const int64_t ragged_;
  const Value group_sizes_;
  const int64_t groups_;
};

}  // namespace

StatusOr<hlo::Module> expand_ragged_dot(const hlo::Module& module) {
  const auto matches = [](const Computation&, const Instruction& instruction) {
    return instruction.opcode == Opcode::kRaggedDot;
  };
  return rewritten(module, matches, [](Graph& graph, const Instruction& now) {
    return RaggedDot(graph, now).run();
  });
}

}  // namespace heddle::pjrt
