#include "heddle/codegen/jit/aarch64.h"

#include <gtest/gtest.h>

namespace heddle::cpu::aarch64 {
namespace {

// The words are what GNU as makes of the instruction beside them.
TEST(Aarch64, BranchesReachInstructions) {
  EXPECT_EQ(with_branch(0x94000000, 0, 8), 0x94000002U);          // bl .+8
  EXPECT_EQ(with_branch(0x94000000, 0x1000, 0), 0x97fffc00U);     // bl .-4096
  EXPECT_EQ(with_branch(0x17ffffff, 4, 4), 0x14000000U);          // b ., over another distance
  EXPECT_EQ(with_branch(0x14000000, 0, 0x7fffffc), 0x15ffffffU);  // the farthest
  EXPECT_EQ(with_branch(0x14000000, 0x8000000, 0), 0x16000000U);
  EXPECT_EQ(with_branch(0x14000000, 0, 0x8000000), std::nullopt);
  EXPECT_EQ(with_branch(0x14000000, 0x8000004, 0), std::nullopt);
  EXPECT_EQ(with_branch(0x14000000, 0, 6), std::nullopt);
}

TEST(Aarch64, PagesAreCountedFromThatOfTheInstruction) {
  EXPECT_EQ(with_page(0x90000000, 0x0ffc, 0x0ff0), 0x90000000U);  // adrp x0, the same
  EXPECT_EQ(with_page(0x90000000, 0x0ffc, 0x1000), 0xb0000000U);  // adrp x0, the next
  EXPECT_EQ(with_page(0x90000010, 0x0004, 0x5008), 0xb0000030U);  // adrp x16, 5 later
  EXPECT_EQ(with_page(0x90000001, 0x1000, 0x0ff8), 0xf0ffffe1U);  // adrp x1, the one before
  EXPECT_EQ(with_page(0xf0ffffe1, 0x1000, 0x1000), 0x90000001U);  // over another distance
  EXPECT_EQ(with_page(0x90000000, 0, int64_t{1} << 32), std::nullopt);
  EXPECT_EQ(with_page(0x90000000, 0, (int64_t{1} << 32) - 1), 0xf07fffe0U);
}

TEST(Aarch64, OffsetsAreInUnitsOfWhatIsLoaded) {
  EXPECT_EQ(with_offset(0x91000000, 0x12345, 0), 0x910d1400U);  // add x0, x0, #0x345
  EXPECT_EQ(with_offset(0xf9400210, 0x2008, 3), 0xf9400610U);   // ldr x16, [x16, #8]
  EXPECT_EQ(with_offset(0x3dc00000, 0x1ff0, 4), 0x3dc3fc00U);   // ldr q0, [x0, #4080]
  EXPECT_EQ(with_offset(0xbd7ffc00, 0x0004, 2), 0xbd400400U);   // ldr s0, [x0, #4], over another
  EXPECT_EQ(with_offset(0xf9400210, 0x2004, 3), std::nullopt);
}

}  // namespace
}  // namespace heddle::cpu::aarch64
