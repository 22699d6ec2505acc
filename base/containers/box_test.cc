#include "heddle/base/containers/box.h"

#include <thread>

#include "heddle/base/support_test.h"

namespace heddle::base {
namespace {

TEST(Box, CopiesShareTheValueUntilOneIsWrittenTo) {
  Box<std::vector<int>> box({1, 2});
  const Box<std::vector<int>> copy = box;
  EXPECT_EQ(&copy.get(), &box.get());
  box.mutate()[0] = 7;
  EXPECT_THAT(*box, ElementsAre(7, 2));
  EXPECT_THAT(*copy, ElementsAre(1, 2));
  const std::vector<int>* own = &box.get();
  EXPECT_EQ(&box.mutate(), own);
}

TEST(Box, OfNothingReadsAsAnEmptyValue) {
  const Box<std::vector<int>> box;
  EXPECT_FALSE(box.has_value());
  EXPECT_TRUE(box->empty());
}

// A thread sanitizer sees a write that does not wait for the reads of a copy that is gone.
TEST(Box, IsWrittenToAfterTheReadsOfACopyThatIsGone) {
  Box<std::vector<int>> box({1, 2});
  int sum = 0;
  std::thread reader([copy = box, &sum] { sum = copy->at(0) + copy->at(1); });
  for (int i = 0; i < 1000; ++i) box.mutate()[0] = i;
  reader.join();
  EXPECT_EQ(sum, 3);
  EXPECT_THAT(*box, ElementsAre(999, 2));
}

}  // namespace
}  // namespace heddle::base
