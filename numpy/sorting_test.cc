#include "heddle/numpy/sorting.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"

namespace heddle {
namespace {

TEST(TakeAlongAxis, PicksRowByRow) {
  Tensor x = reshape(arange(12), {3, 4});
  Tensor columns = array<int>({{0, 3}, {-1, 1}, {2, 2}});
  EXPECT_THAT(take_along_axis(x, columns, 1).to_vector<int>(), ElementsAre(0, 3, 7, 5, 10, 10));
  Tensor rows = array<int>({{2, 0, 1, -1}});
  EXPECT_THAT(take_along_axis(x, rows, 0).to_vector<int>(), ElementsAre(8, 1, 6, 11));
}

TEST(TakeAlongAxis, OtherAxesBroadcast) {
  Tensor x = reshape(arange(12), {3, 4});
  EXPECT_THAT(take_along_axis(x, array<int>({{1, 0}}), 1).to_vector<int>(),
              ElementsAre(1, 0, 5, 4, 9, 8));
  EXPECT_THAT(
      take_along_axis(reshape(arange(4), {1, 4}), array<int>({{1}, {2}}), 1).to_vector<int>(),
      ElementsAre(1, 2));
}

TEST(TakeAlongAxis, OutOfRangeIsClampedOrFilled) {
  Tensor x = array<float>({1, 2, 3});
  Tensor far = array<int>({5, -9});
  EXPECT_THAT(take_along_axis(x, far, 0).to_vector<float>(), ElementsAre(3, 1));
  std::vector<float> filled = take_along_axis(x, far, 0, IndexMode::kFill).to_vector<float>();
  EXPECT_TRUE(std::isnan(filled[0]) && std::isnan(filled[1]));
  EXPECT_THROW(take_along_axis(x, array<int>({{1}}), 0), Error);
  EXPECT_THROW(take_along_axis(x, x, 0), Error);
}

// Taking the elements at argsort's positions gives the result of sort.
TEST(TakeAlongAxis, InvertsArgsort) {
  Tensor x = array<float>({{3, 1, 2}, {0, 5, -1}});
  for (int64_t axis : {0, 1})
    EXPECT_EQ(take_along_axis(x, argsort(x, axis), axis).to_vector<float>(),
              sort(x, axis).to_vector<float>());
}

TEST(TopK, GreatestFirstAndTheFirstOfEquals) {
  TopK out = top_k(array<float>({{1, 4, 4, 2}, {NAN, 7, 9, 0}}), 2);
  EXPECT_THAT(out.indices.to_vector<int>(), ElementsAre(1, 2, 0, 2));
  EXPECT_EQ(out.values.to_vector<float>()[3], 9);
  EXPECT_THAT(top_k(array<int>({{1, 5}, {3, 2}}), 1, 0).values.to_vector<int>(), ElementsAre(3, 5));
  EXPECT_EQ(top_k(arange(3), 0).values.size(), 0);
  EXPECT_THROW(top_k(arange(3), 4), Error);
}

// Long rows, of which few are asked for, go another way than short ones.
TEST(TopK, FewOfManyAreThoseOfAStableSortInEveryDtype) {
  std::vector<float> numbers;
  for (int i = 0; i < 300; ++i) numbers.push_back(static_cast<float>(i * 37 % 50 - 25));
  for (const int i : {7, 100, 280}) numbers[static_cast<size_t>(i)] = NAN;
  numbers[3] = -0.0f;
  const Tensor given = array(numbers);
  for (const DType dtype : {f32, f64, f16, bf16, s8, s32, s64, u8, u32, u64, pred}) {
    const Tensor plain = is_floating(dtype) ? given : nan_to_num(given);
    const Tensor x = stack({plain.astype(dtype), flip(plain).astype(dtype)}, 1);  // along 0
    const Tensor order = slice_in_dim(argsort(x, 0, /*descending=*/true), 0, 9);
    const TopK out = top_k(x, 9, 0);
    EXPECT_EQ(out.indices.to_vector<int>(), order.to_vector<int>()) << to_string(dtype);
    const Tensor same = bitcast_convert(out.values.astype(f32), u32) ==
                        bitcast_convert(take_along_axis(x, order, 0).astype(f32), u32);
    EXPECT_TRUE(all(same).item<bool>()) << to_string(dtype);
  }
}

TEST(TopK, FewOfManyAreThoseOfAStableSort) {
  std::vector<int> x;
  for (int i = 0; i < 400; ++i) x.push_back(i * 37 % 50);  // each number several times
  std::vector<int> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int i) { return x[static_cast<size_t>(i)]; };
  std::ranges::stable_sort(order, [&](int a, int b) { return at(a) > at(b); });
  for (const int k : {1, 7, 32, 33}) {
    const std::vector<int> first(order.begin(), order.begin() + k);
    EXPECT_EQ(top_k(array(x), k).indices.to_vector<int>(), first) << k;
  }
}

}  // namespace
}  // namespace heddle
