// Parts of complex arrays that are multiplied where they lie.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// x[6,5] with its row, columns or element at `index` multiplied. The index is no constant at first.
std::string multiplied(const std::string& type, const std::string& index_type,
                       const std::string& index, const std::string& updates,
                       const std::string& dims) {
  const std::string indices = cat(index_type, index.find(',') == std::string::npos ? "[1]" : "[2]");
  return cat("HloModule m\nby { a = ", type, "[] parameter(0)\n b = ", type,
             "[] parameter(1)\n ROOT c = ", type, "[] multiply(a, b) }\nENTRY main {\n x = ", type,
             "[6,5] parameter(0)\n u = ", type, updates, " parameter(1)\n k = ", indices,
             " constant({", index, "})\n at = ", indices, " maximum(k, k)\n ROOT y = ", type,
             "[6,5] scatter(x, at, u), ", dims, ", to_apply=by }");
}

constexpr const char* kRow =
    "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=0";
constexpr const char* kColumns =
    "update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={1}, "
    "index_vector_dim=0";
constexpr const char* kElement =
    "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, "
    "index_vector_dim=0";

TEST(ComplexUpdates, OfOneWindow) {
  for (const char* type : {"c64", "c128", "f32"}) {
    for (const char* index_type : {"s32", "s64", "s8"}) {
      for (const char* at : {"0", "3", "5", "6", "-1", "100"})
        expect_as_evaluated(multiplied(type, index_type, at, "[5]", kRow), {.share = 1e-6});
      for (const char* at : {"0", "3", "4", "-2"})  // of two columns
        expect_as_evaluated(multiplied(type, index_type, at, "[6,2]", kColumns), {.share = 1e-6});
      for (const char* at : {"0,0", "5,4", "5,5", "-1,2", "6,0"})
        expect_as_evaluated(multiplied(type, index_type, at, "[]", kElement), {.share = 1e-6});
    }
    expect_as_evaluated(multiplied(type, "u32", "4294967295", "[5]", kRow), {.share = 1e-6});
  }
}

// Products of many at one place, the greatest by their real parts, and a function of both.
TEST(ComplexUpdates, OfManyWindowsAndByAnyFunction) {
  const auto scattered = [](const std::string& type, const std::string& by) {
    return cat("HloModule m\nby { a = ", type, "[] parameter(0)\n b = ", type, "[] parameter(1)\n",
               by, " }\nENTRY main {\n x = ", type, "[6,5] parameter(0)\n u = ", type,
               "[8,5] parameter(1)\n k = s32[8] constant({0,2,2,5,-1,6,2,0})\n ROOT y = ", type,
               "[6,5] scatter(x, k, u), update_window_dims={1}, inserted_window_dims={0}, "
               "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=by }");
  };
  for (const auto& [type, part] : {std::pair("c64", "f32"), {"c128", "f64"}}) {
    const std::string functions[] = {
        cat(" ROOT c = ", type, "[] multiply(a, b)"),
        cat(" p = ", part, "[] real(a)\n q = ", part,
            "[] real(b)\n g = pred[] compare(p, q), direction=GT\n ROOT c = ", type,
            "[] select(g, a, b)"),
        cat(" p = ", type, "[] multiply(a, b)\n ROOT c = ", type, "[] add(p, b)"),
    };
    for (const std::string& by : functions) {
      const std::string text = scattered(type, by);
      expect_as_evaluated(text, {.share = 1e-5});
      const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
      EXPECT_EQ(plan.find("kernel"), std::string::npos) << plan;
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
