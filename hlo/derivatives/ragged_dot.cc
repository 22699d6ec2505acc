// The derivative of ragged-dot: products of its dense form (hlo/ragged_dot.h), which are linear in
// each operand and have a transpose.
#include "heddle/hlo/ragged_dot.h"

#include <algorithm>
#include <numeric>

#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

// The sizes along the last dimension, each added to those before it.
Value sums_up_to(const Value& sizes) {
  const int64_t last = sizes.rank() - 1;
  Dims pairs = sizes.sizes(), from(pairs.size());  // [.., from, of]
  pairs.push_back(sizes.size(last));
  std::iota(from.begin(), from.end(), 0);
  Graph& graph = sizes.graph();
  const Value counts = graph.iota(pairs, last) <= graph.iota(pairs, last + 1);
  return reduce_sum(select(counts, broadcast(sizes, pairs, from), 0), {last});
}

// [prefix.., groups] over an array [groups, x..].
Value spread(const Value& x, const Dims& prefix, const Dims& sizes) {
  Dims targets, order(prefix.size() + 1);
  for (int64_t d : prefix) targets.push_back(d + 1);
  targets.push_back(0);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t i) { return targets[static_cast<size_t>(i)]; });
  std::ranges::sort(targets);
  return broadcast(transpose(x, order), sizes, targets);
}

// [groups, x..]: x, with zeros where the index along `ragged` is not of the group.
Value by_group(const Value& x, const Value& group_sizes, int64_t ragged, Dims prefix) {
  if (group_sizes.rank() == 1) prefix.clear();
  const int64_t limit = x.size(ragged);
  const auto within = [&](const Value& each) {
    return minimum(maximum(each, each.number(0)), each.number(static_cast<double>(limit)));
  };
  const Value sizes = within(convert(group_sizes, s64)), sums = sums_up_to(sizes);
  Dims all = x.sizes(), places(all.size());
  all.insert(all.begin(), group_sizes.size(group_sizes.rank() - 1));
  std::iota(places.begin(), places.end(), 1);
  const Value at = convert(x.graph().iota(all, ragged + 1), s64);
  const Value inside =
      (at >= spread(within(sums - sizes), prefix, all)) & (at < spread(within(sums), prefix, all));
  return select(inside, broadcast(x, all, places), 0);
}

}  // namespace

StatusOr<Values> jvp_ragged_dot(const JvpArgs& d) {
  const auto& attrs = d.attrs<RaggedDotAttrs>();
  const RaggedKind kind = kind_of_ragged(attrs);
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  const auto left = [&](const Value& x) {
    if (kind == RaggedKind::kBatch) return x;
    return by_group(x, d.x[2], ragged, prefix_of_x(x.rank(), attrs));
  };
  const auto right = [&](const Value& y) {
    if (kind != RaggedKind::kContracting) return y;
    const auto place = std::ranges::find(attrs.lhs_contracting_dims, ragged);
    const int64_t in_y =
        attrs.rhs_contracting_dims[static_cast<size_t>(place - attrs.lhs_contracting_dims.begin())];
    return by_group(
        y, d.x[2], in_y,
        prefix_of(y.rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims, in_y, kind));
  };
  const auto product = [&](const Value& x, const Value& y) {
    return dot(left(x), right(y), dense_form(attrs), d.y[0].dtype());
  };
  return Values{add(d.dx[0] ? product(d.dx[0], d.x[1]) : Value(),
                    d.dx[1] ? product(d.x[0], d.dx[1]) : Value())};
}

}  // namespace heddle::hlo
