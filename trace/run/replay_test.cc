#include "heddle/trace/run/replay.h"

#include <gtest/gtest.h>

namespace heddle::trace_internal {
namespace {

// Places are hashes, so that any of them may meet in one row of the table.
TEST(LastOfPlace, PlacesOfOneRowDoNotTakeEachOthersSlot) {
  auto* table = LastOfPlace<int>::of_thread();
  constexpr uint64_t kRow = 1024;
  for (uint64_t turn = 1; turn <= 3; ++turn) {
    for (uint64_t k = 1; k <= 4; ++k) {
      if (turn > 1) {
        ASSERT_TRUE(table->at(7 + k * kRow)) << k;
        EXPECT_EQ(*table->at(7 + k * kRow), static_cast<int>(10 * (turn - 1) + k));
      }
      table->keep(7 + k * kRow, static_cast<int>(10 * turn + k));
    }
  }
  table->keep(7 + 5 * kRow, 5);
  EXPECT_EQ(*table->at(7 + 5 * kRow), 5);
  EXPECT_FALSE(table->at(7 + kRow)) << "the one that was kept first";
  EXPECT_EQ(*table->at(7 + 4 * kRow), 34);
}

// A table holds kMaxHeld instructions at most: four entries of one place count as the largest.
TEST(LastOfPlace, AllGoesOnceTheyAreTooLarge) {
  struct Entry {
    size_t instruction_count() const { return size; }
    size_t size;
  };
  using Table = LastOfPlace<Entry, 4>;
  Table table;
  constexpr size_t kSize = kMaxHeld / 4 / 8;
  for (uint64_t turn = 0; turn < 10; ++turn) {  // a place's slot is counted once
    for (uint64_t place = 1; place <= 8; ++place) table.keep(place, {kSize});
  }
  EXPECT_TRUE(table.at(1));
  EXPECT_TRUE(table.at(8));
  table.keep(9, {kSize});
  EXPECT_FALSE(table.at(1));
  EXPECT_FALSE(table.at(9));
  for (uint64_t place = 1; place <= 8; ++place) table.keep(place, {kSize});
  EXPECT_TRUE(table.at(1));
  EXPECT_TRUE(table.at(8));
}

TEST(LastOfPlace, NothingIsLeftOnceRecordingsAreForgotten) {
  auto* table = LastOfPlace<int>::of_thread();
  table->keep(3, 1);
  forget_recordings();
  EXPECT_FALSE(table->at(3));
  table->keep(3, 2);
  EXPECT_EQ(*table->at(3), 2);
}

}  // namespace
}  // namespace heddle::trace_internal
