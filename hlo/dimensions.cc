#include "heddle/hlo/dimensions.h"

#include <algorithm>
#include <numeric>

namespace heddle {

std::vector<int64_t> consecutive_dimensions(int64_t count, int64_t from) {
  std::vector<int64_t> dimensions(static_cast<size_t>(count));
  std::iota(dimensions.begin(), dimensions.end(), from);
  return dimensions;
}

std::vector<int64_t> other_dimensions(int64_t rank, std::span<const int64_t> dimensions) {
  std::vector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::ranges::find(dimensions, d) == dimensions.end()) others.push_back(d);
  }
  return others;
}

std::vector<int64_t> inverse_permutation(std::span<const int64_t> order) {
  std::vector<int64_t> out(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    out[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return out;
}

Shape without_dimensions(const Shape& shape, std::span<const int64_t> dimensions) {
  const std::vector<int64_t> kept = other_dimensions(shape.rank(), dimensions);
  std::vector<int64_t> sizes;
  for (int64_t i : kept) sizes.push_back(shape.dimension(i));
  Shape out(shape.dtype(), std::move(sizes));
  for (size_t i = 0; i < kept.size(); ++i) {
    if (shape.is_dynamic_dimension(kept[i]))
      out.set_dynamic_dimension(static_cast<int64_t>(i), true);
  }
  return out;
}

Shape with_dimension_inserted(const Shape& shape, int64_t at, int64_t size) {
  std::vector<int64_t> sizes = shape.dimensions();
  sizes.insert(sizes.begin() + at, size);
  Shape out(shape.dtype(), std::move(sizes));
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.is_dynamic_dimension(i)) out.set_dynamic_dimension(i < at ? i : i + 1, true);
  }
  return out;
}

}  // namespace heddle
