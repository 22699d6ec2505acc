// Rows of few elements that change places: they are shuffled of what lies side by side.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

void expect_moved(const std::string& type, int width, const std::string& result,
                  const std::string& move) {
  expect_as_evaluated(cat("HloModule m\nENTRY e {\n x = ", type, "[3,70,", width,
                          "] parameter(0)\n ROOT y = ", type, result, " ", move, "\n}\n"));
}

TEST(MovedRows, AreReversedAndSkipped) {
  for (const char* type : {"f32", "f64", "bf16", "u8", "s16", "pred"}) {
    for (const int width : {2, 3, 4, 5, 7, 8}) {
      expect_moved(type, width, cat("[3,70,", width, "]"), "reverse(x), dimensions={1}");
      expect_moved(type, width, cat("[3,70,", width, "]"), "reverse(x), dimensions={1,2}");
      expect_moved(type, width, cat("[3,35,", width, "]"),
                   cat("slice(x), slice={[0:3], [0:70:2], [0:", width, "]}"));
      expect_moved(type, width, cat("[3,23,", width, "]"),
                   cat("slice(x), slice={[0:3], [1:70:3], [0:", width, "]}"));
      expect_moved(type, width, cat("[3,66,", width - 1, "]"),
                   cat("slice(x), slice={[0:3], [2:68], [1:", width, "]}"));
    }
  }
}

TEST(MovedRows, OfSlicesAreReversed) {
  for (const int width : {2, 3, 5}) {
    expect_as_evaluated(
        cat("HloModule m\nENTRY e {\n x = f32[3,70,", width, "] parameter(0)\n s = f32[3,33,",
            width, "] slice(x), slice={[0:3], [3:69:2], [0:", width, "]}\n r = f32[3,33,", width,
            "] reverse(s), dimensions={1}\n ROOT y = f32[3,33,", width, "] add(r, r)\n}\n"));
  }
}

}  // namespace
}  // namespace heddle::cpu
