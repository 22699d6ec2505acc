// Folds of one value many times.
#include "heddle/cpu/rewrites/folds/repeated_values.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string fold(const std::string& op, const std::string& dtype, const std::string& lines) {
  return cat("HloModule m\nfold { a = ", dtype, "[] parameter(0)\n b = ", dtype,
             "[] parameter(1)\n ROOT c = ", dtype, "[] ", op, "(a, b) }\nENTRY e {\n x = ", dtype,
             "[5,7] parameter(0)\n start = ", dtype, "[] parameter(1)\n", lines, "}\n");
}

bool is_found(const std::string& text) {
  return fold_repeated(hlo::parse_text(text).value()).value().has_value();
}

TEST(CpuRepeatedValues, AreSummedByAProduct) {
  for (const char* dtype : {"f32", "f64", "s32", "u64"}) {
    for (const char* op : {"add", "maximum", "minimum"}) {
      for (const char* dims : {"0", "2", "0,2"}) {
        const std::string sizes = std::string(dims) == "0"   ? "[5,4,7]"
                                  : std::string(dims) == "2" ? "[3,5,7]"
                                                             : "[5,7]";
        const std::string text =
            fold(op, dtype,
                 cat(" b = ", dtype, "[3,5,4,7] broadcast(x), dimensions={1,3}\n ROOT r = ", dtype,
                     sizes, " reduce(b, start), dimensions={", dims, "}, to_apply=fold\n"));
        EXPECT_TRUE(is_found(text)) << text;
        expect_as_evaluated(text, {.share = 1e-6});
      }
    }
  }
}

// Of one place: the computation of the fold is called, and it may call another one.
TEST(CpuRepeatedValues, AFoldOverOnePlaceIsItsOperation) {
  for (const char* root : {"add(a, b)", "subtract(b, a)", "call(a, b), to_apply=sum"}) {
    expect_as_evaluated(
        cat("HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
            " ROOT c = f32[] add(a, b) }\nfold { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
            " ROOT c = f32[] ",
            root,
            " }\nENTRY e {\n x = f32[5,1,7] parameter(0)\n"
            " start = f32[] parameter(1)\n ROOT r = f32[5,7] reduce(x, start), dimensions={1},"
            " to_apply=fold\n}"));
  }
}

TEST(CpuRepeatedValues, StayWhereSomeDiffer) {
  const auto found = [](const char* op, const char* dtype, const std::string& sizes,
                        const std::string& dims, const std::string& result) {
    return is_found(
        fold(op, dtype,
             cat(" b = ", dtype, sizes, " broadcast(x), dimensions={1,2}\n", " ROOT r = ", dtype,
                 result, " reduce(b, start), dimensions={", dims, "}, to_apply=fold\n")));
  };
  EXPECT_TRUE(found("add", "f32", "[3,5,7]", "0", "[5,7]"));
  EXPECT_FALSE(found("add", "f32", "[3,5,7]", "0,1", "[7]"));
  EXPECT_FALSE(found("add", "bf16", "[3,5,7]", "0", "[5,7]"));  // 3000 is none
  EXPECT_FALSE(found("multiply", "f32", "[3,5,7]", "0", "[5,7]"));
  // The fold adds in another type.
  EXPECT_FALSE(
      is_found("HloModule m\nfold { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = "
               "f32[] add(a, b)"
               " }\nENTRY e {\n x = bf16[5] parameter(0)\n z = f32[] constant(0)\n b = bf16[3001,5]"
               " broadcast(x), dimensions={1}\n ROOT r = f32[5] reduce(b, z), dimensions={0}, "
               "to_apply=fold\n}"));
  EXPECT_FALSE(found("add", "f32", "[0,5,7]", "0", "[5,7]"));  // nothing, of an infinity too
}

}  // namespace
}  // namespace heddle::cpu
