// Against results of scipy.special and numpy.
#include "heddle/special/combinatorics.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/special/bessel.h"
#include "heddle/trace/error.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 1e-13 * std::max(1.0, std::abs(x))); }

TEST(Combinatorics, Factorials) {
  EXPECT_THAT(
      doubles(factorial(array<double>({0, 1, 5, -1, 2.5, NAN, 20}))),
      ElementsAre(1, 1, 120, 0, near(3.323350970447843), IsNan(), near(2432902008176640000)));
  EXPECT_EQ(factorial(scalar<float>(5)).item<float>(), 120);
  EXPECT_THAT(error_of([] { factorial(scalar<int>(3)); }),
              HasSubstr("special::factorial: n is s32; it must be f16"));
}

TEST(Combinatorics, Choices) {
  EXPECT_THAT(doubles(comb(array<double>({5, 10, 3, 4.5, 5, 5, NAN, 60}),
                           array<double>({2, 3, 4, 2, 0, 5, 1, 30}))),
              ElementsAre(10, 120, 0, near(7.875), 1, 1, IsNan(), near(118264581564861424)));
  EXPECT_EQ(comb(scalar<float>(5), -1).item<float>(), 0);
}

TEST(Combinatorics, RisingFactorials) {
  EXPECT_THAT(doubles(poch(array<double>({1, 2.5, 0, -1.5, -2, -2, -3}),
                           array<double>({3, 2, 0, 2, 1, 3, 2}))),
              ElementsAre(near(6), near(8.75), 1, near(0.75), near(-2), 0, near(6)));
}

TEST(Combinatorics, MultivariateGamma) {
  EXPECT_THAT(doubles(multigammaln(array<double>({3, 5, 0.5}), 2)),
              ElementsAre(near(1.5501949939575645), near(6.2041553441150885), IsNan()));
  EXPECT_THAT(doubles(multigammaln(array<double>({3}), 1)), ElementsAre(near(std::lgamma(3))));
  EXPECT_THAT(error_of([] { multigammaln(1.0, 0); }), HasSubstr("multigammaln: d is 0"));
}

TEST(Bessel, KaiserWindow) {
  EXPECT_THAT(doubles(kaiser(5, 8.6, f64)),
              ElementsAre(near(0.0013325139979024198), near(0.34039362244018856), near(1),
                          near(0.34039362244018856), near(0.0013325139979024198)));
  EXPECT_THAT(doubles(kaiser(1, 2)), ElementsAre(1));
  EXPECT_EQ(kaiser(0, 2).size(), 0);
  EXPECT_THAT(error_of([] { kaiser(-1, 2); }), HasSubstr("kaiser: n is -1"));
}

TEST(Combinatorics, BernoullisNumbers) {
  EXPECT_THAT(doubles(bernoulli(8, f64)),
              ElementsAre(1, -0.5, 1 / 6.0, 0, -1 / 30.0, 0, 1 / 42.0, 0, -1 / 30.0));
  const std::vector<double> many = doubles(bernoulli(261, f64));
  EXPECT_DOUBLE_EQ(many[20], -529.12424242424242);
  EXPECT_DOUBLE_EQ(many[30], 601580873.90064237);
  EXPECT_DOUBLE_EQ(many[100], -2.8382249570693707e+78);
  EXPECT_DOUBLE_EQ(many[258], 1.3352784187354634e+306);
  EXPECT_EQ(many[260], -INFINITY);
  EXPECT_EQ(many[261], 0);
}

TEST(Combinatorics, BernoullisNumbersTypes) {
  EXPECT_EQ(bernoulli(0).shape(), Shape(f32, {1}));
  EXPECT_EQ(doubles(bernoulli(66))[66], INFINITY);
  EXPECT_THAT(error_of([] { bernoulli(-1); }), HasSubstr("bernoulli: n is -1"));
  EXPECT_THAT(error_of([] { bernoulli(int64_t{1} << 40); }),
              HasSubstr("n must be in 0 .. 1048576"));
  EXPECT_THAT(error_of([] { bernoulli(2, s32); }), HasSubstr("dtype s32"));
}

}  // namespace
}  // namespace heddle::special
