// Subscripts and Python's tuples, which C++20 reads as the comma operator. g++ 12 forgets in a
// precompiled header that its warning is to be an error, so this file includes what it needs and no
// more.
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"

using namespace heddle;

// case comma_of_numbers: top-level comma expression in array subscript
Tensor two_numbers(Tensor m) {
#ifdef comma_of_numbers
  return m[0, 1];
#else
  return m[{0, 1}];
#endif
}

// case comma_of_tensors: top-level comma expression in array subscript
Tensor tensor_and_number(Tensor m, Tensor i) {
#ifdef comma_of_tensors
  return m[i, 1];
#else
  return m[{i, 1}];
#endif
}

// case comma_of_slices: top-level comma expression | C++ takes the comma for an operator: write
Tensor slice_and_number(Tensor m) {
#ifdef comma_of_slices
  return m[Slice{0, 1}, 1];
#else
  return m[{Slice{0, 1}, 1}];
#endif
}

// case comma_of_sizes: operand of comma operator has no effect
Tensor sizes(Tensor x) {
#ifdef comma_of_sizes
  return broadcast_to(x, {(2, 3)});
#else
  return broadcast_to(x, {2, 3});
#endif
}
