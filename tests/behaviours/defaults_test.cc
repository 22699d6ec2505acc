// docs/defaults.md: what a call does where nothing is said. One test for each table of the page.
#include <cmath>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

std::vector<float> floats(const Tensor& x) { return x.astype(f32).to_vector<float>(); }
std::vector<int> ints(const Tensor& x) { return x.astype(s32).to_vector<int>(); }
const float kNan = NAN;

TEST(Defaults, Dtypes) {
  EXPECT_EQ(zeros({2}).dtype(), f32);
  EXPECT_EQ(eye(2).dtype(), f32);
  EXPECT_EQ(linspace(0, 1, 3).dtype(), f32);
  EXPECT_EQ(full({2}, 3).dtype(), f32);
  EXPECT_EQ(full({2}, scalar(3)).dtype(), s32);
  EXPECT_EQ(arange(3).dtype(), s32);
  EXPECT_EQ(arange(3.0).dtype(), f32);
  EXPECT_EQ(scalar(0.5).dtype(), f64);
  EXPECT_EQ(scalar(0.5f).dtype(), f32);
  EXPECT_EQ(scalar(1).dtype(), s32);
  EXPECT_EQ((ones({2}, bf16) * 2.0).dtype(), bf16);
  EXPECT_THROW((void)(ones({2}, bf16) + ones({2})), Error);
  EXPECT_THROW((void)(ones({2}, s32) + ones({2})), Error);
  EXPECT_EQ(sum(ones({2}, s8)).dtype(), s32);
  EXPECT_EQ(sum(ones({2}, pred)).dtype(), s32);
  EXPECT_EQ(sum(ones({2}, bf16)).dtype(), bf16);
  EXPECT_EQ(cumsum(ones({2}, s8)).dtype(), s8);
  EXPECT_THROW((void)(mean(ones({2}, s32))), Error);
  EXPECT_EQ(argmax(ones({2})).dtype(), s32);
  EXPECT_EQ(matmul(ones({2, 2}, bf16), ones({2, 2}, bf16)).dtype(), bf16);
}

TEST(Defaults, Arithmetic) {
  const Tensor seven = scalar(-7);
  EXPECT_EQ((seven / 2).item<int>(), -3);
  EXPECT_THROW((void)(seven / 2.0), Error);
  EXPECT_EQ(true_divide(seven, 2).item<float>(), -3.5f);
  EXPECT_EQ(floor_divide(seven, 2).item<int>(), -4);
  EXPECT_EQ((seven % 3).item<int>(), -1);
  EXPECT_EQ(mod(seven, 3).item<int>(), 2);
  EXPECT_EQ((seven / 0).item<int>(), -1);
  EXPECT_THROW((void)((-9 < seven) < 1), Error);
  EXPECT_EQ((seven % 0).item<int>(), -7);
  EXPECT_EQ((scalar(-8) >> 1).item<int>(), -4);
  EXPECT_EQ(power(scalar(2), scalar(-1)).item<int>(), 0);
  EXPECT_THAT(floats(round(array<float>({0.5, 1.5, 2.5, -0.5}))), ElementsAre(0, 2, 2, 0));
  EXPECT_THAT(ints(array<float>({1e20, kNan}).astype(s32)), ElementsAre(2147483647, 0));
  EXPECT_THAT(ints(array<float>({kNan, 300, -5}).astype(u8)), ElementsAre(0, 255, 0));
  EXPECT_TRUE(std::isnan(maximum(scalar(1.0f), kNan).item<float>()));
  EXPECT_EQ(fmax(scalar(1.0f), kNan).item<float>(), 1);
}

