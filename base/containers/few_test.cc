#include "heddle/base/containers/few.h"

#include "heddle/base/support_test.h"

namespace heddle::base {
namespace {

using testing::ElementsAreArray;

TEST(Few, HoldsAsManyAsItIsGiven) {
  Few<int, 3> list;
  EXPECT_TRUE(list.empty());
  std::vector<int> want;
  for (int i = 0; i < 10; ++i) {
    list.push_back(i);
    want.push_back(i);
    EXPECT_THAT(list, ElementsAreArray(want));
    EXPECT_EQ(list[0], 0);
  }
  list.data()[9] = 7;
  EXPECT_EQ(list[9], 7);
}

TEST(Few, BeginsAnewWhenItIsCleared) {
  Few<int, 2> list;
  for (int i = 0; i < 5; ++i) list.push_back(i);
  list.clear();
  EXPECT_TRUE(list.empty());
  list.push_back(8);
  EXPECT_THAT(list, ElementsAre(8));
  const Few<int, 2> copy = list;
  list.push_back(9);
  list.push_back(10);
  EXPECT_THAT(copy, ElementsAre(8));
  EXPECT_THAT(list, ElementsAre(8, 9, 10));
}

TEST(Few, StaysWholeWhenItIsMovedFrom) {
  Few<int, 2> list;
  for (int i = 0; i < 3; ++i) list.push_back(i);
  const Few<int, 2> moved = std::move(list);
  EXPECT_THAT(moved, ElementsAre(0, 1, 2));
  EXPECT_THAT(list, ElementsAre(0, 1, 2));  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace heddle::base
