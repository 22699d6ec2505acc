#include "heddle/hlo/window.h"

#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 62;

Status check_positive(const InferArgs& in, std::string_view what, size_t d, int64_t value) {
  if (value >= 1) return {};
  return in.error("window ", what, " of dimension ", d, " is ", value, "; must be 1 or more");
}

// (size - 1) * dilation + 1, or -1 where it does not fit.
int64_t dilated(int64_t size, int64_t dilation) {
  int64_t out = 0;
  if (size == 0) return 0;
  if (__builtin_mul_overflow(size - 1, dilation, &out) || out >= kMaxSize) return -1;
  return out + 1;
}

StatusOr<int64_t> places(const InferArgs& in, size_t d, const WindowDimension& w, int64_t base) {
  HEDDLE_RETURN_IF_ERROR(check_positive(in, "size", d, w.size));
  HEDDLE_RETURN_IF_ERROR(check_positive(in, "stride", d, w.stride));
  HEDDLE_RETURN_IF_ERROR(check_positive(in, "dilation", d, w.window_dilation));
  HEDDLE_RETURN_IF_ERROR(check_positive(in, "base dilation", d, w.base_dilation));
  int64_t padded = dilated(base, w.base_dilation);
  int64_t window = dilated(w.size, w.window_dilation);
  bool overflow = padded < 0 || window < 0;
  overflow |= __builtin_add_overflow(padded, w.padding_low, &padded);
  overflow |= __builtin_add_overflow(padded, w.padding_high, &padded);
  if (overflow || padded > kMaxSize)
    return in.error("the padded size of dimension ", d, " must fit 62 bits");
  return window > padded ? 0 : (padded - window) / w.stride + 1;
}

}  // namespace

StatusOr<Dims> window_places(const InferArgs& in, const Window& window,
                             std::span<const int64_t> base) {
  if (window.dimensions.empty()) return Dims(base.begin(), base.end());
  HEDDLE_RETURN_IF_ERROR(check_length(in, "window", window.dimensions.size(),
                                      static_cast<int64_t>(base.size()),
                                      "dimension that it moves over"));
  Dims out;
  out.reserve(base.size());
  for (size_t d = 0; d < base.size(); ++d) {
    HEDDLE_ASSIGN_OR_RETURN(int64_t count, places(in, d, window.dimensions[d], base[d]));
    out.push_back(count);
  }
  return out;
}

std::vector<WindowDimension> window_entries(const Window& window, int64_t rank) {
  if (!window.dimensions.empty()) return window.dimensions;
  return std::vector<WindowDimension>(static_cast<size_t>(rank));
}

}  // namespace heddle::hlo
