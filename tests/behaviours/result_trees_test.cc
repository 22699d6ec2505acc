// The structs that functions return are trees, and what takes trees takes as many as JAX's users
// give it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/heddle.h"

namespace heddle {
namespace {

using Numbers = std::vector<float>;

TEST(ResultTrees, GoThroughTracedFunctions) {
  const Tensor x = array({3.0f, 1.0f, 2.0f, 5.0f, 4.0f, 6.0f});
  const auto largest = compile([](Tensor v) { return top_k(v, 2); })(x);
  EXPECT_EQ(largest.values.to_vector<float>(), (Numbers{6, 5}));
  EXPECT_EQ(largest.indices.to_vector<int32_t>(), (std::vector<int32_t>{5, 3}));
  const Tensor rows = reshape(x, {2, 3});
  const auto each = map([](Tensor row) { return divmod(row, 2.0); }, rows);
  EXPECT_EQ(each.quotient.to_vector<float>(), (Numbers{1, 0, 1, 2, 2, 3}));
  EXPECT_EQ(each.remainder.to_vector<float>(), (Numbers{1, 1, 0, 1, 0, 0}));
  const auto spectra = vmap([](Tensor a) { return linalg::svd(a); })(ones({2, 3, 3}));
  EXPECT_EQ(spectra.s.shape().dimensions(), (std::vector<int64_t>{2, 3}));
  const auto chosen = cond(
      scalar(true), [&] { return linalg::slogdet(eye(3) * 2.0f); },
      [&] { return linalg::slogdet(eye(3)); });
  EXPECT_NEAR(chosen.logabsdet.item<float>(), 3 * std::log(2.0f), 1e-6);
}

TEST(ResultTrees, AStepMayStackThem) {
  const auto [last, seen] =
      scan([](Tensor c, Tensor row) { return std::pair(c + sum(row), frexp(row)); }, scalar(0.0f),
           array({1.0f, 2.0f, 3.0f, 8.0f}));
  EXPECT_EQ(last.item<float>(), 14);
  EXPECT_EQ(seen.mantissa.to_vector<float>(), (Numbers{0.5f, 0.5f, 0.75f, 0.5f}));
  EXPECT_EQ(seen.exponent.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 2, 4}));
}

TEST(Scan, OfSoManyTurnsNeedsNoXs) {
  const auto [last, seen] =
      scan([](Tensor c, None) { return std::pair(c * 2.0, c); }, scalar(1.0f), {.length = 4});
  EXPECT_EQ(last.item<float>(), 16);
  EXPECT_EQ(seen.to_vector<float>(), (Numbers{1, 2, 4, 8}));
}

// A step of Dormand and Prince combines a state and seven slopes.
TEST(TreeMap, TakesEightTrees) {
  const std::pair tree(scalar(1.0f), scalar(2.0f));
  const auto sums = tree_map([](Tensor y, Tensor a, Tensor b, Tensor c, Tensor d, Tensor e,
                                Tensor f, Tensor g) { return y + a + b + c + d + e + f + g; },
                             tree, tree, tree, tree, tree, tree, tree, tree);
  EXPECT_EQ(sums.first.item<float>(), 8);
  EXPECT_EQ(sums.second.item<float>(), 16);
}

TEST(Indexing, NoneIsANewAxis) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(x[None{}].shape().dimensions(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ((x[{Ellipsis{}, None{}}].shape().dimensions()), (std::vector<int64_t>{2, 3, 1}));
}

}  // namespace
}  // namespace heddle
