// Reductions: the dimension of the lanes stays. Where each lane starts from its own number, which
// these ops cannot write, they go one by one.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {
namespace {

bool is_any_batched_from(const BatchArgs& b, size_t first) {
  return std::any_of(b.batched.begin() + static_cast<std::ptrdiff_t>(first), b.batched.end(),
                     [](bool each) { return each; });
}

// The inputs with one value a lane, and the initial values as they are.
Values inputs_full(const BatchArgs& b, size_t inputs) {
  Values out;
  for (size_t i = 0; i < b.x.size(); ++i) out.push_back(i < inputs ? b.full(i) : b.x[i]);
  return out;
}

WindowAttrs with_lanes(WindowAttrs attrs, int64_t rank) {
  std::vector<WindowDimension>& dimensions = attrs.window.dimensions;
  if (dimensions.empty()) dimensions.resize(static_cast<size_t>(rank));  // all of size 1
  dimensions.insert(dimensions.begin(), WindowDimension{});
  return attrs;
}

}  // namespace

StatusOr<Values> batch_reduce(const BatchArgs& b) {
  const size_t inputs = b.x.size() / 2;
  if (is_any_batched_from(b, inputs)) return batch_one_by_one(b);
  const Dims dimensions = shifted(b.attrs<DimensionsAttrs>().dimensions);
  return b.again(inputs_full(b, inputs), DimensionsAttrs{.dimensions = dimensions});
}

StatusOr<Values> batch_reduce_window(const BatchArgs& b) {
  const size_t inputs = b.x.size() / 2;
  if (is_any_batched_from(b, inputs)) return batch_one_by_one(b);
  return b.again(inputs_full(b, inputs), with_lanes(b.attrs<WindowAttrs>(), b.rank(0)));
}

StatusOr<Values> batch_select_and_scatter(const BatchArgs& b) {
  if (b.is_batched(2)) return batch_one_by_one(b);
  return b.again(inputs_full(b, 2), with_lanes(b.attrs<WindowAttrs>(), b.rank(0)));
}

StatusOr<Values> batch_map(const BatchArgs& b) {
  const Dims dimensions = shifted_behind_lanes(b.attrs<DimensionsAttrs>().dimensions);
  return b.again(b.all_full(), DimensionsAttrs{.dimensions = dimensions});
}

}  // namespace heddle::hlo
