// Against results of numpy 2 and jax.numpy 0.10.
#include "heddle/numpy/manipulation.h"

#include <algorithm>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

std::vector<int> of(const Tensor& x) { return x.to_vector<int>(); }
Tensor grid() { return reshape(arange(6), {2, 3}); }
Tensor pair(int a, int b) { return array<int>({a, b}); }

TEST(Arranging, AtLeastSoManyAxes) {
  EXPECT_EQ(atleast_1d(scalar<int>(1)).shape(), Shape(s32, {1}));
  EXPECT_EQ(atleast_2d(arange(2)).shape(), Shape(s32, {1, 2}));
  EXPECT_EQ(atleast_3d(scalar<int>(1)).shape(), Shape(s32, {1, 1, 1}));
  EXPECT_EQ(atleast_3d(arange(2)).shape(), Shape(s32, {1, 2, 1}));
  EXPECT_EQ(atleast_3d(grid()).shape(), Shape(s32, {2, 3, 1}));
}

TEST(Arranging, StacksInThreeDirections) {
  EXPECT_THAT(of(vstack({pair(1, 2), pair(3, 4)})), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(vstack({grid(), arange(3)}).shape(), Shape(s32, {3, 3}));
  EXPECT_THAT(of(hstack({grid(), grid()})), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_THAT(of(hstack({pair(1, 2), pair(3, 4)})), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(hstack({scalar<int>(1), scalar<int>(2)}).shape(), Shape(s32, {2}));
  Tensor deep = dstack({pair(1, 2), pair(3, 4)});
  EXPECT_EQ(deep.shape(), Shape(s32, {1, 2, 2}));
  EXPECT_THAT(of(deep), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(of(column_stack({pair(1, 2), array<int>({{3, 4}, {5, 6}})})),
              ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(error_of([] { vstack({}); }), HasSubstr("vstack: has no parts; give at least one"));
}

TEST(Arranging, Blocks) {
  Tensor whole = block_matrix({{ones({2, 2}, s32), zeros({2, 1}, s32)}, {array<int>({7, 8, 9})}});
  EXPECT_EQ(whole.shape(), Shape(s32, {3, 3}));
  EXPECT_THAT(of(whole), ElementsAre(1, 1, 0, 1, 1, 0, 7, 8, 9));
  EXPECT_EQ(block_matrix({{pair(1, 2), arange(1)}}).shape(), Shape(s32, {1, 3}));
  EXPECT_THAT(error_of([] { block_matrix({}); }), HasSubstr("block_matrix: has no parts"));
}

TEST(Arranging, TakingApart) {
  std::vector<Tensor> parts = array_split(arange(8), 3);
  EXPECT_THAT(of(parts[0]), ElementsAre(0, 1, 2));
  EXPECT_THAT(of(parts[2]), ElementsAre(6, 7));
  EXPECT_EQ(array_split(arange(2), 3)[2].size(), 0);
  EXPECT_THAT(of(unstack(grid(), -1)[2]), ElementsAre(2, 5));
  EXPECT_THAT(unstack(zeros({0, 2})), IsEmpty());
  EXPECT_EQ(broadcast_arrays({grid(), arange(3), scalar<int>(1)})[2].shape(), Shape(s32, {2, 3}));
  const auto [x, y, z] = unstack<3>(grid(), 1);
  EXPECT_EQ(stack(unstack<3>(grid(), 1), 1).to_vector<int>(), grid().to_vector<int>());
  EXPECT_EQ(concat(unstack<2>(grid())).to_vector<int>(), grid().to_vector<int>());
  EXPECT_THAT(of(z), ElementsAre(2, 5));
  EXPECT_THAT(of(x), ElementsAre(0, 3));
  EXPECT_THAT(
      error_of([] { unstack<2>(grid(), 1); }),
      HasSubstr("unstack: x is s32[2,3], with 3 positions along axis 1; unstack<2> gives 2"));
  EXPECT_THAT(error_of([] { array_split(arange(2), 0); }), HasSubstr("array_split: count is 0"));
}

// Another number of parts is no other program.
TEST(Arranging, ManyPartsWithoutAProgramForTheirNumber) {
  const auto parts_of = [](int count) {
    std::vector<Tensor> parts;
    for (int i = 0; i < count; ++i) parts.push_back(pair(i, -i));
    return parts;
  };
  const auto all = [&](int count) {
    const std::vector<Tensor> parts = parts_of(count);
    EXPECT_EQ(of(vstack(parts))[static_cast<size_t>(2 * count) - 1], 1 - count);
    EXPECT_EQ(of(hstack(parts))[static_cast<size_t>(2 * count) - 2], count - 1);
    EXPECT_EQ(of(column_stack(parts))[static_cast<size_t>(count) - 1], count - 1);
    EXPECT_EQ(of(dstack(parts))[static_cast<size_t>(2 * count) - 1], 1 - count);
    const Tensor rows = reshape(arange(2 * count), {count, 2});
    EXPECT_THAT(of(unstack(rows)[static_cast<size_t>(count) - 1]),
                ElementsAre(2 * count - 2, 2 * count - 1));
    EXPECT_EQ(unstack(transpose(rows), 1).size(), static_cast<size_t>(count));
    const std::vector<Tensor> halves = split(arange(2 * count), count);
    EXPECT_THAT(of(halves[static_cast<size_t>(count) - 1]),
                ElementsAre(2 * count - 2, 2 * count - 1));
  };
  all(40);
  EXPECT_EQ(of(concat(parts_of(40))), of(hstack(parts_of(40))));
  const std::vector<Tensor> parts = parts_of(41);
  const Tensor rows = stack(parts), row = arange(82);
  const auto compiles_of = [](const auto& f) {
    const int64_t before = counters().compiles;
    f();
    return counters().compiles - before;
  };
  EXPECT_EQ(compiles_of([&] { vstack(parts); }), 0);
  EXPECT_EQ(compiles_of([&] { hstack(parts); }), 0);
  EXPECT_EQ(compiles_of([&] { column_stack(parts); }), 0);
  EXPECT_EQ(compiles_of([&] { dstack(parts); }), 0);
  EXPECT_EQ(compiles_of([&] { unstack(rows); }), 0);
  EXPECT_LE(compiles_of([&] { split(row, 41); }), 2);  // for slices of an array of this length
  (void)append(parts[0], 7);
  EXPECT_LE(compiles_of([&] { append(append(parts[0], 7), 8); }), 1);  // to flatten the longer one
  // Parts of many sizes, some of them empty, and positions from the end.
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 40; ++i) positions.push_back(i % 3 == 0 ? i - 82 : 2 * i);
  EXPECT_EQ(split_at(row, base::Ints(positions)).size(), 41U);
}

TEST(Arranging, InsertingAndRemoving) {
  EXPECT_THAT(of(insert(grid(), 1, 9, 1)), ElementsAre(0, 9, 1, 2, 3, 9, 4, 5));
  EXPECT_THAT(of(insert(grid(), -1, array<int>({7, 8, 9}), 0)),
              ElementsAre(0, 1, 2, 7, 8, 9, 3, 4, 5));
  EXPECT_THAT(of(insert(arange(2), 2, 5)), ElementsAre(0, 1, 5));
  EXPECT_THAT(of(without(grid(), {0, -1}, 1)), ElementsAre(1, 4));
  EXPECT_THAT(of(without(arange(6), {2, 2, 4})), ElementsAre(0, 1, 3, 5));
  EXPECT_EQ(without(arange(1), {0}).size(), 0);
  EXPECT_THAT(
      error_of([] { insert(arange(2), 3, 0); }),
      HasSubstr("insert: position is 3; axis 0 of s32[2] has size 2, it must be in -2 .. 2"));
  EXPECT_THAT(error_of([] { without(arange(2), {2}); }),
              HasSubstr("without: position 2 is outside axis 0 of s32[2], which has size 2"));
}

TEST(Arranging, ResizedByRepeating) {
  EXPECT_THAT(of(resize(grid(), {2, 4})), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1));
  EXPECT_THAT(of(resize(zeros({0}, s32), {2})), ElementsAre(0, 0));
  EXPECT_EQ(resize(grid(), {0, 3}).size(), 0);
}

TEST(Arranging, Turning) {
  EXPECT_THAT(of(rot90(grid())), ElementsAre(2, 5, 1, 4, 0, 3));
  EXPECT_THAT(of(rot90(grid(), -2)), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(of(rot90(grid(), 3)), ElementsAre(3, 0, 4, 1, 5, 2));
  EXPECT_THAT(of(rot90(reshape(arange(8), {2, 2, 2}), 1, 1, -1)),
              ElementsAre(1, 3, 0, 2, 5, 7, 4, 6));
  EXPECT_THAT(of(fliplr(grid())), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(of(flipud(grid())), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(of(roll(grid(), {1, -1}, {0, 1})), ElementsAre(4, 5, 3, 1, 2, 0));
  EXPECT_THAT(error_of([] { fliplr(arange(2)); }),
              HasSubstr("fliplr: axis is 1; s32[2] has axes -1 .. 0"));
  EXPECT_THAT(error_of([] {
                roll(grid(), {1}, {0, 1});
              }),
              HasSubstr("roll: has 1 shifts and 2 axes; give as many of both"));
}

TEST(Arranging, OneAxisStandsForAListOfOne) {
  EXPECT_THAT(of(flip(grid(), 0)), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(of(flip(grid(), -1)), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(of(flip(grid(), std::vector<int>{0, 1})), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(of(flip(grid(), {})), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(of(tile(arange(2), 2)), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), 0).shape(), Shape(f32, {2, 1}));
  EXPECT_EQ(transpose(zeros({2, 3}), std::vector<int>{1, 0}).shape(), Shape(f32, {3, 2}));
  EXPECT_THAT(of(roll(grid(), 1, 0)), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(of(roll(grid(), -1, {1})), ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(of(roll(grid(), 3, 1)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(of(split_at(arange(3), 1)[1]), ElementsAre(1, 2));
  EXPECT_THAT(error_of([] { roll(grid(), 1, 2); }), HasSubstr("roll: axis is 2"));
}

TEST(Arranging, AxesMoved) {
  Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(rollaxis(x, 2).shape(), Shape(f32, {4, 2, 3}));
  EXPECT_EQ(rollaxis(x, 0, 3).shape(), Shape(f32, {3, 4, 2}));
  EXPECT_EQ(rollaxis(x, 0, -1).shape(), Shape(f32, {3, 2, 4}));
  EXPECT_EQ(matrix_transpose(x).shape(), Shape(f32, {2, 4, 3}));
  EXPECT_THAT(error_of([&] { rollaxis(x, 0, 4); }), HasSubstr("rollaxis: start is 4"));
  EXPECT_THAT(error_of([] { matrix_transpose(arange(2)); }),
              HasSubstr("matrix_transpose: x is s32[2]; it must have rank 2 or more"));
}

TEST(Arranging, WithoutAnAxisArraysAreFlattened) {
  const Tensor x = array<int>({{1, 2}, {3, 4}});
  EXPECT_THAT(of(insert(x, 1, 9)), ElementsAre(1, 9, 2, 3, 4));
  EXPECT_THAT(of(without(x, {1})), ElementsAre(1, 3, 4));
  EXPECT_THAT(error_of([&] { insert(x, 0, arange(2)); }),
              HasSubstr("insert: value is s32[2]; it does not stretch to [], the shape of"));
}

TEST(Arranging, SplitInThreeDirections) {
  EXPECT_THAT(of(hsplit(arange(4), 2)[1]), ElementsAre(2, 3));
  EXPECT_THAT(of(hsplit(grid(), 3)[1]), ElementsAre(1, 4));
  EXPECT_THAT(of(vsplit(grid(), 2)[1]), ElementsAre(3, 4, 5));
  const Tensor deep = dsplit(reshape(arange(4), {1, 2, 2}), 2)[0];
  EXPECT_EQ(deep.shape(), Shape(s32, {1, 2, 1}));
  EXPECT_THAT(of(deep), ElementsAre(0, 2));
  EXPECT_THAT(error_of([] { vsplit(arange(2), 2); }),
              HasSubstr("vsplit: x is s32[2]; it must have rank 2 or more"));
  EXPECT_THAT(error_of([] { hsplit(arange(5), 2); }), testing::StartsWith("hsplit: "));
}

// Padding by 20,000 elements is one gather, not as many slices.
TEST(Arranging, LongPaddingOfOneElementIsOneGather) {
  const Program program = trace(
      [](Tensor x) {
        return pad_with(x, PadMode::kReflect, {{20000, 0}});
      },
      placeholder({1}, s32));
  EXPECT_LT(program.hlo_text().find(" gather("), std::string::npos);
  EXPECT_EQ(program.hlo_text().find(" slice("), std::string::npos);
  const Tensor padded = pad_with(array<int>({7}), PadMode::kWrap, {{30, 2}});
  EXPECT_EQ(of(padded), std::vector<int>(33, 7));
}

TEST(Arranging, LongPaddingIsAsTheShortOne) {
  const Tensor x = arange(7);
  for (const PadMode mode : {PadMode::kReflect, PadMode::kSymmetric, PadMode::kWrap}) {
    const std::vector<int> some = of(pad_with(x, mode, {{100, 200}}));
    const std::vector<int> many = of(pad_with(x, mode, {{100 + 84 * 60, 200}}));
    EXPECT_TRUE(std::ranges::equal(std::span(many).last(some.size()), some));
    EXPECT_EQ(many.size(), some.size() + 84 * 60);
  }
  EXPECT_THAT(error_of([&] {
                pad_with(x, PadMode::kWrap, {{int64_t{1} << 40, 0}});
              }),
              HasSubstr("pad_with needs more memory than there is"));
}

TEST(Arranging, PaddedWithItself) {
  Tensor x = arange(3);
  const std::vector<Padding> wide = {{4, 5}};
  EXPECT_THAT(of(pad_with(x, PadMode::kEdge, wide)),
              ElementsAre(0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(of(pad_with(x, PadMode::kReflect, wide)),
              ElementsAre(0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1));
  EXPECT_THAT(of(pad_with(x, PadMode::kSymmetric, wide)),
              ElementsAre(2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1));
  EXPECT_THAT(of(pad_with(x, PadMode::kWrap, wide)),
              ElementsAre(2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1));
  EXPECT_THAT(of(pad_with(grid(), PadMode::kReflect, {{1, 0}, {0, 2}})),
              ElementsAre(3, 4, 5, 4, 3, 0, 1, 2, 1, 0, 3, 4, 5, 4, 3));
  EXPECT_THAT(of(pad_with(x, PadMode::kEdge, {{-1, 1}})), ElementsAre(1, 2, 2));
  EXPECT_THAT(of(pad_with(x, PadMode::kWrap, {{-1, -1}})), ElementsAre(1));
  EXPECT_THAT(error_of([] {
                pad_with(zeros({0}), PadMode::kEdge, {{1, 1}});
              }),
              HasSubstr("pad_with: padding of axis 0 is 1, 1, interior 0; x is f32[0]"));
}

}  // namespace
}  // namespace heddle
