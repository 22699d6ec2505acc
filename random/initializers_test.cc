// Against results of jax.nn.initializers 0.10.2 for key 3.
#include "heddle/random/initializers.h"

#include "heddle/base/support_test.h"
#include "heddle/trace/support_test.h"

namespace heddle::random {
namespace {

std::vector<float> of(const Tensor& x) { return x.to_vector<float>(); }
auto near(float x) { return FloatNear(x, 4e-7F); }
const Dimensions kShape = {2, 3};

TEST(Initializers, AsJax) {
  Tensor k = key(3);
  EXPECT_THAT(of(glorot_uniform(k, kShape)),
              ElementsAre(near(-0.93320411F), near(0.95992619F), near(0.32634848F),
                          near(1.04203343F), near(-0.48554999F), near(0.18170823F)));
  EXPECT_THAT(of(glorot_normal(k, kShape)),
              ElementsAre(near(-0.94901913F), near(1.00166261F), near(0.26192677F),
                          near(1.21133268F), near(-0.40112194F), near(0.14362577F)));
  EXPECT_THAT(of(he_uniform(k, kShape))[0], near(-1.47552514F));
  EXPECT_THAT(of(he_normal(k, kShape))[3], near(1.91528535F));
  EXPECT_THAT(of(lecun_uniform(k, kShape))[1], near(1.07323003F));
  EXPECT_THAT(of(lecun_normal(k, kShape))[5], near(0.16057849F));
}

TEST(Initializers, FansOfAnyAxes) {
  Tensor mean = variance_scaling(key(3), {2, 2, 2},
                                 {.scale = 2,
                                  .fan = Fan::kAverage,
                                  .distribution = WeightDistribution::kNormal,
                                  .in_axes = {0, 1},
                                  .out_axes = {2}});
  EXPECT_THAT(of(mean), ElementsAre(near(-1.18086398F), near(1.25689936F), near(0.31231505F),
                                    near(1.60907137F), near(-0.47982845F), near(0.17098716F),
                                    near(-1.01680648F), near(-0.24606782F)));
  Tensor batch = variance_scaling(
      key(3), {2, 2, 2}, {.distribution = WeightDistribution::kUniform, .batch_axes = {0}});
  EXPECT_THAT(of(batch)[6], near(-0.96386075F));
  EXPECT_EQ(variance_scaling(key(3), {0, 3}).size(), 0);
  EXPECT_THAT(
      error_of([] { glorot_normal(key(3), {3}); }),
      testing::StartsWith("random::glorot_normal: shape is [3]; it must have rank 2 or more"));
  EXPECT_THAT(error_of([] {
                he_normal(key(3), {2, 3}, s32);
              }),
              HasSubstr("he_normal: dtype is s32"));
}

TEST(Initializers, OrthonormalColumns) {
  EXPECT_THAT(of(orthogonal_weights(key(3), {3, 2}, 2)),
              ElementsAre(near(-1.79964185F), near(0.56067276F), near(0.47596955F),
                          near(1.91517329F), near(-0.73126066F), near(-0.13325748F)));
  EXPECT_EQ(orthogonal_weights(key(3), {2, 3, 4}, 1, 1).shape(), Shape(f32, {2, 3, 4}));
  EXPECT_THAT(error_of([] { orthogonal_weights(key(3), {3}); }),
              HasSubstr("orthogonal_weights: shape is of rank 1; it must have rank 2 or more"));
}

}  // namespace
}  // namespace heddle::random
