// Transposes of many small matrices.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string transpose(std::string_view type, std::string_view from, std::string_view to,
                      std::string_view dims) {
  return cat("HloModule m\nENTRY e { x = ", type, "[", from, "] parameter(0)\n ROOT t = ", type,
             "[", to, "] transpose(x), dimensions={", dims, "} }");
}

TEST(TurnedBlocks, OfEachSizeAndType) {
  for (const int rows : {2, 3, 5, 8, 20}) {
    for (const int columns : {2, 3, 4, 9}) {
      for (const int count : {1, 5, 33}) {
        for (const char* type : {"f32", "f64"}) {
          const std::string text = transpose(type, cat(count, ",", rows, ",", columns),
                                             cat(count, ",", columns, ",", rows), "0,2,1");
          SCOPED_TRACE(text);
          expect_as_evaluated(text);
        }
      }
    }
  }
  for (const char* type : {"s32", "u64", "f16", "s8", "pred", "c64"})
    expect_as_evaluated(transpose(type, "17,4,5", "17,5,4", "0,2,1"));
}

TEST(TurnedBlocks, OfMoreDimensions) {
  for (const char* type : {"f32", "f64"}) {
    expect_as_evaluated(transpose(type, "7,2,3,4", "7,4,2,3", "0,3,1,2"));
    expect_as_evaluated(transpose(type, "7,2,3,4", "7,4,3,2", "0,3,2,1"));
    expect_as_evaluated(transpose(type, "5,6,2,2", "5,6,2,2", "0,1,3,2"));
    expect_as_evaluated(transpose(type, "5,6,2,1,3", "5,6,3,2,1", "0,1,4,2,3"));
    expect_as_evaluated(transpose(type, "6,5", "5,6", "1,0"));
    expect_as_evaluated(transpose(type, "0,4,4", "0,4,4", "0,2,1"));
  }
}

// A block of one element stays where it is.
TEST(TurnedBlocks, OfOneElement) {
  for (const int count : {1, 5, 16, 17, 33, 65}) {
    for (const char* type : {"f32", "f64", "s32", "c64", "bf16", "pred"}) {
      const std::string sizes = cat(count, ",1,1"), more = cat("1,", count, ",1,1");
      expect_as_evaluated(transpose(type, sizes, sizes, "0,2,1"));
      expect_as_evaluated(transpose(type, more, more, "0,1,3,2"));
      expect_as_evaluated(transpose(type, more, cat(count, ",1,1,1"), "1,3,0,2"));
    }
  }
}

// P + P^T, and a transpose of what is computed.
TEST(TurnedBlocks, InSumsAndLoops) {
  for (const int n : {2, 4, 6, 8, 10, 13}) {
    const std::string type = cat("f32[33,", n, ",", n, "]");
    SCOPED_TRACE(type);
    expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", type, " parameter(0)\n t = ", type,
                            " transpose(x), dimensions={0,2,1}\n ROOT y = ", type, " add(x, t) }"));
    expect_as_evaluated(
        cat("HloModule m\nENTRY e { x = ", type, " parameter(0)\n e = ", type,
            " exponential(x)\n t = ", type, " transpose(e), dimensions={0,2,1}\n ROOT y = (", type,
            ", ", type, ") tuple(e, t) }"),
        {.ulp = 4});
  }
}

}  // namespace
}  // namespace heddle::cpu
