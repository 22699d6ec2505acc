// Against mpmath with 60 digits.
#include "heddle/special/faddeeva.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 4e-15 * std::abs(x)); }

Tensor at(const std::vector<double>& x, const std::vector<double>& y) {
  return wofz(complex(array(x), array(y)));
}

TEST(Faddeeva, InAllQuadrants) {
  const Tensor w = at({1, -2, 0.25, 3, 0, 7, 1e9}, {1, 0.5, 0, -1, 2, 1e-3, 3});
  EXPECT_THAT(doubles(real(w)), ElementsAre(near(0.30474420525691259), near(0.10335882374136666),
                                            near(0.93941306281347579), near(-0.064673574793859687),
                                            near(0.25539567631050574), near(1.1885945552633884e-5),
                                            near(1.6925687506432688e-18)));
  EXPECT_THAT(doubles(imag(w)),
              ElementsAre(near(0.20821893820283163), near(-0.28478588475009375),
                          near(0.27062951561798749), near(0.17373084850174396), 0,
                          near(0.08144750631089037), near(5.6418958354775628e-10)));
}

TEST(Faddeeva, Ends) {
  const Tensor w = at({0, INFINITY, 0, 0, NAN, 1}, {0, 1, INFINITY, -30, 0, NAN});
  EXPECT_THAT(doubles(real(w)), ElementsAre(near(1), 0, 0, INFINITY, IsNan(), IsNan()));
  EXPECT_THAT(doubles(imag(w)), ElementsAre(0, 0, 0, 0, IsNan(), IsNan()));
}

TEST(Faddeeva, TakesFloatsToo) {
  const Tensor w = wofz(scalar<double>(0.25));
  EXPECT_EQ(w.shape(), Shape(c128, {}));
  EXPECT_NEAR(imag(w).item<double>(), 0.27062951561798749, 1e-15);
  EXPECT_EQ(wofz(ones({2, 0}, f16)).shape(), Shape(c64, {2, 0}));
  EXPECT_EQ(wofz(scalar<float>(1)).shape(), Shape(c64, {}));
  EXPECT_THAT(error_of([] { wofz(scalar<int>(1)); }), HasSubstr("wofz: "));
}

}  // namespace
}  // namespace heddle::special
