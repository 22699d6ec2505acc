#include "heddle/trace/internal/window_geometry.h"

#include <algorithm>

#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {
namespace {

int64_t dilated(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : (size - 1) * dilation + 1;
}

void set_same(hlo::WindowDimension& w, int64_t base, bool lower) {
  int64_t places = (base + w.stride - 1) / w.stride;
  int64_t needed = (places - 1) * w.stride + dilated(w.size, w.window_dilation);
  int64_t total = std::max<int64_t>(needed - base, 0);
  int64_t smaller = total / 2;
  w.padding_low = lower ? total - smaller : smaller;
  w.padding_high = total - w.padding_low;
}

}  // namespace

std::vector<int64_t> ones_or(std::string_view name, const std::vector<int64_t>& list,
                             size_t count) {
  if (list.empty()) return std::vector<int64_t>(count, 1);
  if (list.size() != count && list.size() != 1) {
    refuse(name, " has ", list.size(), " entries; it must have ", count,
           ", one a spatial axis, or one number for all");
  }
  for (int64_t entry : list) {
    if (entry >= 1) continue;
    refuse(name, " is [", base::join(list, ","), "]; its entries must be 1 or more");
  }
  return list.size() == 1 ? std::vector<int64_t>(count, list[0]) : list;
}

void set_padding(const WindowPadding& padding, const std::vector<int64_t>& base,
                 std::vector<hlo::WindowDimension>& window) {
  const bool for_each = padding.rule() == WindowPadding::kEach;
  const bool listed = padding.rule() == WindowPadding::kExplicit;
  if (listed && padding.edges().size() != window.size()) {
    refuse("padding has ", padding.edges().size(), " entries; it must have ", window.size(),
           ", one a spatial axis");
  }
  for (size_t i = 0; i < window.size(); ++i) {
    hlo::WindowDimension& w = window[i];
    if (listed || for_each) {
      const EdgePadding& edges = padding.edges()[for_each ? 0 : i];
      w.padding_low = edges.low;
      w.padding_high = edges.high;
    } else if (padding.rule() != WindowPadding::kValid) {
      if (w.base_dilation != 1) {
        refuse("padding is kSame and x is dilated by ", w.base_dilation,
               "; list the padding of each axis instead");
      }
      set_same(w, base[i], padding.rule() == WindowPadding::kSameLower);
    }
  }
}

int64_t window_places(const hlo::WindowDimension& w, int64_t base) {
  int64_t room = dilated(base, w.base_dilation) + w.padding_low + w.padding_high;
  int64_t covered = dilated(w.size, w.window_dilation);
  return room < covered ? 0 : (room - covered) / w.stride + 1;
}

void require_places(std::string_view what, const Shape& x, const std::vector<int64_t>& axes,
                    const std::vector<hlo::WindowDimension>& window, bool allow_empty) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const hlo::WindowDimension& w = window[i];
    const int64_t base = x.dimension(axes[i]);
    if (window_places(w, base) > 0 || (allow_empty && base == 0)) continue;
    const int64_t room = dilated(base, w.base_dilation) + w.padding_low + w.padding_high;
    refuse("the ", what, " has size ", w.size, " along axis ", axes[i],
           w.window_dilation > 1 ? base::cat(", dilated by ", w.window_dilation) : "", "; x is ", x,
           room == base ? ", " : base::cat(", there of size ", room, " with its padding, "),
           "smaller than that, take a smaller ", what, ", or pad x with WindowPadding::kSame");
  }
}

}  // namespace heddle::trace_internal
