// Ops that move elements: their dimensions stand one further.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {

Dims shifted(const Dims& dimensions) {
  Dims out = dimensions;
  for (int64_t& each : out) ++each;
  return out;
}

Dims shifted_behind_lanes(const Dims& dimensions) {
  Dims out = shifted(dimensions);
  out.insert(out.begin(), 0);
  return out;
}

StatusOr<Values> batch_broadcast(const BatchArgs& b) {
  const Dims dimensions = shifted_behind_lanes(b.attrs<DimensionsAttrs>().dimensions);
  return b.again({b.x[0]}, DimensionsAttrs{.dimensions = dimensions});
}

StatusOr<Values> batch_reshape(const BatchArgs& b) {
  return Values{reshape(b.x[0], with_lanes(b.of.shape, b.size).dimensions())};
}

StatusOr<Values> batch_transpose(const BatchArgs& b) {
  const Dims permutation = shifted_behind_lanes(b.attrs<DimensionsAttrs>().dimensions);
  return Values{transpose(b.x[0], permutation)};
}

StatusOr<Values> batch_dimensions(const BatchArgs& b) {
  const Dims dimensions = shifted(b.attrs<DimensionsAttrs>().dimensions);
  return b.again(b.all_full(), DimensionsAttrs{.dimensions = dimensions});
}

StatusOr<Values> batch_slice(const BatchArgs& b) {
  std::vector<SliceDimension> dimensions = b.attrs<SliceAttrs>().slice;
  dimensions.insert(dimensions.begin(), {.limit = b.size});
  return Values{slice(b.x[0], dimensions)};
}

// Where each lane has its own padding, it is put where a mask says.
StatusOr<Values> batch_pad(const BatchArgs& b) {
  const std::vector<PadDimension>& one = b.attrs<PadAttrs>().padding;
  std::vector<PadDimension> all = one;
  all.insert(all.begin(), PadDimension{});
  if (!b.is_batched(1)) return Values{pad(b.full(0), b.x[1], all)};
  const Value padded = pad(b.full(0), all);
  const Value inside = b.graph.full(Shape(pred, b.sizes(0)), 1);
  const Value mask = in_each_lane(pad(inside, one), b.size);
  return Values{select(mask, padded, broadcast(b.x[1], padded.sizes(), {0}))};
}

StatusOr<Values> batch_dimension_size(const BatchArgs& b) {
  const int64_t dimension = b.attrs<DimensionsAttrs>().dimensions[0];
  const auto size = static_cast<double>(b.sizes(0)[static_cast<size_t>(dimension)]);
  return Values{b.graph.full(Shape(s32, {b.size}), size)};
}

StatusOr<Values> batch_sort(const BatchArgs& b) {
  SortAttrs attrs = b.attrs<SortAttrs>();
  attrs.dimensions = shifted(attrs.dimensions);
  return b.again(b.all_full(), attrs);
}

StatusOr<Values> batch_leading(const BatchArgs& b) { return b.again(b.all_full()); }

}  // namespace heddle::hlo
