#include "heddle/numpy/searching.h"

#include <algorithm>
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"

namespace heddle {
namespace {

TEST(SearchSorted, FindsTheBoundsOfEqualElements) {
  Tensor sorted = array<int>({1, 3, 3, 3, 7});
  Tensor values = array<int>({0, 1, 2, 3, 7, 8});
  EXPECT_THAT(searchsorted(sorted, values).to_vector<int>(), ElementsAre(0, 0, 1, 1, 4, 5));
  EXPECT_THAT(searchsorted(sorted, values, SearchSide::kRight).to_vector<int>(),
              ElementsAre(0, 1, 1, 4, 5, 5));
}

// All sizes around powers of 2, against the standard library.
TEST(SearchSorted, AgreesWithTheStandardLibrary) {
  for (int n = 0; n <= 17; ++n) {
    std::vector<float> sorted;
    for (int i = 0; i < n; ++i) sorted.push_back(static_cast<float>(i / 2));
    for (float v = -1; v < 10; v += 0.5f) {
      auto lower = std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin();
      auto upper = std::upper_bound(sorted.begin(), sorted.end(), v) - sorted.begin();
      EXPECT_EQ(searchsorted(array(sorted), v).item<int>(), lower) << n << " " << v;
      EXPECT_EQ(searchsorted(array(sorted), v, SearchSide::kRight).item<int>(), upper)
          << n << " " << v;
    }
  }
}

TEST(SearchSorted, NanComesLast) {
  Tensor sorted = array<float>({1, 2, NAN, NAN});
  EXPECT_THAT(searchsorted(sorted, array<float>({NAN, INFINITY})).to_vector<int>(),
              ElementsAre(2, 2));
  EXPECT_EQ(searchsorted(sorted, static_cast<float>(NAN), SearchSide::kRight).item<int>(), 4);
}

TEST(Unique, GivesPlacesCountsAndInverse) {
  UniqueResult u = unique(array<int>({{3, 1, 3}, {7, 1, 3}}), 5, 99);
  EXPECT_THAT(u.values.to_vector<int>(), ElementsAre(1, 3, 7, 99, 99));
  EXPECT_THAT(u.counts.to_vector<int>(), ElementsAre(2, 3, 1, 0, 0));
  EXPECT_THAT(u.indices.to_vector<int>(), ElementsAre(1, 0, 3, 1, 1));
  EXPECT_THAT(u.inverse.to_vector<int>(), ElementsAre(1, 0, 1, 2, 0, 1));
  EXPECT_EQ(u.inverse.shape(), Shape(s32, {2, 3}));
  EXPECT_EQ(u.number.item<int>(), 3);
}

TEST(Unique, DropsWhatHasNoPlace) {
  UniqueResult u = unique(array<float>({NAN, 2, NAN, 1}), 2);
  EXPECT_THAT(u.values.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_EQ(u.number.item<int>(), 3);
  EXPECT_THAT(unique(array<float>({5}), 3).values.to_vector<float>(), ElementsAre(5, 5, 5));
  EXPECT_THROW(unique(zeros({0}), 3), Error);
}

TEST(SearchSorted, RefusesWhatHasNoOrderAlongOneAxis) {
  EXPECT_THROW(searchsorted(zeros({2, 2}), 1.0), Error);
  EXPECT_THROW(searchsorted(zeros({2}), scalar(1)), Error);
}

}  // namespace
}  // namespace heddle
