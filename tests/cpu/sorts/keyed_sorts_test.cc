// Sorts of long rows, along any dimension, of narrow types, and of which few elements are read.
#include "heddle/cpu/rewrites/sorts/keyed_sorts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

const std::string kLess = "  ROOT c = pred[] compare(a, b), direction=LT";
const std::string kGreater = "  ROOT c = pred[] compare(a, b), direction=GT";
const std::string kTotal = "  ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER";

std::string less_of(const std::string& type, const std::string& order) {
  return cat("less { a = ", type, "[] parameter(0)\n  b = ", type, "[] parameter(1)\n", order,
             " }\n");
}

std::string sort_of(const std::string& type, const std::string& shape, int dimension,
                    const std::string& order) {
  return cat("HloModule m\n", less_of(type, order), "ENTRY main {\n  x = ", type, shape,
             " parameter(0)\n  ROOT y = ", type, shape, " sort(x), dimensions={", dimension,
             "}, is_stable=true, to_apply=less }\n");
}

// x in the order of the keys, of which elements are equal.
std::string pairs_of(const std::string& type, const std::string& shape, const std::string& order,
                     const std::string& rest) {
  return cat("HloModule m\nless { a = ", type, "[] parameter(0)\n  b = ", type,
             "[] parameter(1)\n  d = s32[] parameter(2)\n  e = s32[] parameter(3)\n", order,
             " }\nENTRY main {\n  k = s32", shape, " parameter(0)\n  few = s32[] constant(50)\n",
             "  fews = s32", shape, " broadcast(few), dimensions={}\n  r = s32", shape,
             " remainder(k, fews)\n  x = ", type, shape, " convert(r)\n  i = s32", shape,
             " iota(), iota_dimension=1\n  s = (", type, shape, ", s32", shape,
             ") sort(x, i), dimensions={1}, is_stable=true, to_apply=less\n", rest, " }\n");
}

int64_t count(const std::string& text, hlo::Opcode opcode) {
  const hlo::Module keyed = key_sorts(hlo::parse_text(text).value()).value();
  return std::ranges::count(keyed.entry_computation().instructions, opcode,
                            &hlo::Instruction::opcode);
}

TEST(CpuKeyedSorts, OfEachLengthAndType) {
  for (const char* type : {"f32", "f64", "bf16", "f16", "s8", "u8", "s16", "u16", "s32", "u32",
                           "s64", "u64", "pred"}) {
    for (const int n : {2, 9, 20, 129, 300, 1000}) {
      SCOPED_TRACE(cat(type, " ", n));
      for (const std::string& order : {kLess, kGreater})
        expect_as_evaluated(sort_of(type, cat("[3,", n, "]"), 1, order));
    }
  }
  expect_as_evaluated(sort_of("f32", "[2,400]", 1, kTotal));
  expect_as_evaluated(sort_of("s32", "[20000]", 0, kLess));
  expect_as_evaluated(sort_of("f64", "[20000]", 0, kGreater));
}

TEST(CpuKeyedSorts, AlongOtherDimensions) {
  for (const char* type : {"f32", "u8", "s16"}) {
    for (const int n : {2, 9, 20, 129, 300}) {
      SCOPED_TRACE(cat(type, " ", n));
      expect_as_evaluated(sort_of(type, cat("[", n, ",5]"), 0, kLess));
      expect_as_evaluated(sort_of(type, cat("[3,", n, ",5]"), 1, kGreater));
    }
  }
}

TEST(CpuKeyedSorts, OperandsFollowTheirKeys) {
  for (const char* type : {"f32", "s64", "u16"}) {
    for (const std::string& order : {kLess, kGreater}) {
      for (const int n : {140, 700}) {
        SCOPED_TRACE(cat(type, " ", n));
        expect_as_evaluated(
            pairs_of(type, cat("[4,", n, "]"), order,
                     cat("  ROOT t = (", type, "[4,", n, "], s32[4,", n, "]) copy(s)")));
      }
    }
  }
}

TEST(CpuKeyedSorts, FirstElementsArePicked) {
  const std::string rest =
      "  y = TYPE[4,300] get-tuple-element(s), index=0\n"
      "  j = s32[4,300] get-tuple-element(s), index=1\n"
      "  first = TYPE[4,9] slice(y), slice={[0:4], [0:9]}\n"
      "  places = s32[4,5] slice(j), slice={[0:4], [0:5]}\n"
      "  ROOT t = (TYPE[4,9], s32[4,5]) tuple(first, places)";
  for (const std::string type : {"f32", "s32", "u8"}) {
    std::string text = rest;
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
    for (const std::string& order : {kLess, kGreater}) {
      const std::string module = pairs_of(type, "[4,300]", order, text);
      EXPECT_GE(count(module, hlo::Opcode::kTopK), 1) << module;
      expect_as_evaluated(module);
    }
  }
  EXPECT_EQ(count(pairs_of("f32", "[4,300]", kLess,
                           "  y = f32[4,300] get-tuple-element(s), index=0\n"
                           "  ROOT last = f32[4,9] slice(y), slice={[0:4], [291:300]}"),
                  hlo::Opcode::kTopK),
            0)
      << "the last ones";
  EXPECT_EQ(count(pairs_of("f32", "[4,300]", kLess,
                           "  y = f32[4,300] get-tuple-element(s), index=0\n"
                           "  ROOT many = f32[4,200] slice(y), slice={[0:4], [0:200]}"),
                  hlo::Opcode::kTopK),
            0)
      << "many";
}

}  // namespace
}  // namespace heddle::cpu
