// Operators and functions that do not mean what they look like.
#include "heddle/heddle.h"

using namespace heddle;

// case logical_and_of_tensors: write x & y, x | y and ~x
Tensor both(Tensor x, Tensor y) {
#ifdef logical_and_of_tensors
  return x > 0 && y > 0;
#else
  return (x > 0) & (y > 0);
#endif
}

// case logical_or_of_tensors: write x & y, x | y and ~x
Tensor either(Tensor x, Tensor y) {
#ifdef logical_or_of_tensors
  return x || y;
#else
  return x | y;
#endif
}

// case logical_not_of_tensor: write x & y, x | y and ~x
Tensor no(Tensor x) {
#ifdef logical_not_of_tensor
  return !x;
#else
  return ~x;
#endif
}

// case and_of_bool: write x & y, x | y and ~x
Tensor with_bool(Tensor x, bool flag) {
#ifdef and_of_bool
  if (flag && x) return x;
#else
  if (flag) return x;
#endif
  return x;
}

// case branch_on_tensor: a Tensor is no bool
Tensor branch(Tensor x, Tensor y) {
#ifdef branch_on_tensor
  if (x == y) return x;
#else
  return where(x == y, x, y);
#endif
  return y;
}

// case max_of_a_number: of two operands write maximum(x, y)
Tensor relu(Tensor x) {
#ifdef max_of_a_number
  return max(x, 0.0);
#else
  return maximum(x, 0.0);
#endif
}

// case min_of_tensors: of two operands write minimum(x, y)
Tensor lesser(Tensor x, Tensor y) {
#ifdef min_of_tensors
  return min(x, y);
#else
  return minimum(x, y);
#endif
}

// case sum_over_bool: a reduction is over an axis, sum(x, 0)
Tensor over_bool(Tensor x) {
#ifdef sum_over_bool
  return sum(x, true);
#else
  return sum(x, 0, true);
#endif
}

// case sum_of_two: a reduction is over an axis, sum(x, 0)
Tensor of_two(Tensor x, Tensor y) {
#ifdef sum_of_two
  return sum(x, y);
#else
  return sum(x) + sum(y, {.axes = {0}}) + sum(y, std::vector<int64_t>{0, 1});
#endif
}

// case keep_dims_of_int: the third argument of a reduction is keep_dims, a bool
// case nan_keep_dims_of_int: over two axes write sum(x, {0, 1})
Tensor over_two(Tensor x, bool keep) {
#ifdef keep_dims_of_int
  return sum(x, 0, 1);
#elif defined(nan_keep_dims_of_int)
  return nanmax(x, {0}, 1);
#else
  return sum(x, {0, 1}) + max(x, 0, keep) + nanmax(x, {0}, true) + sum(x, 0, {});
#endif
}

// case ddof_of_bool: the third argument of a variance is ddof
Tensor variance(Tensor x) {
#ifdef ddof_of_bool
  return var(x, 0, true);
#else
  return var(x, 0, 1) + var(x, {.axes = {0}, .keep_dims = true});
#endif
}

// case cond_of_values: between values choose with where(p, x, y)
Tensor choose(Tensor p, Tensor x, Tensor y) {
#ifdef cond_of_values
  return cond(p, x, y);
#else
  return where(p, x, y);
#endif
}

// case cond_of_numbers: between values choose with where(p, x, y)
Tensor choose_number(Tensor p) {
#ifdef cond_of_numbers
  return cond(p, 1.0f, 2.0f);
#else
  return where(p, 1.0f, 2.0f);
#endif
}