TEST(Defaults, OrderAndTies) {
  const Tensor x = array<float>({1, kNan, 3, 2});
  EXPECT_THAT(ints(argsort(x)), ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(ints(argsort(array<float>({1, 0, 1, 0}), -1, true)), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(argmax(x).item<int>(), 1);
  EXPECT_EQ(argmin(x).item<int>(), 1);
  EXPECT_EQ(argmax(array<float>({3, 1, 3})).item<int>(), 0);
  EXPECT_THAT(ints(top_k(array<float>({1, kNan, 3, 3}), 4).indices), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(searchsorted(array<float>({1, 2, 2, 3}), scalar(2.0f)).item<int>(), 1);
  EXPECT_EQ(median(array<float>({1, 2, 3, 4})).item<float>(), 2.5f);
  EXPECT_THAT(floats(unique(array<float>({kNan, kNan, 1}), 3).counts), ElementsAre(1, 2, 0));
}

TEST(Defaults, OutOfBounds) {
  const Tensor x = arange(4.0), seven = scalar(7), minus_nine = scalar(-9);
  EXPECT_EQ(x[seven].item<float>(), 3);
  EXPECT_EQ(x[minus_nine].item<float>(), 0);
  EXPECT_THROW((void)(x[7]), Error);
  EXPECT_EQ(take(x, seven).item<float>(), 3);
  EXPECT_EQ(take(x, scalar(-2)).item<float>(), 2);
  EXPECT_TRUE(std::isnan(take(x, seven, 0, IndexMode::kFill).item<float>()));
  EXPECT_EQ(take(arange(4), seven, 0, IndexMode::kFill).item<int>(), 0);
  EXPECT_EQ(take_along_axis(x, array<int>({7}), 0).to_vector<float>()[0], 3);
  EXPECT_THAT(floats(x.at({seven}).set(1)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(floats(dynamic_slice(x, {seven}, {2})), ElementsAre(2, 3));
  EXPECT_THAT(floats(dynamic_slice(x, {scalar(-1)}, {2})), ElementsAre(0, 1));
  EXPECT_THAT(floats(one_hot(array<int>({5}), 3)), ElementsAre(0, 0, 0));
  EXPECT_THAT(ints(bincount(array<int>({0, 5, -1}), 2)), ElementsAre(1, 0));
}

TEST(Defaults, Reductions) {
  const Tensor x = array<float>({0, 1, 2});
  EXPECT_FLOAT_EQ(var(x).item<float>(), 2.0f / 3);
  EXPECT_FLOAT_EQ(std_dev(x).item<float>(), std::sqrt(2.0f / 3));
  EXPECT_FLOAT_EQ(cov(array<float>({{0, 1, 2}})).to_vector<float>()[0], 1);
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<float>()));
  EXPECT_TRUE(std::isnan(var(ones({1}), {}, /*ddof=*/1).item<float>()));
  const Tensor m = array<float>({{1, 2}, {3, 4}});
  EXPECT_THAT(floats(cumsum(m)), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(floats(sort(array<float>({{2, 1}, {4, 3}}))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(floats(take(m, scalar(1))), ElementsAre(3, 4));
  EXPECT_THAT(floats(softmax(zeros({2, 4}))), testing::Each(0.25f));
  EXPECT_EQ(argmax(m).item<int>(), 3);
  EXPECT_THAT(floats(roll(m, 1)), ElementsAre(4, 1, 2, 3));
  EXPECT_FALSE(all_close(scalar(1.0f), scalar(1.0f + 2e-5f)).item<bool>());
  EXPECT_TRUE(all_close(scalar(1.0f), scalar(1.0f + 5e-6f)).item<bool>());
}

TEST(Defaults, LinearAlgebra) {
  const Tensor a = array<float>({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(linalg::svd(a).u.shape().dimensions(), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(linalg::qr(a).q.shape().dimensions(), (std::vector<int64_t>{3, 2}));
  // (a + a^H) / 2 of both: off the diagonal 1.
  const Tensor b = array<float>({{4, 2}, {0, 4}});
  EXPECT_THAT(floats(linalg::eigvalsh(b)), ElementsAre(FloatNear(3, 1e-5), FloatNear(5, 1e-5)));
  EXPECT_THAT(linalg::cholesky(b).to_vector<float>()[2], FloatNear(0.5, 1e-6));
  EXPECT_FLOAT_EQ(linalg::norm(a).item<float>(), std::sqrt(91.0f));
  EXPECT_TRUE(std::isnan(floats(linalg::cholesky(array<float>({{-1.0f}})))[0]));
  EXPECT_TRUE(std::isinf(floats(linalg::inv(zeros({1, 1})))[0]));
}

TEST(Defaults, Networks) {
  const Tensor x = array<float>({-1e-3f, 1e-3f});
  EXPECT_THAT(floats(nn::layer_norm(x))[1], FloatNear(std::sqrt(0.5f), 1e-4));       // 1e-6
  EXPECT_THAT(floats(nn::rms_norm(x))[1], FloatNear(std::sqrt(0.5f), 1e-4));         // 1e-6
  EXPECT_THAT(floats(nn::standardize(x))[1], FloatNear(1 / std::sqrt(11.f), 1e-4));  // 1e-5
  EXPECT_THAT(nn::gelu(scalar(1.0f)).item<float>(), FloatNear(0.841192f, 1e-6));
  EXPECT_THAT(nn::gelu(scalar(1.0f), {.approximate = false}).item<float>(),
              FloatNear(0.841345f, 1e-6));
  EXPECT_FLOAT_EQ(nn::leaky_relu(scalar(-1.0f)).item<float>(), -0.01f);
  EXPECT_FLOAT_EQ(nn::huber_loss(scalar(3.0f), scalar(0.0f)).item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(nn::l2_loss(scalar(3.0f)).item<float>(), 4.5f);
  const Tensor labels = array<int>({0, 5});
  const Tensor losses = nn::softmax_cross_entropy_with_integer_labels(zeros({2, 3}), labels);
  EXPECT_EQ(losses.shape().dimensions(), (std::vector<int64_t>{2}));
  EXPECT_TRUE(std::isnan(losses.to_vector<float>()[1]));
  EXPECT_EQ(nn::glu(zeros({2, 4})).shape().dimensions(), (std::vector<int64_t>{2, 2}));
}

TEST(Defaults, Windows) {
  const Tensor image = ones({1, 5, 5, 1}), kernel = ones({3, 3, 1, 1});
  EXPECT_EQ(conv(image, kernel).shape().dimensions(), (std::vector<int64_t>{1, 3, 3, 1}));
  EXPECT_EQ(conv_transpose(image, kernel).shape().dimensions(), image.shape().dimensions());
  EXPECT_THROW((void)conv(image, ones({6, 3, 1, 1})), Error);
  EXPECT_THROW((void)reduce_window(image, 0.0f, add, {.sizes = {1, 6, 1, 1}}), Error);
  EXPECT_EQ(max_pool(image, {.sizes = {2, 2}}).shape().dimensions(),
            (std::vector<int64_t>{1, 4, 4, 1}));
  const Windows same{.sizes = {3, 3}, .padding = WindowPadding::kSame};
  EXPECT_FLOAT_EQ(avg_pool(image, same).to_vector<float>()[0], 4.0f / 9);
  const Tensor x = array<float>({1, 2, 3}), y = array<float>({1, 1});
  EXPECT_THAT(floats(convolve(x, y)), ElementsAre(1, 3, 5, 3));
  EXPECT_THAT(floats(correlate(x, y)), ElementsAre(3, 5));
}

}  // namespace
}  // namespace heddle
