// Fourier transforms against the sums that define them.
#include "heddle/numpy/fft.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using testing::FloatEq;
using C = std::complex<double>;

constexpr double kUnit = std::numeric_limits<double>::epsilon();

Tensor waves(std::vector<int64_t> shape, double seed) {
  std::vector<double> values(static_cast<size_t>(Shape(f64, shape).element_count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(seed + 1.7 * static_cast<double>(i * i + i));
  return array<double>(values, std::move(shape));
}
Tensor complex_waves(std::vector<int64_t> shape, double seed) {
  return complex(waves(shape, seed), waves(shape, seed + 1));
}

std::vector<C> values_of(const Tensor& x) {
  Tensor wide = x.astype(c128);
  std::vector<double> re = real(wide).to_vector<double>(), im = imag(wide).to_vector<double>();
  std::vector<C> out;
  for (size_t i = 0; i < re.size(); ++i) out.emplace_back(re[i], im[i]);
  return out;
}

void expect_close(const std::vector<C>& got, const std::vector<C>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(std::abs(got[i] - want[i]), 64 * kUnit * static_cast<double>(want.size())) << i;
}

// The sum over the elements, cut off or filled up to n.
std::vector<C> dft(std::vector<C> x, size_t n, double sign) {
  x.resize(n);
  std::vector<C> out(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
      out[k] += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
    }
  }
  return out;
}

TEST(Fft, IsTheSumForEveryLength) {
  for (int64_t n : {1, 2, 5, 8, 9}) {
    Tensor x = complex_waves({n}, 1);
    size_t count = static_cast<size_t>(n);
    expect_close(values_of(fft(x)), dft(values_of(x), count, -1));
    std::vector<C> back = dft(values_of(x), count, 1);
    for (C& value : back) value /= static_cast<double>(n);
    expect_close(values_of(ifft(x)), back);
  }
}

TEST(Fft, LengthsCutOffOrFillUp) {
  Tensor x = complex_waves({6}, 2);
  for (size_t n : {4, 9})
    expect_close(values_of(fft(x, {.n = static_cast<int64_t>(n)})), dft(values_of(x), n, -1));
}

TEST(Fft, AlongAnyAxis) {
  Tensor x = complex_waves({3, 4, 2}, 1);
  Tensor out = fft(x, {.axis = 1});
  EXPECT_EQ(out.shape(), x.shape());
  Tensor last = fft(swapaxes(x, 1, 2));
  expect_close(values_of(out), values_of(swapaxes(last, 1, 2)));
}

TEST(Fft, Scales) {
  Tensor x = complex_waves({4}, 3);
  std::vector<C> plain = values_of(fft(x)), inverse = values_of(ifft(x));
  for (size_t i = 0; i < 4; ++i) plain[i] /= 2, inverse[i] *= 2;
  expect_close(values_of(fft(x, {.scale = FftScale::kOrtho})), plain);
  expect_close(values_of(ifft(x, {.scale = FftScale::kOrtho})), inverse);
  for (size_t i = 0; i < 4; ++i) plain[i] /= 2, inverse[i] *= 2;
  expect_close(values_of(fft(x, {.scale = FftScale::kForward})), plain);
  expect_close(values_of(ifft(x, {.scale = FftScale::kForward})), inverse);
}

TEST(Rfft, KeepsTheFirstHalfOfTheSpectrum) {
  for (int64_t n : {1, 5, 8}) {
    Tensor x = waves({n}, 1);
    std::vector<C> whole = values_of(fft(x));
    whole.resize(static_cast<size_t>(n / 2 + 1));
    expect_close(values_of(rfft(x)), whole);
    expect_close(values_of(irfft(rfft(x), {.n = n})), values_of(x));
  }
}

TEST(Rfft, LengthsAndDtypes) {
  EXPECT_EQ(rfft(ones({3, 8})).shape(), Shape(c64, {3, 5}));
  EXPECT_EQ(rfft(ones({8}, f64), {.n = 11}).shape(), Shape(c128, {6}));
  EXPECT_EQ(irfft(rfft(ones({8}))).shape(), Shape(f32, {8}));
  EXPECT_EQ(irfft(ones({5, 3}), {.axis = 0}).shape(), Shape(f32, {8, 3}));
  EXPECT_EQ(fft(ones({4})).dtype(), c64);
  EXPECT_THAT(real(fft(ones({4}))).to_vector<float>(), ElementsAre(4, 0, 0, 0));
}

TEST(FftOverAxes, IsOneAxisAfterTheOther) {
  Tensor x = complex_waves({2, 3, 4, 5}, 1);
  Tensor two = fft(fft(x, {.axis = 2}), {.axis = 3});
  expect_close(values_of(fft2(x)), values_of(two));
  Tensor apart = fft(fft(x, {.axis = 0}), {.axis = 2});
  expect_close(values_of(fftn(x, {.axes = {2, 0}})), values_of(apart));
  Tensor all = fft(fft(two, {.axis = 0}), {.axis = 1});  // four axes: more than HLO takes at once
  expect_close(values_of(fftn(x)), values_of(all));
  expect_close(values_of(ifftn(fftn(x))), values_of(x));
  Tensor fitted = fft(fft(x, {.n = 6, .axis = 2}), {.n = 3, .axis = 3});
  expect_close(values_of(fftn(x, {.n = {6, 3}})), values_of(fitted));
  expect_close(values_of(ifft2(fft2(x))), values_of(x));
}

TEST(FftOverAxes, RealOnesHalveTheLastListed) {
  Tensor x = waves({2, 3, 4, 5}, 1);
  Tensor half = rfftn(x, {.axes = {3, 1}});
  EXPECT_EQ(half.shape(), Shape(c128, {2, 2, 4, 5}));
  Tensor whole = fftn(x, {.axes = {3, 1}});
  expect_close(values_of(half), values_of(slice_in_dim(whole, 0, 2, 1, 1)));
  expect_close(values_of(irfftn(half, {.n = {5, 3}, .axes = {3, 1}})), values_of(x));
  Tensor all = rfftn(x);
  EXPECT_EQ(all.shape(), Shape(c128, {2, 3, 4, 3}));
  expect_close(values_of(all), values_of(slice_in_dim(fftn(x), 0, 3, 1, 3)));
  expect_close(values_of(irfftn(all, {.n = {2, 3, 4, 5}})), values_of(x));
  EXPECT_EQ(irfft2(rfft2(x), {.n = {4, 5}}).shape(), x.shape());
}

TEST(FftFrequencies, AndShifts) {
  EXPECT_THAT(fftfreq(4).to_vector<float>(), ElementsAre(0, 0.25, -0.5, -0.25));
  EXPECT_THAT(fftfreq(5, 0.5).to_vector<float>(),
              ElementsAre(0, FloatEq(0.4F), FloatEq(0.8F), FloatEq(-0.8F), FloatEq(-0.4F)));
  EXPECT_THAT(rfftfreq(5, 0.2).to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(fftshift(arange(5)).to_vector<int>(), ElementsAre(3, 4, 0, 1, 2));
  EXPECT_THAT(ifftshift(fftshift(arange(5))).to_vector<int>(), ElementsAre(0, 1, 2, 3, 4));
  Tensor grid = reshape(arange(6), {2, 3});
  EXPECT_THAT(fftshift(grid, {1}).to_vector<int>(), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(fftshift(grid).to_vector<int>(), ElementsAre(5, 3, 4, 2, 0, 1));
}

TEST(FftErrors, NameWhatIsWrong) {
  std::string integers = error_of([] { fft(arange(4)); });
  EXPECT_THAT(integers, HasSubstr("fft: x is s32[4]; it must be f32, f64, c64 or c128"));
  EXPECT_THAT(integers, HasSubstr("fft_test.cc:"));
  EXPECT_THAT(error_of([] { rfft(ones({4}, c64)); }),
              HasSubstr("rfft: x is c64[4]; it must be f32 or f64"));
  EXPECT_THAT(error_of([] { irfft(ones({1})); }), HasSubstr("a length 0; transforms need lengths"));
  EXPECT_THAT(error_of([] { fft(ones({4}), {.axis = 1}); }), HasSubstr("fft: axis is 1"));
  EXPECT_THAT(error_of([] {
                fftn(ones({4, 4}), {.n = {4}, .axes = {0, 1}});
              }),
              HasSubstr("fftn: x is f32[4,4], with 1 lengths and 2 axes"));
  EXPECT_THAT(error_of([] { fftfreq(0); }), HasSubstr("fftfreq: n is 0"));
}

TEST(Fft, TakesItsLengthAsNumpyDoes) {
  const Tensor x = waves({4, 6}, 1);
  const auto same = [](const Tensor& a, const Tensor& b) { return all(a == b).item<bool>(); };
  EXPECT_TRUE(same(fft(x, 8), fft(x, {.n = 8})));
  EXPECT_TRUE(same(ifft(x, 8, 0), ifft(x, {.n = 8, .axis = 0})));
  EXPECT_TRUE(same(rfft(x, 4), rfft(x, {.n = 4})));
  EXPECT_TRUE(same(irfft(x, 9), irfft(x, {.n = 9})));
}

}  // namespace
}  // namespace heddle
