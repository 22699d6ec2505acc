// jax's own names, where ours have an underscore more or another word. `std` cannot be one in C++;
// it is std_dev.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/trace/collectives.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/statistics.h"

namespace heddle {

// is_nan
inline Tensor isnan(Operand x) { return is_nan(x); }
// is_inf
inline Tensor isinf(Operand x) { return is_inf(x); }
// is_finite
inline Tensor isfinite(Operand x) { return is_finite(x); }
// is_close
inline Tensor isclose(Operand x, Operand y, const Tolerance& within = {}) {
  return is_close(x, y, within);
}
// all_close
inline Tensor allclose(Operand x, Operand y, const Tolerance& within = {}) {
  return all_close(x, y, within);
}
// nan_sum
inline Tensor nansum(Operand x, const Reduction& over = {}) { return nan_sum(x, over); }
// nan_mean
inline Tensor nanmean(Operand x, const Reduction& over = {}) { return nan_mean(x, over); }
// permute
inline Tensor ppermute(const Tensor& x, const MeshAxes& axes,
                       const std::vector<std::pair<int64_t, int64_t>>& pairs,
                       SourceLocation at = SourceLocation::here()) {
  return permute(x, axes, pairs, at);
}
// reduce_scatter
inline Tensor psum_scatter(const Tensor& x, const MeshAxes& axes,
                           const CollectiveOptions& options = {},
                           SourceLocation at = SourceLocation::here()) {
  return reduce_scatter(x, axes, options, at);
}

}  // namespace heddle
