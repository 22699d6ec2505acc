// Derivatives of the catalogue's functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/heddle.h"

namespace heddle {
namespace {

using ::testing::ElementsAre;

// Numbers in -1 .. 1 without order.
Tensor some(std::vector<int64_t> sizes, double seed = 0) {
  int64_t count = 1;
  for (int64_t n : sizes) count *= n;
  return reshape(sin(cos(arange(count, f64) * 1.7 + seed) * 9.3 + seed), sizes);
}

TEST(Derivatives, OfFunctions) {
  check_grads([](Tensor x) { return sum(cumsum(x) * cumprod(x)); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return sum(sort(x) * arange(5, f64)); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return logsumexp(x); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return sum(nn::softmax(x) * arange(5, f64)); }, std::tuple(some({5})));
  check_grads(
      [](Tensor x) {
        return sum(square(x.at(arange(3)).set(x[Slice{2, 5}])));
      },
      std::tuple(some({5})));
  check_grads(
      [](Tensor x) {
        return sum(square(x[array<int>({0, 2, 2})]));
      },
      std::tuple(some({5})));
  const Tensor a = some({3, 3});
  check_grads([](Tensor x) { return sum(linalg::cholesky(matmul(x, transpose(x)) + eye(3, f64))); },
              std::tuple(a));
  check_grads([](Tensor x) { return sum(special::lgamma(x)) + sum(special::erfc(x)); },
              std::tuple(some({4}) + 2.0));
}

TEST(Derivatives, KeysAndCountersInTheCarry) {
  auto f = [](Tensor x) {
    auto step = [](std::tuple<Tensor, Tensor, Tensor> s, None) {
      auto [key, n, y] = s;
      auto keys = random::split(key);
      y = y * random::uniform(keys[0], {}, f64, 0.5, 1.0) + n.astype(f64);
      return std::pair(std::tuple(keys[1], n + 1, y), None{});
    };
    return std::get<2>(
        scan(step, std::tuple(random::key(0), scalar(0), x), None{}, {.length = 4}).first);
  };
  check_grads(f, std::tuple(scalar(0.3)));
}

TEST(Derivatives, OfWhatIsNotNeededAreNotAskedFor) {
  auto f = [](Tensor x) {
    auto [values, vectors] = linalg::eigh(x);
    (void)values;
    return sum(x);
  };
  EXPECT_THAT(grad(f)(some({2, 2})).to_vector<double>(), ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace heddle
