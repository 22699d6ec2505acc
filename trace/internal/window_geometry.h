// Options of windows as HLO's window, checked. Private to Heddle's op functions.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/ops/windows/windows.h"

namespace heddle::trace_internal {

// A list of `count` sizes of 1 or more; a lone one is for all, and an empty list is all ones.
// errors: throws Error naming `name`
std::vector<int64_t> ones_or(std::string_view name, const std::vector<int64_t>& list, size_t count);

// Sets the padding of windows over axes of sizes `base`.
// errors: throws Error for a list of another length, and for kSame over a dilated base
void set_padding(const WindowPadding& padding, const std::vector<int64_t>& base,
                 std::vector<hlo::WindowDimension>& window);

// The number of places of a window over an axis.
int64_t window_places(const hlo::WindowDimension& window, int64_t base);

// Requires a place for the window along each of the axes of x, where HLO gives an empty array in
// silence. What is empty already may stay so where `allow_empty`. errors: throws Error naming
// `what` (the window or the kernel) and x with its padding
void require_places(std::string_view what, const Shape& x, const std::vector<int64_t>& axes,
                    const std::vector<hlo::WindowDimension>& window, bool allow_empty);

}  // namespace heddle::trace_internal
