#include "heddle/numpy/ravel_pytree.h"

#include <utility>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

struct Layer {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Layer::w), field("b", &Layer::b));
};

TEST(RavelPytree, GivesAllLeavesAndTheTreeBack) {
  const std::vector<Layer> net = {
      {array({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3}), scalar(7.0F)},
      {zeros({0, 3}), ones({1})}};
  const auto [flat, unravel] = ravel_pytree(net);
  EXPECT_THAT(flat.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 1));
  const std::vector<Layer> twice = unravel(flat * 2.0);
  ASSERT_EQ(twice.size(), 2U);
  EXPECT_EQ(twice[0].w.shape(), Shape(f32, {2, 3}));
  EXPECT_THAT(twice[0].w.to_vector<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(twice[0].b.item<float>(), 14);
  EXPECT_EQ(twice[1].w.shape(), Shape(f32, {0, 3}));
  EXPECT_EQ(twice[1].b.item<float>(), 2);
  EXPECT_EQ(ravel_pytree(std::vector<Tensor>()).first.shape(), Shape(f32, {0}));
}

TEST(RavelPytree, NamesTheLeafOfAnotherDtypeAndTheArrayOfAnotherSize) {
  const Layer mixed{ones({2}), zeros({3}, f64)};
  EXPECT_THAT(error_of([&] { (void)ravel_pytree(mixed); }),
              StartsWith("ravel_pytree: tree.b is f64[3], and tree.w is f32[2]; all leaves must"));
  const auto unravel = ravel_pytree(std::pair(ones({2}), ones({3}))).second;
  EXPECT_THAT(error_of([&] { (void)unravel(ones({4})); }),
              StartsWith("ravel_pytree: unravel: x is f32[4]; it must be f32[5]"));
}

TEST(TensorDims, GivesAllSizes) {
  const auto [rows, columns] = zeros({2, 5}).dims<2>();
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(columns, 5);
  EXPECT_THAT(error_of([] {
                (void)zeros({2, 5}).dims<3>();
              }),
              StartsWith("dims: x is f32[2,5]; dims<3>() needs 3 axes: write dims<2>()"));
}

}  // namespace
}  // namespace heddle
