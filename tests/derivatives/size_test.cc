// A derivative's program grows linearly with its function's.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "heddle/heddle.h"
#include "heddle/hlo/module.h"

namespace heddle {
namespace {

template <class Fn>
int64_t length_of_gradient(const Fn& fn, const Tensor& x) {
  return trace(grad(fn), x).module().instruction_count();
}

// Each layer adds as many instructions: 16 more add twice what 8 more do. Values are checked too.
template <class MakeFn>
void expect_linear(const MakeFn& with_layers) {
  const Tensor x = 0.25 * linspace(0, 1, 1024);
  const int64_t at_8 = length_of_gradient(with_layers(8), x);
  const int64_t at_16 = length_of_gradient(with_layers(16), x);
  EXPECT_EQ(length_of_gradient(with_layers(32), x) - at_16, 2 * (at_16 - at_8));
  check_grads(with_layers(2), std::tuple(x), {.order = 1});
}

Tensor layers(Tensor x, int n) {
  for (int i = 0; i < n; ++i) x = x * sin(x) + x;
  return x;
}

TEST(SizeOfGradient, OfOneElementOfLayers) {
  expect_linear([](int n) { return [n](Tensor x) { return layers(x, n)[3]; }; });
}

TEST(SizeOfGradient, OfManyElementsOfLayers) {
  expect_linear([](int n) {
    return [n](Tensor x) {
      const Tensor y = layers(x, n);
      Tensor total = sum(y[Slice{0, 3}]);
      for (int i = 0; i < 20; ++i) total = total + y[5 * i] * y[7];
      return total;
    };
  });
}

TEST(SizeOfGradient, OfRowsAtIndices) {
  expect_linear([](int n) {
    return [n](Tensor x) {
      const Tensor y = layers(x, n), at = array({1, 5, 9, 5});
      return sum(take(y, at) * y[at]) + sum(take(y, at + 1));
    };
  });
}

// A roll moves one element to the other end.
TEST(SizeOfGradient, OfNestedRolls) {
  expect_linear([](int n) {
    return [n](Tensor x) {
      for (int i = 0; i < n; ++i) {
        const Tensor left = roll(x, 1), right = roll(x, -1);
        x = x + 0.1 * (x * x - left * right + left * x + square(right));
      }
      return sum(x);
    };
  });
}

}  // namespace
}  // namespace heddle
