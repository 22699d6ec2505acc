// Against results of scipy.fft and numpy.fft.
#include "heddle/numpy/cosine_transforms.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

auto near(double x) { return DoubleNear(x, 1e-13); }
Tensor powers() { return array<double>({1, 2, 4, 8}); }

TEST(Hermitian, ThereAndBack) {
  Tensor z = complex(array<double>({1, 2, 3}), array<double>({0, -1, 1}));
  EXPECT_THAT(doubles(hfft(z)), ElementsAre(near(8), near(-4), near(0), near(0)));
  EXPECT_THAT(doubles(hfft(z, {.n = 5})),
              ElementsAre(near(11), near(-3.3445765167552555), near(-3.4596495484253587),
                          near(2.695717525925148), near(-1.8914914607445343)));
  Tensor back = ihfft(array<double>({1, 2, 3, 4}));
  EXPECT_THAT(doubles(real(back)), ElementsAre(near(2.5), near(-0.5), near(-0.5)));
  EXPECT_THAT(doubles(imag(back)), ElementsAre(near(0), near(-0.5), near(0)));
  Tensor ortho = hfft(ihfft(powers(), {.scale = FftScale::kOrtho}), {.scale = FftScale::kOrtho});
  EXPECT_THAT(doubles(ortho), ElementsAre(near(1), near(2), near(4), near(8)));
  EXPECT_THAT(error_of([] { ihfft(ones({4}, c64)); }), HasSubstr("ihfft: x is c64[4]"));
  EXPECT_THAT(error_of([] { hfft(ones({4}, s32)); }), testing::StartsWith("hfft: "));
}

TEST(Cosines, OfSeveralAxes) {
  const Tensor x = array<double>({{0, 2, -2}, {6, 11, -2}});
  EXPECT_THAT(doubles(dctn(x)),
              ElementsAre(near(60), near(34.64101615137754), near(-48), near(-42.42640687119285),
                          near(-14.696938456699067), near(16.97056274847714)));
  EXPECT_THAT(
      doubles(idctn(x, kAllAxes, /*ortho=*/true)),
      ElementsAre(near(7.794789204403927), near(4.758890819541681), near(-5.205210795596072),
                  near(-6.94948974278318), near(-2.4494897427831783), near(2.050510257216822)));
  EXPECT_THAT(doubles(dctn(x, {0})),
              ElementsAre(near(12), near(26), near(-8), near(-8.485281374238571),
                          near(-12.727922061357857), near(0)));
  EXPECT_EQ(doubles(dctn(x, {}, true)), doubles(dctn(x, kAllAxes, true)));
  EXPECT_THAT(error_of([&] { dctn(x, {2}); }), testing::StartsWith("dctn: axis is 2"));
}

TEST(Cosines, ThereAndBack) {
  EXPECT_THAT(doubles(dct(powers())),
              ElementsAre(near(30), near(-14.465047184618374), near(4.242640687119286),
                          near(-1.6620499230661108)));
  EXPECT_THAT(
      doubles(dct(powers(), {.ortho = true})),
      ElementsAre(near(7.5), near(-5.114166477213515), near(1.5), near(-0.5876233856353132)));
  EXPECT_THAT(doubles(idct(powers())),
              ElementsAre(near(2.05941341217237), near(-2.238524130026576), near(1.074310567653481),
                          near(-0.39519984979927547)));
}

// All small lengths, odd ones too, along either axis.
TEST(Cosines, AreInverses) {
  for (int64_t n = 1; n <= 6; ++n) {
    Tensor x = sin(reshape(arange(2 * n), {n, 2}).astype(f64));
    for (bool ortho : {false, true}) {
      Tensor y = idct(dct(x, {.axis = 0, .ortho = ortho}), {.axis = 0, .ortho = ortho});
      EXPECT_THAT(doubles(y), Pointwise(testing::DoubleNear(1e-14), doubles(x))) << n;
    }
  }
  EXPECT_THAT(error_of([] { dct(arange(3)); }),
              HasSubstr("dct: x is s32[3]; it must be of f32 or f64, with elements along axis -1"));
}

}  // namespace
}  // namespace heddle
