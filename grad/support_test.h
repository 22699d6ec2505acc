// Helpers for the tests of this folder: numbers, a small tree, and the text of an error.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/numpy/aliases.h"
#include "heddle/numpy/sequences.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"
#include "heddle/trace/tree.h"

namespace heddle::grad_internal {

inline std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

// Numbers in -1 .. 1 without order.
inline Tensor some(std::vector<int64_t> sizes, double seed = 0) {
  int64_t count = 1;
  for (int64_t n : sizes) count *= n;
  return reshape(sin(cos(arange(count, f64) * 1.7 + seed) * 9.3 + seed), sizes);
}

// fn of each example along axis 0, one after another.
template <class Fn, class... Args>
Tensor one_by_one(const Fn& fn, int64_t count, const Args&... args) {
  std::vector<Tensor> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(fn(args[i]...));
  return stack(all, 0);
}

inline void expect_same(const Tensor& have, const Tensor& want) {
  ASSERT_EQ(have.shape(), want.shape());
  EXPECT_THAT(values(have), Pointwise(DoubleNear(1e-12), values(want)));
}

struct Cell {
  Tensor w;
  Tensor b;
  static constexpr auto kFields = fields(field("w", &Cell::w), field("b", &Cell::b));
};

// How often a text has a part.
inline size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace heddle::grad_internal
