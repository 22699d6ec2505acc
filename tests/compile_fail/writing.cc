// Writes that would be lost, and indices that are none.
#include "heddle/heddle.h"

using namespace heddle;

// case write_element: write x = x.at({0}).set(..)
Tensor element(Tensor x) {
#ifdef write_element
  x[0] = ones({});
#else
  x = x.at({0}).set(ones({}));
#endif
  return x;
}

// case write_number: write x = x.at({0}).set(..)
Tensor number(Tensor x) {
#ifdef write_number
  x[0] = 1.5;
#else
  x = x.at({0}).set(1.5);
#endif
  return x;
}

// case write_list: write x = x.at({0}).set(..)
Tensor list(Tensor x, Tensor i) {
#ifdef write_list
  x[{i, Slice{0, 2}}] = x;
#else
  x = x.at({i, Slice{0, 2}}).set(x);
#endif
  return x;
}

// case add_to_element: write x = x.at({0}).set(..)
// case add_to_part: write x = x.at({0}).add(1) for += 1
// case write_part: write x = x.at({0}).add(1) for += 1, and likewise .set(..)
Tensor add_to(Tensor x) {
#ifdef add_to_element
  x[0] += 5;
#elif defined(add_to_part)
  x.at({0}) += 1;
#elif defined(write_part)
  x.at(0) = 1.5;
#else
  x = x.at({0}).add(5);
  x = x.at(0).set(1.5);
#endif
  return x;
}

// case scale_slice: write x = x.at({0}).set(..)
Tensor scale(Tensor x) {
#ifdef scale_slice
  x[Slice{0, 2}] *= 3.0;
#else
  x = x.at(Slice{0, 2}).multiply(3.0);
#endif
  return x;
}

// case write_result: write x = x.at({0}).set(..)
Tensor result(Tensor x) {
#ifdef write_result
  reshape(x, {4}) = x;
#else
  x = reshape(x, {4});
#endif
  return x;
}

// case index_of_bool: an index is an integer, a Slice
Tensor of_bool(Tensor x) {
#ifdef index_of_bool
  return x[true];
#else
  return x[1];
#endif
}

// case index_of_float: an index is an integer, a Slice
Tensor of_float(Tensor x) {
#ifdef index_of_float
  return x[0.5];
#else
  return x[0];
#endif
}

// What stays as it was.
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_copy_assignable_v<Tensor>);

Tensor still_right(Tensor x, std::vector<Tensor> list, std::map<std::string, Tensor> by_name) {
  Tensor y = x[0];
  y += 1;
  auto z = x[1];
  static_assert(std::is_same_v<decltype(z), Tensor>);
  auto both = std::pair(x[0], x[1]);
  static_assert(std::is_same_v<decltype(both), std::pair<Tensor, Tensor>>);
  std::tie(y, z) = both;
  list[0] = y;
  list[1] *= 2;
  by_name["w"] = y;
  for (int i = 0; i < 3; y = y + 1, ++i) (z += 1) *= 2;
  x = {};
  return std::exchange(x, y + z + list[0]);
}

// case assign_pair: of a pair or tuple, as loops give, take .first
// case assign_number: a number is scalar(2.0)
Tensor assigned(Tensor h, Tensor xs) {
  const auto step = [](Tensor h, Tensor x) { return std::pair(h + x, h); };
#ifdef assign_pair
  h = scan(step, h, xs);
#elif defined(assign_number)
  h = 2.0;
#else
  h = scan(step, h, xs).first;
  h = scalar(2.0);
#endif
  return h;
}
