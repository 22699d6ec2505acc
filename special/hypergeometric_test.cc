// Against mpmath with 30 digits.
#include "heddle/special/hypergeometric.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 4e-15 * std::abs(x)); }

TEST(Hypergeometric, Kummer) {
  EXPECT_THAT(doubles(hyp1f1(array<double>({1, 0.5, 2.5, 3, -2.5, 1.5, -3}),
                             array<double>({2, 1.5, 0.75, 1, 1.5, 3, 2}),
                             array<double>({0.5, -3, 20, -2, -4, -2000, 1.5}))),
              ElementsAre(near(1.2974425414002563), near(0.50434356023143881),
                          near(95801311492.187946), near(-0.13533528323661269),
                          near(17.050627768684206), near(2.5221860513857259e-5), near(-0.265625)));
  // Neither e^-120 nor the sum of e^120 is an f32.
  EXPECT_NEAR(hyp1f1(1, 2, scalar<float>(-120)).item<float>(), 1 / 120.0, 1e-8);
}

// 1 for a = 0, e^x for a = b, infinite where the denominator vanishes before the numerator.
TEST(Hypergeometric, KummerEnds) {
  EXPECT_THAT(doubles(hyp1f1(array<double>({0, 0, 2, -2, 1, -1, 1, 1, 1, 2}),
                             array<double>({0, 2, 0, -2, -2, -3, 2, 2, NAN, 3}),
                             array<double>({1, 5, 1, 1.5, 0.5, 0.5, INFINITY, -INFINITY, 1, 0}))),
              ElementsAre(1, 1, INFINITY, near(std::exp(1.5)), INFINITY, near(7 / 6.0), INFINITY, 0,
                          IsNan(), 1));
}

TEST(Hypergeometric, KummerAtInfinityHasTheLastTermsSign) {
  const Tensor a = array<double>({-1, -2, -1, -0.5, -0.5});
  const Tensor x = array<double>({INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY});
  EXPECT_THAT(doubles(hyp1f1(a, 2, x)),
              ElementsAre(-INFINITY, INFINITY, INFINITY, -INFINITY, INFINITY));
}

Tensor gauss(const std::vector<double>& a, const std::vector<double>& b,
             const std::vector<double>& c, const std::vector<double>& x) {
  return hyp2f1(array(a), array(b), array(c), array(x));
}

TEST(Hypergeometric, Gauss) {
  EXPECT_THAT(
      doubles(gauss({1, 0.5, 1, 1.5, -2, 0.5, 3}, {1, 0.5, 2, 2, 1, 1.5, 4},
                    {2, 1, 3, 3.5, 3, 2, 2.5}, {0.5, 0.99609375, -5, 0.9375, 2, -1e6, 0.875})),
      ElementsAre(near(1.3862943611198906), near(2.6495951746285758), near(0.2566592424617556),
                  near(5.9537560408693494), near(0.33333333333333333), near(0.0012732345828907764),
                  near(14525.773915701508)));
}

// 1 for x, a or b = 0; gamma functions' quotient at 1, infinite beyond.
TEST(Hypergeometric, GaussEnds) {
  EXPECT_THAT(
      doubles(gauss({1, 0, 1, -0.5, 1, 1, 1, -1, 1, 1, NAN}, {2, 1, 1, 0.5, 1, 2, 1, 2, 1, 1, 1},
                    {3, 2, 3, 1, 2, 3, -2, -3, 0, 2, 1},
                    {0, 0.5, 1, 1, 1, 2, 0.5, 0.5, 0.5, -INFINITY, 0.5})),
      ElementsAre(1, 1, near(2), near(0.63661977236758134), INFINITY, INFINITY, INFINITY,
                  near(4 / 3.0), INFINITY, 0, IsNan()));
  // The greatest power on the way is no f32, the value is.
  EXPECT_NEAR(hyp2f1(0.078F, 8.19F, 1.63F, scalar<float>(0.9999988F)).item<float>(), 7.6117335e+36,
              1e-4 * 7.6117335e+36);
  EXPECT_EQ(hyp2f1(3000, 3000, 0.5, scalar<double>(0.49)).item<double>(), INFINITY);
}

TEST(Hypergeometric, ShapesAndErrors) {
  EXPECT_EQ(hyp2f1(1, ones({3, 1}, bf16), 2, ones({4}, bf16)).shape(), Shape(bf16, {3, 4}));
  EXPECT_EQ(hyp2f1(1, 2, 3, ones({0}, f32)).shape(), Shape(f32, {0}));
  EXPECT_EQ(hyp2f1(1, 2, 3, scalar<double>(0.25)).shape(), Shape(f64, {}));
  EXPECT_THAT(error_of([] { hyp2f1(1, 1, 2, scalar<int>(1)); }), HasSubstr("hyp2f1: "));
  EXPECT_EQ(hyp1f1(ones({3, 1}, f16), 2, ones({4}, f16)).shape(), Shape(f16, {3, 4}));
  EXPECT_EQ(hyp1f1(1, 2, ones({0}, f32)).shape(), Shape(f32, {0}));
  EXPECT_EQ(hyp1f1(1, 2, scalar<double>(1)).shape(), Shape(f64, {}));
  EXPECT_THAT(error_of([] { hyp1f1(1, 2, scalar<int>(1)); }), HasSubstr("hyp1f1: "));
}

}  // namespace
}  // namespace heddle::special
