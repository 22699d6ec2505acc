// Bools and floating-point numbers where an axis, an index, a count or a size is meant.
#include "heddle/heddle.h"

using namespace heddle;

// case axis_of_bool: an axis, an index, a count or a size is an integer
Tensor sorted(Tensor x) {
#ifdef axis_of_bool
  return sort(x, true);
#else
  return sort(x, 0, true);
#endif
}

// case axis_of_float: an axis, an index, a count or a size is an integer
Tensor greatest(Tensor x) {
#ifdef axis_of_float
  return argmax(x, 0.7);
#else
  return argmax(x, 0);
#endif
}

// case running_over_bool: an axis, an index, a count or a size is an integer
Tensor running(Tensor x) {
#ifdef running_over_bool
  return cumsum(x, true);
#else
  return cumsum(x, 0, true) + cumsum(x);
#endif
}

// case size_of_bool: an axis, an index, a count or a size is an integer
Tensor size() {
#ifdef size_of_bool
  return zeros(true);
#else
  return zeros(1);
#endif
}

// case size_of_float: an axis, an index, a count or a size is an integer
Tensor length() {
#ifdef size_of_float
  return ones(2.5);
#else
  return ones(2);
#endif
}

// case sizes_of_float: narrow
Tensor sizes() {
#ifdef sizes_of_float
  return zeros({2.5});
#else
  return zeros({2});
#endif
}

// case shape_of_float: narrow
Tensor reshaped(Tensor x) {
#ifdef shape_of_float
  return reshape(x, {2.0, 3});
#else
  return reshape(x, {2, 3});
#endif
}

// case reshape_to_float: an axis, an index, a count or a size is an integer
Tensor flat(Tensor x) {
#ifdef reshape_to_float
  return reshape(x, 6.0);
#else
  return reshape(x, 6);
#endif
}

// case dim_of_float: an axis, an index, a count or a size is an integer
int64_t dim(Tensor x) {
#ifdef dim_of_float
  return x.dim(0.5);
#else
  return x.dim(-1);
#endif
}

// case option_of_bool: an axis, an index, a count or a size is an integer
auto along(Tensor x) {
#ifdef option_of_bool
  return map([](Tensor a) { return a; }, x, {.axis = true});
#else
  return map([](Tensor a) { return a; }, x, {.axis = 1});
#endif
}

// case counted_by_float: an axis, an index, a count or a size is an integer
auto parts(Tensor x) {
#ifdef counted_by_float
  return split(x, 2.0);
#else
  return split(x, 2);
#endif
}

// case optional_axis_of_bool: an axis, an index, a count or a size is an integer
Tensor middle(Tensor x) {
#ifdef optional_axis_of_bool
  return median(x, true);
#else
  return median(x, 0) + median(x);
#endif
}

// What stays as it was: enums, other integers, and lists of axes in braces.
enum { kRows, kColumns };
Tensor still_right(Tensor x, size_t n, uint8_t k) {
  const auto axis = static_cast<int16_t>(kRows);
  return softmax(x, kColumns) + roll(x, n, axis) + repeat(x, k) + sum(x, {0, 1}) +
         mean(x, {0, 1}, true) + max(x, {.axes = {0}}) + var(x, {0, 1}, 1) + sum(x, {}) +
         nan_sum(x, {0, 1});
}
