// Against mpmath with 25 digits.
#include "heddle/special/exponential.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 1e-14 * std::abs(x)); }

TEST(Exponential, FirstIntegral) {
  EXPECT_THAT(
      doubles(exp1(array<double>({1e-3, 0.3, 1, 2.5, 10, 50, 0, -1, INFINITY, NAN}))),
      ElementsAre(near(6.331539364136149), near(0.9056766516758468), near(0.21938393439552029),
                  near(0.024914917870269736), near(4.156968929685325e-06),
                  near(3.783264029550459e-24), INFINITY, IsNan(), 0, IsNan()));
  EXPECT_NEAR(exp1(scalar<float>(2.5F)).item<float>(), 0.024914918F, 5e-9);
  EXPECT_NEAR(exp1(scalar<float>(1.01F)).item<float>(), 0.21574162F, 1e-7);
  EXPECT_THAT(error_of([] { exp1(scalar<int>(1)); }), HasSubstr("exp1: x is s32; it must be f16"));
}

TEST(Exponential, PrincipalValue) {
  EXPECT_THAT(
      doubles(expi(array<double>({-2, 0.1, 1, 5, 30, 60, 200, 0, INFINITY, -INFINITY, NAN}))),
      ElementsAre(near(-0.04890051070806112), near(-1.6228128139692766), near(1.8951178163559368),
                  near(40.18527535580318), near(368973209407.2742), near(1.9361822139292765e+24),
                  near(3.6312352331593567e+84), -INFINITY, INFINITY, 0, IsNan()));
  EXPECT_NEAR(expi(scalar<double>(0.3725074107813666)).item<double>(), 0, 1e-15);
  EXPECT_TRUE(std::isfinite(expi(scalar<float>(90)).item<float>()));
}

TEST(Exponential, Dawson) {
  EXPECT_THAT(
      doubles(dawsn(array<double>({0.01, 0.5, 1, 3, 10, 100, -1, 0, 1e200, INFINITY, NAN}))),
      ElementsAre(near(0.009999333359999238), near(0.4244363835020223), near(0.5380795069127684),
                  near(0.1782710306105583), near(0.05025384718759853), near(0.005000250037509378),
                  near(-0.5380795069127684), 0, near(5e-201), 0, IsNan()));
  EXPECT_NEAR(dawsn(scalar<float>(3)).item<float>(), 0.17827103F, 5e-8);
}

}  // namespace
}  // namespace heddle::special
