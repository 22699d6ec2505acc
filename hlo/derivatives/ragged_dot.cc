// The derivative of ragged-dot: products of its dense form (hlo/ragged_dot.h), which are linear in
// each operand and have a transpose.
#include "heddle/hlo/ragged_dot.h"

#include <algorithm>

#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

// The sizes along the last dimension, each added to those before it.
Value sums_up_to(const Value& sizes) {
  const int64_t last = sizes.rank() - 1;
  Dims pairs = sizes.sizes();  // [.., from, of]
  pairs.push_back(sizes.size(last));
  Graph& graph = sizes.graph();
  const Value counts = graph.iota(pairs, last) <= graph.iota(pairs, last + 1);
  return reduce_sum(
      select(counts, broadcast(sizes, pairs, consecutive_dimensions(sizes.rank())), 0), {last});
}

// [prefix.., groups] over an array [groups, x..].
Value spread(const Value& x, const Dims& prefix, const Dims& sizes) {
  Dims targets, order = consecutive_dimensions(std::ssize(prefix) + 1);
  for (int64_t d : prefix) targets.push_back(d + 1);
  targets.push_back(0);
  std::ranges::sort(order, {}, [&](int64_t i) { return targets[static_cast<size_t>(i)]; });
  std::ranges::sort(targets);
  return broadcast(transpose(x, order), sizes, targets);
}

// One operand of the dense form.
struct GroupedSide {
  const Value& group_sizes;
  int64_t ragged;  // the dimension whose indices belong to groups; -1: it is not cut by groups
  Dims prefix;

  // [groups, x..]: whether the index along `ragged` is of the group.
  [[nodiscard]] Value inside(const Dims& x) const {
    const Dims& from = group_sizes.rank() == 1 ? Dims() : prefix;
    const auto limit = static_cast<double>(x[static_cast<size_t>(ragged)]);
    const auto within = [&](const Value& each) {
      return minimum(maximum(each, each.number(0)), each.number(limit));
    };
    const Value sizes = within(convert(group_sizes, s64)), sums = sums_up_to(sizes);
    Dims all = x;
    all.insert(all.begin(), group_sizes.size(group_sizes.rank() - 1));
    const Value at = convert(group_sizes.graph().iota(all, ragged + 1), s64);
    return (at >= spread(within(sums - sizes), from, all)) & (at < spread(within(sums), from, all));
  }
  // [groups, x..]: x, with zeros where the index along `ragged` is not of the group.
  [[nodiscard]] Value dense(const Value& x) const {
    if (ragged < 0) return x;
    const Value p = inside(x.sizes());
    return select(p, broadcast(x, p.sizes(), consecutive_dimensions(x.rank(), 1)), 0);
  }
  [[nodiscard]] Value transpose_dense(const Value& ct, const Shape& x) const {
    return ragged < 0 ? ct : reduce_sum(select(inside(x.dimensions()), ct, 0), {0});
  }
  [[nodiscard]] Shape dense_shape(const Shape& x) const {
    return ragged < 0 ? x : with_groups(x, group_sizes.size(group_sizes.rank() - 1));
  }
};

GroupedSide left_of(const RaggedDotAttrs& attrs, const Shape& x, const Value& group_sizes) {
  if (kind_of_ragged(attrs) == RaggedKind::kBatch) return {group_sizes, -1, {}};
  return {group_sizes, attrs.lhs_ragged_dims[0], prefix_of_x(x.rank(), attrs)};
}

GroupedSide right_of(const RaggedDotAttrs& attrs, const Shape& y, const Value& group_sizes) {
  const RaggedKind kind = kind_of_ragged(attrs);
  if (kind != RaggedKind::kContracting) return {group_sizes, -1, {}};
  const auto place = std::ranges::find(attrs.lhs_contracting_dims, attrs.lhs_ragged_dims[0]);
  const int64_t ragged =
      attrs.rhs_contracting_dims[static_cast<size_t>(place - attrs.lhs_contracting_dims.begin())];
  return {group_sizes, ragged,
          prefix_of(y.rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims, ragged, kind)};
}

}  // namespace

StatusOr<Values> jvp_ragged_dot(const JvpArgs& d) {
  const auto& attrs = d.attrs<RaggedDotAttrs>();
  const GroupedSide left = left_of(attrs, d.x[0].shape(), d.x[2]),
                    right = right_of(attrs, d.x[1].shape(), d.x[2]);
  const auto product = [&](const Value& x, const Value& y) {
    return dot(left.dense(x), right.dense(y), dense_form(attrs), d.y[0].dtype());
  };
  return Values{add(d.dx[0] ? product(d.dx[0], d.x[1]) : Value(),
                    d.dx[1] ? product(d.x[0], d.dx[1]) : Value())};
}

StatusOr<Values> transpose_ragged_dot(const TransposeArgs& t) {
  if (t.is_linear(0) && t.is_linear(1)) return not_linear(kBothDepend);
  const auto& attrs = t.attrs<RaggedDotAttrs>();
  const GroupedSide sides[] = {left_of(attrs, t.shape(0), t.x[2]),
                               right_of(attrs, t.shape(1), t.x[2])};
  const size_t i = t.is_linear(0) ? 0 : 1;
  const Value other = sides[1 - i].dense(t.x[1 - i]);
  const Value ct =
      transpose_dot(t.ct[0], dense_form(attrs), sides[i].dense_shape(t.shape(i)), other, i == 0);
  Values out(t.x.size());
  out[i] = sides[i].transpose_dense(ct, t.shape(i));
  return out;
}

}  // namespace heddle::hlo
