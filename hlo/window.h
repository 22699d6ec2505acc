// A window that moves over an array: of reduce-window, select-and-scatter and convolution.
#pragma once

#include <span>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"

namespace heddle::hlo {

class InferArgs;  // hlo/op.h

// Checks a window of one entry for each of `base` (the sizes that it moves over) and returns the
// number of its places along each: floor((padded - dilated window) / stride) + 1, or 0 where the
// window is larger. A window without entries is of size 1. errors: sizes, strides and dilations
// below 1; sizes that do not fit 62 bits
StatusOr<Dims> window_places(const InferArgs& in, const Window& window,
                             std::span<const int64_t> base);

// One entry a dimension, also for a window that was given none.
std::vector<WindowDimension> window_entries(const Window& window, int64_t rank);

// The size of an array with by - 1 elements between each two of its `size`.
constexpr int64_t dilated_size(int64_t size, int64_t by) {
  return size == 0 ? 0 : (size - 1) * by + 1;
}

}  // namespace heddle::hlo
