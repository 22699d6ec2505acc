// Random bits as loops: bit for bit those of the evaluator, and the state that comes back.
#include <gtest/gtest.h>

#include <cstring>
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

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

void expect_bits(const std::string& algorithm, const std::vector<uint64_t>& state,
                 const std::string& bits) {
  SCOPED_TRACE(cat(algorithm, " ", bits, " from ", state[0], ",", state[1]));
  const std::string type = cat("u64[", state.size(), "]");
  auto module =
      hlo::parse_text(cat("HloModule m\nENTRY e { s = ", type, " parameter(0)\n ROOT r = (", type,
                          ", ", bits, ") rng-bit-generator(s), algorithm=rng_", algorithm, " }"));
  ASSERT_TRUE(module.ok()) << module.status();
  const Shape shape(u64, {static_cast<int64_t>(state.size())});
  const std::vector<Literal> arguments = {Literal::from<uint64_t>(shape, state)};
  const auto want = interpreter::evaluate(*module, arguments);
  ASSERT_TRUE(want.ok()) << want.status();
  const Literal got = OnCpu(*module).run(arguments);
  EXPECT_EQ(difference(got.element(0), want->element(0)), "");
  // As integers: a NaN has bits too.
  const Literal &a = got.element(1), &b = want->element(1);
  ASSERT_EQ(a.byte_size(), b.byte_size());
  EXPECT_EQ(std::memcmp(a.bytes(), b.bytes(), static_cast<size_t>(a.byte_size())), 0);
}

class CpuRandomBits : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuRandomBits, OfEveryTypeAndShape) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* type : {"u32", "u64", "u8", "s16", "s32", "s64", "f32", "f64", "bf16"}) {
    for (const char* sizes :
         {"", "1", "2", "7", "64", "1001", "3,5", "5,4", "2,3,70", "9,3,130", "3,6,5", "0", "4,0"})
      expect_bits(GetParam(), {0x123456789abcdef0, 77}, cat(type, "[", sizes, "]"));
  }
}

// The counter passes the end of each of its words.
TEST_P(CpuRandomBits, OfCountersThatCarry) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const uint64_t low : {uint64_t{0xfffffff0}, kMost - 5, kMost}) {
    for (const char* type : {"u32", "u64"}) {
      expect_bits(GetParam(), {kMost, low}, cat(type, "[100]"));
      if (GetParam() != "philox") continue;
      expect_bits("philox", {3, low, kMost - 1}, cat(type, "[100]"));
      expect_bits("philox", {3, low, 0xffffffff}, cat(type, "[3,7]"));
    }
  }
}

TEST_P(CpuRandomBits, AreNoCall) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto module =
      hlo::parse_text(cat("HloModule m\nENTRY e { s = u64[2] parameter(0)\n ROOT r = (u64[2], "
                          "u16[6,50]) rng-bit-generator(s), algorithm=rng_",
                          GetParam(), " }"));
  ASSERT_TRUE(module.ok()) << module.status();
  const auto stages = stages_of(*module);
  ASSERT_TRUE(stages.ok()) << stages.status();
  EXPECT_EQ(stages->plan.find("kernel"), std::string::npos) << stages->plan;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CpuRandomBits,
                         ::testing::Values("three_fry", "philox", "default"));

// As a program uses them: the state goes round in a loop.
TEST(CpuRandomBitsOf, ALoop) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* algorithm : {"three_fry", "philox"}) {
    expect_as_evaluated(cat("HloModule m\n",
                            "cond { s = (s32[], u64[2], u32[96]) parameter(0)\n"
                            " i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)\n"
                            " ROOT r = pred[] compare(i, n), direction=LT }\n"
                            "body { s = (s32[], u64[2], u32[96]) parameter(0)\n"
                            " i = s32[] get-tuple-element(s), index=0\n"
                            " c = u64[2] get-tuple-element(s), index=1\n"
                            " x = u32[96] get-tuple-element(s), index=2\n"
                            " one = s32[] constant(1)\n j = s32[] add(i, one)\n"
                            " g = (u64[2], u32[96]) rng-bit-generator(c), algorithm=rng_",
                            algorithm,
                            "\n d = u64[2] get-tuple-element(g), index=0\n"
                            " b = u32[96] get-tuple-element(g), index=1\n"
                            " y = u32[96] xor(x, b)\n"
                            " ROOT r = (s32[], u64[2], u32[96]) tuple(j, d, y) }\n"
                            "ENTRY e { i = s32[] constant(0)\n c = u64[2] parameter(0)\n"
                            " x = u32[96] parameter(1)\n"
                            " s = (s32[], u64[2], u32[96]) tuple(i, c, x)\n"
                            " ROOT w = (s32[], u64[2], u32[96]) while(s), condition=cond,"
                            " body=body }\n"));
  }
}

}  // namespace
}  // namespace heddle::cpu
