#include "heddle/placeholder/placeholder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace heddle {
namespace {

Placeholder weights() {
  return {
      .id = 12, .shape = Shape(DType::kBF16, {126, 16384, 53248}), .where = {"app/train.cc", 41}};
}

TEST(ValueId, Grows) {
  const ValueId first = next_value_id();
  EXPECT_GE(first, 1u);
  EXPECT_GT(next_value_id(), first);
}

TEST(ValueId, IsNeverHandedOutTwiceAcrossThreads) {
  constexpr size_t kThreads = 4, kEach = 10000;
  std::vector<ValueId> ids(kThreads * kEach);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ids, t] {
      for (size_t i = 0; i < kEach; ++i) ids[t * kEach + i] = next_value_id();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST(ValueState, FourStatesHaveFourNames) {
  EXPECT_EQ(to_string(ValueState::kPlaceholder), "placeholder");
  EXPECT_EQ(to_string(ValueState::kPending), "pending");
  EXPECT_EQ(to_string(ValueState::kReady), "ready");
  EXPECT_EQ(to_string(ValueState::kDonated), "donated");
}

TEST(Placeholder, PrintsIdTypeAndLine) {
  EXPECT_EQ(to_string(weights()), "placeholder #12 bf16[126,16384,53248] made at train.cc:41");
}

TEST(Placeholder, PrintsNoLineWhereNoneIsKnown) {
  EXPECT_EQ(to_string(Placeholder{.id = 3, .shape = Shape::scalar(DType::kF32)}),
            "placeholder #3 f32[]");
}

TEST(Placeholder, ReadingNamesItAndTheRepair) {
  const Status error = read_error(weights());
  EXPECT_EQ(error.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(base::message_of(error),
            "read: placeholder #12 bf16[126,16384,53248] made at train.cc:41 has a type and no "
            "value; run a program that "
            "takes it with a buffer bound to it, or make the tensor from host data");
}

}  // namespace
}  // namespace heddle
