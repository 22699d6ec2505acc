// Several index arrays, new axes, ellipses and masks against what numpy 2 and jax.numpy 0.10 give.
#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor grid() { return reshape(arange(12), {3, 4}); }
Tensor box() { return reshape(arange(24), {2, 3, 4}); }
Tensor hyper() { return reshape(arange(120), {2, 3, 4, 5}); }
std::vector<int> of(const Tensor& x) { return x.to_vector<int>(); }

TEST(IndexArrays, PickElementsTogether) {
  Tensor i = array<int>({0, 2, -1}), j = array<int>({1, -1, 0});
  EXPECT_THAT(of(grid()[{i, j}]), ElementsAre(1, 11, 8));
  EXPECT_THAT(of(box()[{Slice{}, i, j}]), ElementsAre(1, 11, 8, 13, 23, 20));
  EXPECT_THAT(of(box()[{array<int>({0, 1, 1}), i}]),
              ElementsAre(0, 1, 2, 3, 20, 21, 22, 23, 20, 21, 22, 23));
}

TEST(IndexArrays, BroadcastToEachOther) {
  Tensor i = array<int>({0, 2}, {2, 1}), j = array<int64_t>({3, 0, 1});
  Tensor picked = grid()[{i, j}];
  EXPECT_EQ(picked.shape(), Shape(s32, {2, 3}));
  EXPECT_THAT(of(picked), ElementsAre(3, 0, 1, 11, 8, 9));
  EXPECT_THAT(of(grid()[{array<uint8_t>({2}), j}]), ElementsAre(11, 8, 9));
  EXPECT_THAT(error_of([] {
                (void)grid()[{array<int>({0, 1}), array<int>({0, 1, 2})}];
              }),
              HasSubstr("x[..]: operands are s32[2] and s32[3]; sizes must be equal or 1"));
}

TEST(IndexArrays, AxesStandInPlaceOrInFront) {
  Tensor i = array<int>({0, 1, 1}), j = array<int>({3, 0, 2});
  EXPECT_EQ((hyper()[{Slice{}, i, j}].shape()), Shape(s32, {2, 3, 5}));
  Tensor apart = box()[{i, Slice{}, j}];
  EXPECT_EQ(apart.shape(), Shape(s32, {3, 3}));
  EXPECT_THAT(of(apart), ElementsAre(3, 7, 11, 12, 16, 20, 14, 18, 22));
  EXPECT_EQ((hyper()[{Slice{}, i, Ellipsis{}, j}].shape()), Shape(s32, {3, 2, 4}));
  EXPECT_EQ((hyper()[{Slice{}, i, NewAxis{}, j}].shape()), Shape(s32, {3, 2, 1, 5}));
  EXPECT_EQ((box()[{Slice{}, i, Ellipsis{}, j}].shape()), Shape(s32, {3, 2}));
  EXPECT_EQ((hyper()[{Slice{0, 1}, i, Slice{1, 3}, j}].shape()), Shape(s32, {3, 1, 2}));
}

TEST(IndexArrays, PositionsCountAsArrays) {
  Tensor i = array<int>({0, 1, 1});
  EXPECT_EQ((box()[{0, Slice{}, i}].shape()), Shape(s32, {3, 3}));
  EXPECT_THAT(of(box()[{1, Slice{0, 2}, i}]), ElementsAre(12, 16, 13, 17, 13, 17));
  EXPECT_THAT(of(box()[{scalar<int>(1), Slice{0, 2}, i}]), ElementsAre(12, 16, 13, 17, 13, 17));
  EXPECT_THAT(of(box()[{Slice{}, 1, i}]), ElementsAre(4, 5, 5, 16, 17, 17));
  EXPECT_THAT(of(hyper()[{i, 2, array<int>({0, 3, 1}), -1}]), ElementsAre(44, 119, 109));
}

TEST(IndexArrays, OutsideIsClampedAndEmptyPicksNothing) {
  EXPECT_THAT(of(grid()[{array<int>({5, -9}), array<int>({-1, 7})}]), ElementsAre(11, 3));
  Tensor none = array(std::vector<int>{});
  EXPECT_EQ((grid()[{none, none}].size()), 0);
  EXPECT_EQ((box()[{none, Slice{}, none}].shape()), Shape(s32, {0, 3}));
  EXPECT_THAT(error_of([] {
                (void)zeros({0, 2})[{array<int>({0}), array<int>({1})}];
              }),
              HasSubstr("x[..]: axis 0 of f32[0,2] has size 0; there is nothing to take"));
}

TEST(IndexArrays, AreOneGather) {
  auto pick = [](Tensor x, Tensor i, Tensor j) { return x[{i, Slice{}, j}]; };
  StatusOr<Program> program =
      trace(pick, placeholder({5, 3, 4}, f32), placeholder({6}, s32), placeholder({2, 1}, s32));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(program->hlo_text(), HasSubstr("f32[2,6,3]"));
  EXPECT_THAT(program->hlo_text(), Not(HasSubstr(" transpose(")));
}

