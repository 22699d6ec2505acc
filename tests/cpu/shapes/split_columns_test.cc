// Arrays with a short last dimension that are split into their columns.
#include "heddle/cpu/rewrites/shapes/split_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr const char* kFolds =
    "HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b) }\ngreater { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] maximum(a, b) }\n";

// d[i,j] = x[j] - x[i], for n points of k numbers.
std::string differences(int n, int k) {
  const std::string wide = cat("f32[", n, ",", n, ",", k, "]");
  return cat("  x = f32[", n, ",", k, "] parameter(0)\n  zero = f32[] constant(0)\n  to = ", wide,
             " broadcast(x), dimensions={1,2}\n  from = ", wide,
             " broadcast(x), dimensions={0,2}\n  d = ", wide, " subtract(to, from)\n  q = ", wide,
             " multiply(d, d)\n");
}

bool is_split(const std::string& text) {
  return split_into_columns(hlo::parse_text(text).value()).value().has_value();
}

TEST(CpuColumns, PairsOfPoints) {
  for (const int k : {2, 3, 4, 7, 8}) {
    // The forces of all on each: a fold along the columns, one along the points, a broadcast back.
    const std::string text =
        cat(kFolds, "ENTRY main {\n", differences(40, k),
            "  r = f32[40,40] reduce(q, zero), dimensions={2}, to_apply=sum\n  w = f32[40,40,", k,
            "] broadcast(r), dimensions={0,1}\n  f = f32[40,40,", k,
            "] multiply(d, w)\n  ROOT s = f32[40,", k,
            "] reduce(f, zero), dimensions={1}, to_apply=sum }\n");
    EXPECT_TRUE(is_split(text)) << k;
    expect_as_evaluated(text, {.share = 1e-5});
  }
}

TEST(CpuColumns, FoldsAlongAllDimensionsAndWithAStart) {
  for (const char* dims : {"0,1,2", "0,2", "2", "0,1", "1"}) {
    const bool keeps_last = std::string_view(dims).find('2') == std::string_view::npos;
    const int64_t others = std::string_view(dims).find_first_of("01") == std::string_view::npos ? 2
                           : std::string_view(dims).starts_with("0,1")                          ? 0
                                                                                                : 1;
    std::string sizes;
    for (int64_t i = 0; i < others; ++i) sizes += i == 0 ? "40" : ",40";
    if (keeps_last) sizes += others > 0 ? ",3" : "3";
    for (const char* fold : {"sum", "greater"}) {
      expect_as_evaluated(
          cat(kFolds, "ENTRY main {\n", differences(40, 3),
              "  start = f32[] constant(7)\n  ROOT s = f32[", sizes,
              "] reduce(q, start), dimensions={", dims, "}, to_apply=", fold, " }\n"),
          {.share = 1e-5});
    }
  }
}

TEST(CpuColumns, WholeArraysThatOthersRead) {
  // d is a result too; a scalar chooses; numbers of places along the last dimension.
  expect_as_evaluated(
      cat(kFolds, "ENTRY main {\n", differences(40, 3),
          "  i = s32[40,40,3] iota(), iota_dimension=2\n  y = f32[40,40,3] convert(i)\n"
          "  t = pred[] parameter(1)\n  e = f32[40,40,3] select(t, y, q)\n"
          "  m = f32[40,40,3] maximum(e, d)\n  r = f32[40,40] reduce(m, zero), dimensions={2}, "
          "to_apply=sum\n  v = f32[1600,3] reshape(d)\n  g = f32[3] reduce(v, zero), "
          "dimensions={0}, to_apply=greater\n  ROOT o = (f32[40,40], f32[40,40,3], f32[3]) "
          "tuple(r, d, g) }\n"),
      {.share = 1e-5});
}

// Its elements are computed once each: flat vectors are as good.
TEST(CpuColumns, AChainOfElementwiseOpsStays) {
  EXPECT_FALSE(is_split(cat(kFolds,
                            "ENTRY main {\n  x = f32[4000,3] parameter(0)\n  y = f32[4000,3] "
                            "exponential(x)\n  z = f32[4000,3] multiply(y, x)\n  ROOT r = "
                            "f32[4000,3] add(z, y) }\n")));
  EXPECT_FALSE(is_split(cat(kFolds, "ENTRY main {\n", differences(40, 16),
                            "  ROOT r = f32[40,40] reduce(q, zero), dimensions={2}, "
                            "to_apply=sum }\n")))
      << "a vector is full";
}

}  // namespace
}  // namespace heddle::cpu
