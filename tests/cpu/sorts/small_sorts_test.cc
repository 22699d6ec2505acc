// Sorts of a few elements, which are written as exchanges of neighbours.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr float kInf = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();

// JAX's order of f32: one zero, one NaN, total order.
constexpr const char* kJaxOrder = R"(
  nan = f32[] constant(nan) zero = f32[] constant(0)
  na = pred[] compare(a, a), direction=NE  za = pred[] compare(a, zero), direction=EQ
  sa = f32[] select(za, zero, a)  ka = f32[] select(na, nan, sa)
  nb = pred[] compare(b, b), direction=NE  zb = pred[] compare(b, zero), direction=EQ
  sb = f32[] select(zb, zero, b)  kb = f32[] select(nb, nan, sb)
  ROOT c = pred[] compare(ka, kb), direction=LT, type=TOTALORDER)";

// A sort of x alone, which has `shape`.
std::string sort_of(const std::string& type, const std::string& shape, int dimension,
                    const std::string& order) {
  return cat("HloModule m\nless { a = ", type, "[] parameter(0)\n  b = ", type, "[] parameter(1)\n",
             order, " }\nENTRY main {\n  x = ", type, shape, " parameter(0)\n  ROOT y = ", type,
             shape, " sort(x), dimensions={", dimension, "}, is_stable=true, to_apply=less }\n");
}

// The evaluator's bits, of these elements.
void expect_sorted_as_evaluated(const std::string& text, std::vector<float> elements) {
  const hlo::Module module = hlo::parse_text(text).value();
  const Literal x = Literal::from<float>(Shape(f32, {static_cast<int64_t>(elements.size())}),
                                         std::span<const float>(elements));
  const Literal want = interpreter::evaluate(module, {x}).value(), got = OnCpu(module).run({x});
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got.values<float>()[i]),
              std::bit_cast<uint32_t>(want.values<float>()[i]))
        << i << "\n"
        << text;
  }
}

TEST(CpuSmallSorts, OfEachLengthAndType) {
  for (const char* type : {"f32", "f64", "s32", "u8", "s64", "bf16"}) {
    for (const char* direction : {"LT", "GT"}) {
      for (int n = 1; n <= 14; ++n) {
        expect_as_evaluated(sort_of(type, cat("[", n, "]"), 0,
                                    cat("  ROOT c = pred[] compare(a, b), direction=", direction)));
      }
    }
  }
}

TEST(CpuSmallSorts, ADimensionAmongOthersOfSizeOne) {
  const std::string less = "  ROOT c = pred[] compare(a, b), direction=LT";
  expect_as_evaluated(sort_of("f32", "[1,5,1]", 1, less));
  expect_as_evaluated(sort_of("f32", "[1,5]", 0, less));  // rows of one
  expect_as_evaluated(sort_of("f32", "[3,5]", 1, less));
}

TEST(CpuSmallSorts, SpecialValuesKeepTheirBits) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const std::string& order :
       {std::string(kJaxOrder), std::string("  ROOT c = pred[] compare(a, b), direction=LT"),
        std::string("  ROOT c = pred[] compare(a, b), direction=GT"),
        std::string("  ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER")}) {
    expect_sorted_as_evaluated(sort_of("f32", "[8]", 0, order),
                               {kNan, 0.f, -0.f, kInf, -kNan, -1.f, -kInf, 1.f});
    expect_sorted_as_evaluated(sort_of("f32", "[5]", 0, order), {-0.f, 0.f, -0.f, 0.f, kNan});
  }
}

TEST(CpuSmallSorts, OperandsFollowTheirKeys) {
  // By y, then by x downwards; z follows. arguments_of() has equal elements.
  expect_as_evaluated(
      "HloModule m\nless { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
      "  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n  e = pred[] parameter(4)\n"
      "  f = pred[] parameter(5)\n  l = pred[] compare(c, d), direction=LT\n"
      "  q = pred[] compare(c, d), direction=EQ\n  g = pred[] compare(a, b), direction=GT\n"
      "  t = pred[] and(q, g)\n  ROOT r = pred[] or(l, t) }\nENTRY main {\n"
      "  x = s32[9] parameter(0)\n  y = f32[9] parameter(1)\n  z = pred[9] parameter(2)\n"
      "  ROOT s = (s32[9], f32[9], pred[9]) sort(x, y, z), dimensions={0}, is_stable=true, "
      "to_apply=less }\n");
}

TEST(CpuSmallSorts, CallNoKernel) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto plan = [](int n) {
    return stages_of(hlo::parse_text(sort_of("f32", cat("[", n, "]"), 0, kJaxOrder)).value())
        .value()
        .plan;
  };
  EXPECT_EQ(plan(12).find("kernel"), std::string::npos);
  EXPECT_EQ(plan(12).find("scatter"), std::string::npos);
  EXPECT_NE(plan(13).find("scatter"), std::string::npos) << "by ranks";
  EXPECT_NE(plan(129).find("kernel"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cpu