TEST(IndexEntries, NewAxesAndEllipses) {
  EXPECT_EQ((grid()[{NewAxis{}, 1}].shape()), Shape(s32, {1, 4}));
  EXPECT_EQ((grid()[{Slice{}, NewAxis{}}].shape()), Shape(s32, {3, 1, 4}));
  EXPECT_EQ((hyper()[{1, Ellipsis{}, NewAxis{}, 0}].shape()), Shape(s32, {3, 4, 1}));
  EXPECT_THAT(of(box()[{Ellipsis{}, 2}]), ElementsAre(2, 6, 10, 14, 18, 22));
  EXPECT_EQ((scalar<int>(3)[{Ellipsis{}, NewAxis{}}].shape()), Shape(s32, {1}));
  EXPECT_THAT(error_of([] {
                (void)grid()[{Ellipsis{}, 0, Ellipsis{}}];
              }),
              HasSubstr("x[..]: has 2 ellipses; x is s32[3,4], give at most one"));
  EXPECT_THAT(error_of([] {
                (void)grid()[{NewAxis{}, 0, 0, 0}];
              }),
              HasSubstr("x[..]: has 3 entries; x is s32[3,4], give at most one an axis"));
}

TEST(IndexArrays, UpdatePlacesTogether) {
  Tensor x = zeros({3, 4}, s32);
  Tensor i = array<int>({0, 2, 0}), j = array<int>({1, -1, 1});
  EXPECT_THAT(of(x.at({i, j}).add(array<int>({1, 2, 3}))),
              ElementsAre(0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
  EXPECT_THAT(of(x.at({i, j}).set(7)), ElementsAre(0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7));
  EXPECT_THAT(of((x + 1).at({i, j}).multiply(3)), ElementsAre(1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3));
  EXPECT_THAT(of(grid().at({i, j}).min(0)), ElementsAre(0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0));
  EXPECT_THAT(of(grid().at({i, j}).max(5)), ElementsAre(0, 5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(of(grid().at({i, j}).get()), ElementsAre(1, 11, 1));
}

TEST(IndexArrays, UpdatesOutsideAreLeftOut) {
  Tensor x = zeros({2, 2}, s32);
  Tensor i = array<int>({0, 2, -3, -1}), j = array<int>({0, 0, 1, -2});
  EXPECT_THAT(of(x.at({i, j}).set(array<int>({1, 2, 3, 4}))), ElementsAre(1, 0, 4, 0));
  EXPECT_THAT(of(x.at({i, array<int>({5})}).add(1)), ElementsAre(0, 0, 0, 0));
}

// The update has the shape of x[..], whatever stands between the arrays.
TEST(IndexArrays, UpdatesHaveTheShapeOfTheRead) {
  Tensor i = array<int>({0, 1}), j = array<int>({3, 0});
  Tensor x = zeros({2, 3, 4}, s32);
  Tensor apart = x.at({i, Slice{}, j}).add(reshape(arange(6), {2, 3}));
  EXPECT_THAT(of(apart[{0, Slice{}, 3}]), ElementsAre(0, 1, 2));
  EXPECT_THAT(of(apart[{1, Slice{}, 0}]), ElementsAre(3, 4, 5));
  EXPECT_EQ(sum(apart).item<int>(), 15);
  Tensor part = x.at({i, Slice{2, {}, -2}, j}).set(array<int>({{1, 2}, {3, 4}}));
  EXPECT_THAT(of(part[{0, Slice{}, 3}]), ElementsAre(2, 0, 1));
  EXPECT_THAT(of(part[{1, Slice{}, 0}]), ElementsAre(4, 0, 3));
  Tensor with_position = x.at({i, -1, j}).set(array<int>({8, 9}));
  EXPECT_EQ((with_position[{0, 2, 3}].item<int>()), 8);
  EXPECT_EQ((with_position[{1, 2, 0}].item<int>()), 9);
  EXPECT_EQ(sum(with_position).item<int>(), 17);
  Tensor added = x.at({i, NewAxis{}, scalar<int>(1), j}).set(5);
  EXPECT_EQ(added.shape(), x.shape());
  EXPECT_EQ((added[{1, 1, 0}].item<int>()), 5);
  EXPECT_EQ(sum(added).item<int>(), 10);
}

TEST(IndexArrays, OneArrayAndAPositionApart) {
  Tensor i = array<int>({0, 1, 3});
  Tensor x = zeros({2, 3, 4}, s32).at({1, Slice{}, i}).set(reshape(arange(9), {3, 3}));
  EXPECT_THAT(of(x[1]), ElementsAre(0, 3, 0, 6, 1, 4, 0, 7, 2, 5, 0, 8));
}

TEST(IndexMasks, UpdateWhereTheyAreTrue) {
  Tensor x = grid();
  EXPECT_THAT(of(x.at({x > 8}).set(-1)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1));
  Tensor rows = array<bool>({true, false, true});
  EXPECT_THAT(of(x.at({rows}).add(array<int>({10, 20, 30, 40}))),
              ElementsAre(10, 21, 32, 43, 4, 5, 6, 7, 18, 29, 40, 51));
  EXPECT_THAT(error_of([] {
                (void)grid()[array<bool>({true, false, true})];
              }),
              HasSubstr("x[..]: entry 0 is pred[3], a mask; how much it picks would depend on its "
                        "values, use where(mask, x, ..), or the positions nonzero(mask, size)"));
  EXPECT_THAT(
      error_of([] { (void)grid().at({array<bool>({true})}).set(1); }),
      HasSubstr("at.set: mask is pred[1]; x is s32[3,4], the mask must have its leading sizes"));
  EXPECT_THAT(error_of([&] { (void)grid().at({rows}).set(grid()); }),
              HasSubstr("at.set: value is s32[3,4]; x is s32[3,4] and the mask pred[3]"));
}

}  // namespace
}  // namespace heddle
