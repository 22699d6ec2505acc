// For tests of ops that move a window: random windows, their text, and where a tap falls, worked
// out apart from window.h.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/interpreter/ops/movement/index_testing.h"

namespace heddle::interpreter::window_testing {

using index_testing::Index;
using index_testing::Random;

inline WindowDimension random_entry(Random& random, int64_t size) {
  return {.size = size,
          .stride = random.in(1, 3),
          .padding_low = random.in(-2, 3),
          .padding_high = random.in(-2, 3),
          .window_dilation = random.coin() ? 1 : random.in(1, 3),
          .base_dilation = random.coin() ? 1 : random.in(1, 4)};
}

// Places along a dimension of `base` elements, by counting.
inline int64_t count_places(const WindowDimension& w, int64_t base) {
  const int64_t padded =
      (base == 0 ? 0 : (base - 1) * w.base_dilation + 1) + w.padding_low + w.padding_high;
  const int64_t reach = (w.size - 1) * w.window_dilation + 1;
  int64_t places = 0;
  while (places * w.stride + reach <= padded) ++places;
  return places;
}

// The element that a tap falls on at a place, or -1.
inline int64_t element_at(const WindowDimension& w, int64_t base, int64_t place, int64_t tap) {
  for (int64_t i = 0; i < base; ++i) {
    if (w.padding_low + i * w.base_dilation == place * w.stride + tap * w.window_dilation) return i;
  }
  return -1;
}

// The same for all dimensions; false where any tap falls on none.
inline bool element_at(const std::vector<WindowDimension>& window, const std::vector<int64_t>& base,
                       const Index& place, const Index& tap, Index& at) {
  at.resize(window.size());
  for (size_t d = 0; d < window.size(); ++d) {
    at[d] = element_at(window[d], base[d], place[d], tap[d]);
    if (at[d] < 0) return false;
  }
  return true;
}

inline std::vector<int64_t> sizes_of(const std::vector<WindowDimension>& window) {
  std::vector<int64_t> sizes;
  for (const WindowDimension& w : window) sizes.push_back(w.size);
  return sizes;
}

// window={size=2x3 stride=1x2 pad=0_1x2_2 lhs_dilate=1x1 rhs_dilate=1x1}; nothing for rank 0.
inline std::string text_of(const std::vector<WindowDimension>& window) {
  if (window.empty()) return "";
  std::vector<std::string> parts[5];
  for (const WindowDimension& w : window) {
    parts[0].push_back(base::cat(w.size));
    parts[1].push_back(base::cat(w.stride));
    parts[2].push_back(base::cat(w.padding_low, "_", w.padding_high));
    parts[3].push_back(base::cat(w.base_dilation));
    parts[4].push_back(base::cat(w.window_dilation));
  }
  return base::cat(", window={size=", base::join(parts[0], "x"),
                   " stride=", base::join(parts[1], "x"), " pad=", base::join(parts[2], "x"),
                   " lhs_dilate=", base::join(parts[3], "x"),
                   " rhs_dilate=", base::join(parts[4], "x"), "}");
}

}  // namespace heddle::interpreter::window_testing
