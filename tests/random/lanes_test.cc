// Samplers with loops inside, in branches and loops that only some lanes of a vmap run.
#include <gtest/gtest.h>

#include "heddle/heddle.h"
#include "heddle/random/continuous.h"
#include "heddle/random/keys.h"

namespace heddle::random_test {
namespace {

Tensor sampled(const Tensor& a) { return random::gamma(random::key(3), a); }

// Each lane's result is that of the function alone.
template <class Fn, class... Xs>
void expect_as_alone(Fn fn, const Xs&... xs) {
  const std::vector<float> lanes = vmap(fn)(xs...).template to_vector<float>();
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto k = static_cast<int64_t>(i);
    EXPECT_EQ(lanes[i], fn(xs[k]...).template item<float>()) << "lane " << i;
  }
}

TEST(RandomLanes, DrawInABranch) {
  const Tensor take = array({true, false, true}), a = array({0.5F, 0.7F, 2.0F});
  const auto same = [](Tensor p) {
    return cond(
        p, [] { return sampled(full({}, 0.5F)); }, [] { return zeros({}); });
  };
  expect_as_alone(same, take);
  const auto each = [](Tensor p, Tensor a) {
    return cond(
        p, [=] { return sampled(a); }, [] { return zeros({}); });
  };
  expect_as_alone(each, take, a);
  const auto sum_of = [&](Tensor a) { return sum(vmap(each)(take, a)); };
  const std::vector<float> slopes = grad(sum_of)(a).to_vector<float>();
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(slopes[static_cast<size_t>(i)], i == 1 ? 0.0F : grad(sampled)(a[i]).item<float>(),
                1e-6);
}

TEST(RandomLanes, DrawInALoop) {
  const Tensor count = array({1, 3, 0}), a = array({0.5F, 0.7F, 2.0F});
  const auto same = [](Tensor n) {
    return fori_loop(
        0, n, [](Tensor, Tensor s) { return s + sampled(full({}, 0.5F)); }, zeros({}));
  };
  expect_as_alone(same, count);
  const auto each = [](Tensor n, Tensor a) {
    return fori_loop(
        0, n, [=](Tensor, Tensor s) { return s + sampled(a + s); }, zeros({}));
  };
  expect_as_alone(each, count, a);
}

}  // namespace
}  // namespace heddle::random_test
