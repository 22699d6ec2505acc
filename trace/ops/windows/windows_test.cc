// Convolutions and pools against plain loops on whole numbers, which leave nothing to round.
#include "heddle/trace/ops/windows/windows.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// Whole numbers of no pattern, in -4 .. 4.
Tensor whole(std::vector<int64_t> shape, int seed) {
  std::vector<float> values(static_cast<size_t>(Shape(f32, shape).element_count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>((i * i * 7 + i * 3) % 11 % 9) * seed % 9 - 4);
  return array<float>(values, std::move(shape));
}

Tensor row(const std::vector<float>& values) {  // [1, n, 1]: one example, one feature
  return array<float>(values, {1, static_cast<int64_t>(values.size()), 1});
}

// One spatial axis of a loop.
struct Axis {
  int64_t size, kernel, stride, low, high, lhs, rhs;
  [[nodiscard]] int64_t places() const {
    return ((size - 1) * lhs + 1 + low + high - ((kernel - 1) * rhs + 1)) / stride + 1;
  }
  // The element under a tap, or -1.
  [[nodiscard]] int64_t element(int64_t place, int64_t tap) const {
    int64_t at = place * stride + tap * rhs - low;
    return at < 0 || at % lhs != 0 || at / lhs >= size ? -1 : at / lhs;
  }
};

struct Loop {
  int64_t batch, features, outputs;
  Axis y, x;
  int64_t feature_groups = 1, batch_groups = 1;
};

// x [N, H, W, C] * kernel [h, w, I, O] -> [N / batch_groups, places, places, O].
std::vector<float> conv_loop(const Loop& n, const Tensor& x, const Tensor& kernel) {
  std::vector<float> a = x.to_vector<float>(), k = kernel.to_vector<float>(), out;
  int64_t inputs = n.features / n.feature_groups, batch = n.batch / n.batch_groups;
  int64_t count = batch * n.y.places() * n.x.places() * n.outputs;
  for (int64_t i = 0; i < count; ++i) {
    int64_t o = i % n.outputs, px = i / n.outputs % n.x.places();
    int64_t py = i / n.outputs / n.x.places() % n.y.places();
    int64_t b = i / n.outputs / n.x.places() / n.y.places();
    b += batch * (o / (n.outputs / n.batch_groups));
    int64_t first = inputs * (o / (n.outputs / n.feature_groups));
    float sum = 0;
    for (int64_t tap = 0; tap < n.y.kernel * n.x.kernel * inputs; ++tap) {
      int64_t c = tap % inputs, tx = tap / inputs % n.x.kernel, ty = tap / inputs / n.x.kernel;
      int64_t ey = n.y.element(py, ty), ex = n.x.element(px, tx);
      if (ey < 0 || ex < 0) continue;
      int64_t from = ((b * n.y.size + ey) * n.x.size + ex) * n.features + first + c;
      sum += a[static_cast<size_t>(from)] * k[static_cast<size_t>(tap * n.outputs + o)];
    }
    out.push_back(sum);
  }
  return out;
}

TEST(Conv, IsTheLoopWithEveryOption) {
  Loop n{.batch = 2,
         .features = 4,
         .outputs = 6,
         .y = {.size = 6, .kernel = 3, .stride = 2, .low = 1, .high = 2, .lhs = 1, .rhs = 2},
         .x = {.size = 5, .kernel = 2, .stride = 1, .low = 3, .high = -1, .lhs = 2, .rhs = 1},
         .feature_groups = 2};
  Tensor x = whole({2, 6, 5, 4}, 1), kernel = whole({3, 2, 2, 6}, 2);
  Tensor out = conv(x, kernel,
                    {.strides = {2, 1},
                     .padding = {{1, 2}, {3, -1}},
                     .lhs_dilation = {1, 2},
                     .rhs_dilation = {2, 1},
                     .feature_groups = 2});
  EXPECT_EQ(out.shape(), Shape(f32, {2, n.y.places(), n.x.places(), 6}));
  EXPECT_EQ(out.to_vector<float>(), conv_loop(n, x, kernel));
}

TEST(Conv, GroupsOfTheBatch) {
  Loop n{.batch = 4,
         .features = 3,
         .outputs = 2,
         .y = {.size = 3, .kernel = 2, .stride = 1, .low = 0, .high = 0, .lhs = 1, .rhs = 1},
         .x = {.size = 3, .kernel = 3, .stride = 1, .low = 0, .high = 0, .lhs = 1, .rhs = 1},
         .batch_groups = 2};
  Tensor x = whole({4, 3, 3, 3}, 1), kernel = whole({2, 3, 3, 2}, 4);
  EXPECT_EQ(conv(x, kernel, {.batch_groups = 2}).to_vector<float>(), conv_loop(n, x, kernel));
}

TEST(Conv, LayoutsNameTheAxes) {
  Tensor x = whole({2, 5, 4, 3}, 1), kernel = whole({2, 3, 3, 4}, 2);
  Tensor usual = conv(x, kernel, {.strides = {2, 1}});
  Tensor first = conv(transpose(x, {0, 3, 1, 2}), transpose(kernel, {3, 2, 0, 1}),
                      {.strides = {2, 1}, .layout = {.x = "NCHW", .kernel = "OIHW"}});
  EXPECT_EQ(transpose(first, {0, 2, 3, 1}).to_vector<float>(), usual.to_vector<float>());
  // Strides go with the kernel's axes.
  Tensor turned =
      conv(x, swapaxes(kernel, 0, 1),
           {.strides = {1, 2}, .layout = {.x = "NHWC", .kernel = "WHIO", .result = "CWHN"}});
  EXPECT_EQ(transpose(turned, {3, 2, 1, 0}).to_vector<float>(), usual.to_vector<float>());
}

TEST(Conv, SamePaddingGivesOnePlaceAStride) {
  Tensor x = row({1, 2, 3, 4, 5}), kernel = array<float>({1, 1}, {2, 1, 1});
  EXPECT_EQ(conv(x, kernel, {.padding = 2}).to_vector<float>(),
            conv(x, kernel, {.padding = {{2, 2}}}).to_vector<float>());
  EXPECT_EQ(conv_transpose(x, kernel, {.padding = 1}).to_vector<float>(),
            conv_transpose(x, kernel, {.padding = {{1, 1}}}).to_vector<float>());
  EXPECT_THAT(conv(x, kernel, {.padding = WindowPadding::kSame}).to_vector<float>(),
              ElementsAre(3, 5, 7, 9, 5));  // the odd element at the high end
  EXPECT_THAT(conv(x, kernel, {.padding = WindowPadding::kSameLower}).to_vector<float>(),
              ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(conv(x, kernel, {.strides = {3}, .padding = WindowPadding::kSame}).to_vector<float>(),
              ElementsAre(3, 9));
  EXPECT_THAT(
      conv(x, kernel, {.padding = WindowPadding::kSame, .rhs_dilation = {3}}).to_vector<float>(),
      ElementsAre(3, 5, 7, 3, 4));  // taps 3 apart, 1 element low, 2 high
  EXPECT_THAT(conv(x, kernel).to_vector<float>(), ElementsAre(3, 5, 7, 9));
}

TEST(Conv, WithoutSpatialAxesIsAProduct) {
  const Tensor x = array<float>({{1, 2}}), kernel = array<float>({{3, 4}, {5, 6}});
  EXPECT_THAT(conv(x, kernel, {.layout = {.x = "NC", .kernel = "IO"}}).to_vector<float>(),
              ElementsAre(13, 16));
  EXPECT_THAT(
      error_of([] {
        conv(ones({8, 8}), ones({3, 3}));
      }),
      StartsWith("conv: x is f32[8,8], of rank 2, and kernel f32[3,3], of rank 2; both must "
                 "have rank n + 2 for n spatial axes"));
}

TEST(Conv, ResultDtypeIsThatOfXOrGiven) {
  Tensor x = ones({1, 4, 4, 1}, bf16), kernel = ones({2, 2, 1, 1}, bf16);
  EXPECT_EQ(conv(x, kernel).dtype(), bf16);
  EXPECT_EQ(conv(x, kernel, {.result = f32}).dtype(), f32);
}

TEST(Conv, ErrorsNameTheOption) {
  Tensor x = ones({1, 4, 4, 2}), kernel = ones({2, 2, 2, 3});
  EXPECT_THAT(error_of([&] {
                conv(x, ones({2, 2, 3}));
              }),
              HasSubstr("conv: x is f32[1,4,4,2], of rank 4, and kernel f32[2,2,3], of rank 3"));
  EXPECT_THAT(error_of([&] {
                conv(x, kernel, {.strides = {2, 2, 2}});
              }),
              HasSubstr("conv: strides has 3 entries; it must have 2, one a spatial axis, or one "
                        "number for all"));
  EXPECT_THAT(error_of([&] {
                conv(x, kernel, {.strides = {2, 0}});
              }),
              HasSubstr("conv: strides is [2,0]; its entries must be 1 or more"));
  EXPECT_THAT(error_of([&] {
                conv(x, kernel, {.padding = {{1, 1}}});
              }),
              HasSubstr("conv: padding has 1 entries; it must have 2"));
  EXPECT_THAT(error_of([&] {
                conv(x, kernel, {.padding = WindowPadding::kSame, .lhs_dilation = {2, 1}});
              }),
              HasSubstr("conv: padding is kSame and x is dilated by 2"));
  EXPECT_THAT(error_of([&] { conv(x, kernel, {.layout = {.x = "NHWX"}}); }),
              HasSubstr("conv: layout of x is \"NHWX\"; it must contain C"));
  EXPECT_THAT(error_of([&] { conv(x, kernel, {.layout = {.kernel = "HHIO"}}); }),
              HasSubstr("layout of kernel is \"HHIO\"; a letter may stand in it only once"));
  EXPECT_THAT(error_of([&] { conv(x, kernel, {.feature_groups = 0}); }),
              HasSubstr("conv: feature_groups is 0"));
  std::string features = error_of([&] { conv(x, ones({2, 2, 3, 3})); });
  EXPECT_THAT(
      features,
      HasSubstr("of 2 features, and kernel f32[2,2,3,3], which in the layout HWIO takes 3"));
  EXPECT_THAT(features, HasSubstr("windows_test.cc:"));
}

TEST(ConvTranspose, SpreadsByTheStrides) {
  Tensor x = row({1, 2}), kernel = array<float>({1, 10, 100}, {3, 1, 1});
  EXPECT_THAT(conv_transpose(x, kernel, {.strides = {2}, .padding = WindowPadding::kValid})
                  .to_vector<float>(),
              ElementsAre(100, 10, 201, 20, 2));
  EXPECT_THAT(conv_transpose(x, kernel, {.strides = {2}}).to_vector<float>(),
              ElementsAre(100, 10, 201, 20));
  EXPECT_THAT(conv_transpose(x, kernel, {.strides = {2}, .padding = {{0, 0}}}).to_vector<float>(),
              ElementsAre(201));
}

// <conv(x), y> = <x, conv_transpose(y)>: the transposed kernel is the gradient's.
TEST(ConvTranspose, OfATransposedKernelIsTheGradient) {
  for (WindowPadding::Rule rule : {WindowPadding::kSame, WindowPadding::kValid}) {
    Tensor kernel = whole({3, 4, 2, 5}, 2);
    // 4 and 6 places, forward, of what the transposed convolution gives.
    Tensor y = whole({2, 4, 6, 5}, 4);
    Tensor back =
        conv_transpose(y, kernel, {.strides = {2, 1}, .padding = rule, .transpose_kernel = true});
    Tensor x = whole(back.shape().dimensions(), 5);
    Tensor forward = conv(x, kernel, {.strides = {2, 1}, .padding = rule});
    ASSERT_EQ(forward.shape(), y.shape());
    EXPECT_EQ(sum(forward * y).item<float>(), sum(x * back).item<float>());
  }
}

Tensor grid() { return reshape(arange(16), {1, 4, 4, 1}).astype(f32); }  // rows of 0 1 2 3

TEST(Pool, OverTheAxesBeforeTheLast) {
  EXPECT_THAT(max_pool(grid(), {.sizes = {2, 2}, .strides = {2, 2}}).to_vector<float>(),
              ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(min_pool(grid(), {.sizes = {2, 2}, .strides = {2, 2}}).to_vector<float>(),
              ElementsAre(0, 2, 8, 10));
  EXPECT_THAT(sum_pool(grid(), {.sizes = {2, 2}, .strides = {2, 2}}).to_vector<float>(),
              ElementsAre(10, 18, 42, 50));
  EXPECT_THAT(avg_pool(grid(), {.sizes = {2, 2}, .strides = {2, 2}}).to_vector<float>(),
              ElementsAre(2.5, 4.5, 10.5, 12.5));
  EXPECT_EQ(max_pool(grid(), {.sizes = {3, 3}}).shape(), Shape(f32, {1, 2, 2, 1}));
}

TEST(Pool, ALoneSizeIsForEverySpatialAxis) {
  const auto values = [](const Tensor& x) { return x.to_vector<float>(); };
  EXPECT_EQ(values(max_pool(grid(), {.sizes = 2, .strides = 2})),
            values(max_pool(grid(), {.sizes = {2, 2}, .strides = {2, 2}})));
  EXPECT_EQ(avg_pool(ones({2, 4, 6, 8, 3}), {.sizes = 2, .strides = 2}).shape(),
            Shape(f32, {2, 2, 3, 4, 3}));
  EXPECT_EQ(max_pool(ones({1, 6, 3}), {.sizes = 2, .strides = 2}).shape(), Shape(f32, {1, 3, 3}));
  EXPECT_EQ(max_pool(ones({6, 3}), {.sizes = 2, .strides = 2}).shape(), Shape(f32, {3, 3}));
  EXPECT_EQ(sum_pool(ones({4, 6}), {.sizes = 2, .axes = {0, 1}}).shape(), Shape(f32, {3, 5}));
  const auto larger = [](const Tensor& a, const Tensor& b) { return maximum(a, b); };
  EXPECT_EQ(reduce_window(ones({4, 6}), 0, larger, {.sizes = 2}).shape(), Shape(f32, {3, 5}));
  EXPECT_EQ(conv(ones({1, 4, 4, 2}), ones({2, 2, 2, 3}), {.strides = 2, .rhs_dilation = 2}).shape(),
            Shape(f32, {1, 1, 1, 3}));
}

TEST(Pool, OverListedAxesDilated) {
  Tensor x = reshape(arange(12), {2, 6});
  EXPECT_THAT(max_pool(x, {.sizes = {2}, .window_dilation = {3}, .axes = {-1}}).to_vector<int>(),
              ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_THAT(sum_pool(x, {.sizes = {2, 3}, .axes = {0, 1}}).to_vector<int>(),
              ElementsAre(24, 30, 36, 42));
}

TEST(Pool, PaddingTakesNoPart) {
  Tensor x = row({-1, -2, -3});
  Windows windows{.sizes = {3}, .padding = WindowPadding::kSame};
  EXPECT_THAT(max_pool(x, windows).to_vector<float>(), ElementsAre(-1, -1, -2));
  EXPECT_THAT(max_pool(x.astype(s8), windows).to_vector<int>(), ElementsAre(-1, -1, -2));
  EXPECT_THAT(sum_pool(x, windows).to_vector<float>(), ElementsAre(-3, -6, -5));
  EXPECT_THAT(avg_pool(x, windows).to_vector<float>(), ElementsAre(-1, -2, -5.0F / 3));
  EXPECT_THAT(avg_pool(x, windows, /*count_padding=*/false).to_vector<float>(),
              ElementsAre(-1.5, -2, -2.5));
  Windows outside{.sizes = {1}, .padding = {{1, 0}}};
  EXPECT_EQ(max_pool(x, outside).to_vector<float>()[0], -INFINITY);
  EXPECT_EQ(max_pool(x.astype(s8), outside).to_vector<int>()[0], -128);
}

TEST(Pool, ErrorsNameTheSizes) {
  EXPECT_THAT(
      error_of([] {
        max_pool(ones({4, 4}), {.sizes = {2, 2}});
      }),
      HasSubstr("max_pool: sizes has 2 entries and x is f32[4,4]; there must be as many axes "
                "before its last, or list the axes"));
  EXPECT_THAT(error_of([] {
                sum_pool(ones({4, 4}), {.sizes = {2, 2, 2}, .axes = {0, 1}});
              }),
              HasSubstr("sum_pool: sizes has 3 entries and axes 2"));
  EXPECT_THAT(error_of([] { avg_pool(arange(4), {.sizes = {2}, .axes = {0}}); }),
              HasSubstr("avg_pool: x is s32[4]; it must be of floats"));
}

TEST(ReduceWindow, CombinesByAnyFunction) {
  Tensor x = array<float>({1, 2, 3, 4});
  auto product = [](const Tensor& a, const Tensor& b) { return a * b; };
  EXPECT_THAT(reduce_window(x, 1, product, {.sizes = {2}, .strides = {2}}).to_vector<float>(),
              ElementsAre(2, 12));
  EXPECT_THAT(reduce_window(x, scalar<float>(1), product,
                            {.sizes = {3}, .padding = {{0, 1}}, .base_dilation = {2}})
                  .to_vector<float>(),
              ElementsAre(2, 2, 6, 3, 12, 4));
  // Padding is left out, though this init is no identity: so does XLA's CPU plugin.
  EXPECT_THAT(reduce_window(array({1.f, 2.f, 3.f}), 2, product, {.sizes = {3}, .padding = {{1, 1}}})
                  .to_vector<float>(),
              ElementsAre(4, 12, 12));
  EXPECT_THAT(
      error_of([&] {
        reduce_window(grid(), 1, product, {.sizes = {2, 2}});
      }),
      HasSubstr("reduce_window: sizes has 2 entries and x is f32[1,4,4,1]; there must be one "
                "an axis"));
}

// The greatest element under each place and where it is, as pooling with its indices needs.
TEST(ReduceWindow, SeveralOperandsGoTogether) {
  Tensor x = array<float>({3, 1, 2, 5, 5, 4}, {2, 3});
  Tensor position = reshape(arange(6), {2, 3});
  auto greatest = [](std::span<const Tensor> t) {
    Tensor first = (t[0] > t[2]) | ((t[0] == t[2]) & (t[1] <= t[3]));
    return std::vector<Tensor>{where(first, t[0], t[2]), where(first, t[1], t[3])};
  };
  Windows windows{.sizes = {2, 2}, .padding = {{0, 0}, {0, 1}}};
  std::vector<Tensor> inits{scalar(-INFINITY), scalar(99)};
  std::vector<Tensor> out = reduce_window({x, position}, inits, greatest, windows);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].shape(), Shape(f32, {1, 3}));
  EXPECT_THAT(out[0].to_vector<float>(), ElementsAre(5, 5, 4));
  EXPECT_THAT(out[1].to_vector<int>(), ElementsAre(3, 4, 5));
}

TEST(ReduceWindow, OfSeveralOperandsSaysWhatDiffers) {
  auto first = [](std::span<const Tensor> t) { return std::vector<Tensor>{t[0], t[1]}; };
  std::vector<Tensor> zero{scalar(0.0F), scalar(0.0F)};
  EXPECT_THAT(error_of([&] {
                reduce_window({ones({4}), ones({5})}, zero, first, {.sizes = {2}});
              }),
              HasSubstr("reduce_window: "));
  EXPECT_THAT(error_of([&] {
                reduce_window({ones({4}), ones({4})}, {zero[0]}, first, {.sizes = {2}});
              }),
              HasSubstr("reduce_window: has 2 operands and 1 initial values; give one each, at "
                        "least one"));
}

}  // namespace
}  // namespace heddle
