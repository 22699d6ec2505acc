// Against mpmath with 30 digits.
#include "heddle/special/loggamma.h"

#include <algorithm>
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto about(double x) { return DoubleNear(x, 1e-14 * std::max(1.0, std::abs(x))); }

Tensor at(const std::vector<double>& x, const std::vector<double>& y) {
  return loggamma(complex(array(x), array(y)));
}

// Its imaginary part goes on past pi; at -1/2 it is that of the upper side.
TEST(LogGamma, InAllQuadrants) {
  const Tensor w =
      at({1.5, -3.25, 0.25, -0.5, 20, 3, 1e-3, -40.5}, {2, 0.5, -4, 0, 30, 0, 1e-3, -1e-3});
  EXPECT_THAT(doubles(real(w)), ElementsAre(about(-1.4991963725850955), about(-1.8152633836328924),
                                            about(-5.7103271516305994), about(1.2655121234846454),
                                            about(21.345074493863445), about(0.69314718055994531),
                                            about(6.5606044738375526), about(-111.02965207992804)));
  EXPECT_THAT(
      doubles(imag(w)),
      ElementsAre(about(0.73328068169099788), about(-11.160369140198435),
                  about(-1.1550849149187579), about(-3.1415926535897932), about(96.71434768953618),
                  about(0.0), about(-0.78597373492965343), about(128.80158520033047)));
}

TEST(LogGamma, Ends) {
  const Tensor w = at({0, -3, NAN, 1, INFINITY}, {0, 0, 1, NAN, 0});
  EXPECT_THAT(doubles(real(w)), Each(IsNan()));
  EXPECT_THAT(doubles(imag(w)), Each(IsNan()));
}

TEST(LogGamma, TakesFloatsToo) {
  EXPECT_THAT(doubles(loggamma(array<double>({3, 0, -0.5, INFINITY}))),
              ElementsAre(about(std::log(2)), IsNan(), IsNan(), INFINITY));
  EXPECT_EQ(loggamma(ones({2, 0}, f16)).shape(), Shape(f16, {2, 0}));
  EXPECT_EQ(at({1}, {1}).shape(), Shape(c128, {1}));
  EXPECT_THAT(error_of([] { loggamma(scalar<int>(1)); }), HasSubstr("loggamma: "));
}

}  // namespace
}  // namespace heddle::special
