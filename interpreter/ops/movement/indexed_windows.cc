#include "heddle/interpreter/ops/movement/indexed_windows.h"

#include "heddle/interpreter/ops/movement/indices.h"

namespace heddle::interpreter {
namespace {

bool contains(std::span<const int64_t> dims, int64_t dim) {
  return std::ranges::count(dims, dim) > 0;
}

}  // namespace

IndexedWindows::IndexedWindows(const Shape& x, const Literal& indices, const Shape& batched,
                               const WindowDims& dims) {
  if (indices.shape().dtype() == s32) {
    narrow_ = indices.values<int32_t>().data();
  } else if (indices.shape().dtype() == s64) {
    wide_ = indices.values<int64_t>().data();
  } else {
    converted_ = all_indices(indices);
    wide_ = converted_.data();
  }
  const Strides of_x(x);
  const Strides of_batched(batched);
  const Strides of_indices(indices.shape());
  int64_t window_of_x[Shape::kMaxRank];  // size of the window by dimension of x
  int64_t kept = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    window_of_x[d] = 1;
    if (contains(dims.dropped_dims, d) || contains(dims.x_batching_dims, d)) continue;
    const int64_t of_window = dims.window_dims[static_cast<size_t>(kept++)];
    window_of_x[d] = batched.dimension(of_window);
    sizes_[window_rank_] = window_of_x[d];
    in_x_[window_rank_] = of_x[d];
    in_batched_[window_rank_++] = of_batched[of_window];
  }
  int64_t of_vectors = 0;
  for (int64_t d = 0; d < batched.rank(); ++d) {
    if (contains(dims.window_dims, d)) continue;
    if (of_vectors == dims.index_vector_dim) ++of_vectors;
    const auto paired = std::ranges::find(dims.indices_batching_dims, of_vectors);
    const bool pairs = paired != dims.indices_batching_dims.end();
    const int64_t in_x = pairs ? of_x[dims.x_batching_dims[static_cast<size_t>(
                                     paired - dims.indices_batching_dims.begin())]]
                               : 0;
    batch_[batch_rank_++] = {batched.dimension(d), of_batched[d], of_indices[of_vectors], in_x};
    ++of_vectors;
  }
  const int64_t step =
      dims.index_vector_dim < indices.shape().rank() ? of_indices[dims.index_vector_dim] : 0;
  for (int64_t d : dims.index_map) {
    starts_[components_] = {components_ * step, of_x[d], x.dimension(d) - window_of_x[d]};
    ++components_;
  }
}

}  // namespace heddle::interpreter
