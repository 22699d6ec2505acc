// Folds of several operands along their elements, which go in pairs: the place of the least element
// is the first of several, and that of the first NaN.
#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The least element and its place, as JAX writes argmin; `made` makes the elements y of x.
std::string least_of(std::string_view type, int64_t size, std::string_view made) {
  return cat("HloModule m\nleast { a = ", type,
             "[] parameter(0)\n  i = s32[] parameter(1)\n  b = ", type, R"([] parameter(2)
  j = s32[] parameter(3)
  below = pred[] compare(a, b), direction=LT
  nan = pred[] compare(a, a), direction=NE
  first = pred[] or(below, nan)
  v = )",
             type, R"([] select(first, a, b)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  kept = pred[] or(first, tie)
  k = s32[] select(kept, i, j)
  ROOT r = ()",
             type, "[], s32[]) tuple(v, k) }\nENTRY e { x = ", type, "[", size, "] parameter(0)\n",
             made, "  i = s32[", size, "] iota(), iota_dimension=0\n  most = ", type,
             "[] constant(100)\n  z = s32[] constant(0)\n  ROOT r = (", type,
             "[], s32[]) reduce(y, i, most, z), dimensions={0}, to_apply=least }");
}

TEST(PairedFolds, TheFirstPlaceOfTheLeastIsFoundAtAllSizes) {
  for (int64_t size : {7, 8, 9, 15, 16, 17, 31, 40, 63, 64, 65, 127, 128, 200, 333}) {
    SCOPED_TRACE(size);
    for (const char* type : {"f32", "f64", "s32", "s8", "f16"})
      expect_as_evaluated(least_of(type, size, cat("  y = ", type, "[", size, "] negate(x)\n")));
  }
}

TEST(PairedFolds, TheFirstNaNIsFound) {
  for (int64_t size : {8, 16, 24, 64, 100, 200}) {
    SCOPED_TRACE(size);
    expect_as_evaluated(least_of("f32", size, cat("  y = f32[", size, "] sqrt(x)\n")));
    // From some place on, all are.
    expect_as_evaluated(
        least_of("f32", size,
                 cat("  n = f32[", size, "] iota(), iota_dimension=0\n  c = f32[] ", "constant(",
                     size / 2, ")\n  cs = f32[", size, "] broadcast(c), dimensions={}\n  d = f32[",
                     size, "] subtract(cs, n)\n  y = f32[", size, "] sqrt(d)\n")));
  }
}

}  // namespace
}  // namespace heddle::cpu
