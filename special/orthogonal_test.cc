// Against mpmath with 30 digits.
#include "heddle/special/orthogonal.h"

#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 5e-15 * std::abs(x)); }
auto about(double x) { return DoubleNear(x, 1e-15); }
std::vector<double> orders(double z, int64_t v) { return doubles(bessel_jn(scalar<double>(z), v)); }

TEST(Orthogonal, BesselRecurredDownAndUp) {
  EXPECT_THAT(orders(3, 3), ElementsAre(near(-0.26005195490193344), near(0.33905895852593646),
                                        near(0.48609126058589108), near(0.30906272225525164)));
  EXPECT_THAT(orders(40, 3),
              ElementsAre(about(0.0073668905842372896), about(0.126038318037585),
                          about(-0.0010649746823580396), about(-0.1261448155058208)));
  EXPECT_THAT(orders(0.015625, 3),
              ElementsAre(near(0.99993896577506626), near(0.0078122615838462053),
                          near(3.0516957248020522e-5), near(7.9471647048319931e-8)));
}

TEST(Orthogonal, BesselEnds) {
  EXPECT_THAT(orders(0, 2), ElementsAre(1, 0, 0));
  EXPECT_THAT(orders(1e-200, 2), ElementsAre(1, near(5e-201), 0));
  EXPECT_THAT(orders(-3, 1), ElementsAre(near(-0.26005195490193344), near(-0.33905895852593646)));
  EXPECT_THAT(orders(-INFINITY, 2), Each(0));
  EXPECT_THAT(orders(NAN, 1), Each(IsNan()));
  // Values that overflow f32 on the way down.
  EXPECT_NEAR(doubles(bessel_jn(scalar<float>(0.015625F), 1))[1], 0.0078122616, 1e-9);
}

TEST(Orthogonal, BesselShapesAndErrors) {
  EXPECT_EQ(bessel_jn(ones({2, 0}, f32), 4).shape(), Shape(f32, {5, 2, 0}));
  EXPECT_EQ(bessel_jn(scalar<float>(1).astype(bf16), 0).shape(), Shape(bf16, {1}));
  EXPECT_THAT(error_of([] { bessel_jn(scalar<float>(1), -1); }),
              HasSubstr("bessel_jn: v is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([] { bessel_jn(scalar<int>(1), 1); }), HasSubstr("bessel_jn: "));
}

TEST(Orthogonal, Harmonics) {
  const Tensor y = sph_harm_y(array<int>({0, 1, 3, 10}), array<int>({0, 1, -2, 7}),
                              scalar<double>(0.5), scalar<double>(2), 10);
  EXPECT_THAT(doubles(real(y)),
              ElementsAre(about(0.28209479177387814), about(0.068930028794602996),
                          about(-0.1347460570647653), about(-0.0078363294127163264)));
  EXPECT_THAT(doubles(imag(y)),
              ElementsAre(0, about(-0.1506148606919719), about(0.15601185258227592),
                          about(-0.056771123909263017)));
}

// 0 for orders beyond the degree. A degree above n_max counts as n_max; a negative one has only
// order 0.
TEST(Orthogonal, HarmonicsOutside) {
  const Tensor y = sph_harm_y(array<int>({1, 1, 5, -1}), array<int>({2, -2, 1, 0}),
                              scalar<double>(0.5), scalar<double>(2), 3);
  const Tensor third = sph_harm_y(3, 1, scalar<double>(0.5), scalar<double>(2), 3);
  EXPECT_THAT(doubles(real(y)), ElementsAre(0, 0, real(third).item<double>(), 0));
}

TEST(Orthogonal, HarmonicsShapesAndErrors) {
  const Tensor angle = scalar<float>(1);
  EXPECT_EQ(sph_harm_y(2, array<int>({0, 1}), ones({3, 1}, f16), ones({1}, f16), 2).shape(),
            Shape(c64, {3, 2}));
  EXPECT_EQ(sph_harm_y(0, 0, angle, angle, 0).shape(), Shape(c64, {}));
  EXPECT_THAT(error_of([&] { sph_harm_y(0, 0, angle, angle, -1); }),
              HasSubstr("sph_harm_y: n_max is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([&] { sph_harm_y(angle, 0, angle, angle, 2); }),
              HasSubstr("sph_harm_y: n is f32[]; it must be of integers"));
  EXPECT_THAT(error_of([&] { sph_harm_y(0, 0, scalar<double>(1), angle, 2); }),
              HasSubstr("sph_harm_y: "));
}

}  // namespace
}  // namespace heddle::special
