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

struct Long {
  size_t instruction_count() const { return size; }
  size_t size;
};

TEST(LastOfPlace, LongOnesGoWhereTheyAreTooMany) {
  LastOfPlace<Long, 4> table;
  table.keep(100, {1});
  constexpr size_t kSize = kMaxHeld / 8;
  for (uint64_t turn = 0; turn < 9; ++turn) {  // what a place lets go is no longer counted
    for (uint64_t place = 1; place <= 2; ++place) table.keep(place, {kSize - turn});
    EXPECT_TRUE(table.at(1)) << turn;
  }
  for (uint64_t turn = 0; turn < 4; ++turn) table.keep(1, {2});
  table.keep(3, {kSize});
  table.keep(4, {kSize});
  for (uint64_t place = 1; place <= 4; ++place) EXPECT_TRUE(table.at(place)) << place;
  table.keep(5, {3 * kSize});
  EXPECT_FALSE(table.at(2)) << "the largest but the new one";
  for (uint64_t place : {1, 3, 4, 5, 100}) EXPECT_TRUE(table.at(place)) << place;
}

TEST(LastOfPlace, ASlotThatAnotherPlaceTakesIsNotCounted) {
  LastOfPlace<Long> table;
  table.keep(1, {5});
  for (uint64_t k = 1; k <= 200; ++k) table.keep(7 + k * 1024, {kMaxHeld / 5});
  EXPECT_TRUE(table.at(1));
  EXPECT_TRUE(table.at(7 + 197 * 1024));
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
