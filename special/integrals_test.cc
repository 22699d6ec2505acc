// Against mpmath with 30 digits.
#include "heddle/special/integrals.h"

#include <cmath>
#include <numbers>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle::special {
namespace {

auto near(double x) { return DoubleNear(x, 2e-15 * std::abs(x)); }

TEST(Integrals, Dilogarithm) {
  EXPECT_THAT(
      doubles(spence(array<double>({1e-3, 0.25, 1, 1.5, 7, 1e6}))),
      ElementsAre(near(1.6370226052761177), near(0.9784693929303061), 0, near(-0.4484142069236462),
                  near(-3.0899420510880316), near(-97.079085239941675)));
  EXPECT_THAT(
      doubles(spence(array<double>({0, -1, INFINITY, NAN}))),
      ElementsAre(near(std::numbers::pi * std::numbers::pi / 6), IsNan(), -INFINITY, IsNan()));
}

TEST(Integrals, SineAndCosine) {
  const SineCosineIntegrals at = sici(array<double>({0.5, 2, 10, 1e3}));
  EXPECT_THAT(doubles(at.si), ElementsAre(near(0.49310741804306669), near(1.6054129768026948),
                                          near(1.658347594218874), near(1.5702331219687712)));
  EXPECT_THAT(doubles(at.ci),
              ElementsAre(near(-0.1777840788066129), near(0.422980828774865),
                          near(-0.045456433004455373), near(8.2631551109068228e-4)));
}

// si is odd; ci of a negative number is ci of its size, but for -inf.
TEST(Integrals, SineAndCosineEnds) {
  const SineCosineIntegrals at = sici(array<double>({0, -0.0, -2, INFINITY, -INFINITY, NAN}));
  const double half = std::numbers::pi / 2;
  EXPECT_THAT(doubles(at.si), ElementsAre(0, 0, near(-1.6054129768026948), half, -half, IsNan()));
  EXPECT_TRUE(std::signbit(doubles(at.si)[1]));
  EXPECT_THAT(doubles(at.ci),
              ElementsAre(-INFINITY, -INFINITY, near(0.422980828774865), 0, IsNan(), IsNan()));
}

TEST(Integrals, Fresnel) {
  const FresnelIntegrals at = fresnel(array<double>({0.25, 1, 3, -50}));
  EXPECT_THAT(doubles(at.s), ElementsAre(near(0.0081756002357777558), near(0.43825914739035477),
                                         near(0.49631299896737504), near(-0.49363380258593874)));
  EXPECT_THAT(doubles(at.c), ElementsAre(near(0.24975915035654318), near(0.77989340037682283),
                                         near(0.60572078929768563), near(-0.49999918943072797)));
}

TEST(Integrals, FresnelEnds) {
  const FresnelIntegrals at = fresnel(array<double>({0, INFINITY, -INFINITY, 1e300, NAN}));
  EXPECT_THAT(doubles(at.s), ElementsAre(0, 0.5, -0.5, 0.5, IsNan()));
  EXPECT_THAT(doubles(at.c), ElementsAre(0, 0.5, -0.5, 0.5, IsNan()));
  // x^2 rounded to f32 may be off by 1/32 of a turn.
  EXPECT_NEAR(fresnel(scalar<float>(1500.3F)).s.item<float>(), 0.49980231, 1e-7);
}

TEST(Integrals, ExponentialsOfAnyOrder) {
  EXPECT_THAT(
      doubles(expn(array<double>({0, 1, 2, 5, 3, 30, 50}),
                   array<double>({2, 0.5, 0.5, 1, 4, 0.25, 10}))),
      ElementsAre(near(std::exp(-2.0) / 2), near(0.55977359477616081), near(0.32664386232455302),
                  near(0.070454237461720398), near(0.0027613609456899814),
                  near(0.026617619885419604), near(7.6726155062154211e-7)));
}

TEST(Integrals, ExponentialsEnds) {
  const Tensor orders = array<double>({0, 1, 2, 5, 3, 1, -1, 2.5, 2, NAN, INFINITY});
  const Tensor points = array<double>({0, 0, 0, 0, INFINITY, -1, 1, 1, NAN, 1, 1});
  EXPECT_THAT(doubles(expn(orders, points)), ElementsAre(INFINITY, INFINITY, 1, 0.25, 0, IsNan(),
                                                         IsNan(), IsNan(), IsNan(), IsNan(), 0));
}

TEST(Integrals, OwensT) {
  EXPECT_THAT(
      doubles(owens_t(array<double>({0.5, 1, 2, 0, -2, 2}), array<double>({0.25, 1, 5, 3, 5, -5}))),
      ElementsAre(near(0.03432021712709421), near(0.066741882165700967), near(0.011375065974089604),
                  near(0.19879180882521664), near(0.011375065974089604),
                  near(-0.011375065974089604)));
  EXPECT_THAT(doubles(owens_t(array<double>({0, INFINITY, 1, 1, 0, NAN}),
                              array<double>({INFINITY, 1, INFINITY, -INFINITY, 0, 1}))),
              ElementsAre(near(0.25), 0, near(0.079327626965728497), near(-0.079327626965728497), 0,
                          IsNan()));
}

TEST(Integrals, BroadcastAndKeepTheirDtype) {
  EXPECT_EQ(expn(2, ones({3, 0}, f32)).shape(), Shape(f32, {3, 0}));
  EXPECT_EQ(owens_t(ones({3, 1}, f16), ones({4}, f16)).shape(), Shape(f16, {3, 4}));
  EXPECT_EQ(sici(scalar<float>(1)).ci.shape(), Shape(f32, {}));
  EXPECT_THAT(doubles(fresnel(ones({0}, bf16)).s), IsEmpty());
}

TEST(Integrals, RefuseWhatIsNoFloat) {
  EXPECT_THAT(error_of([] { spence(scalar<int>(1)); }), HasSubstr("spence: "));
  EXPECT_THAT(error_of([] { sici(scalar<int>(1)); }), HasSubstr("sici: "));
  EXPECT_THAT(error_of([] { fresnel(scalar<int>(1)); }), HasSubstr("fresnel: "));
  EXPECT_THAT(error_of([] { expn(scalar<int>(1), scalar<float>(1)); }), HasSubstr("expn: "));
  EXPECT_THAT(error_of([] { owens_t(scalar<double>(1), scalar<float>(1)); }),
              HasSubstr("owens_t: h is f64[] and a f32[]"));
}

}  // namespace
}  // namespace heddle::special
