#include "heddle/cpu/rewrites/loops/early_reads.h"

#include <gmock/gmock.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"

namespace heddle::cpu {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A loop whose state is (s32[], f32[n,n], f32[n]), with these lines in its body after i, s, r.
hlo::Module loop(const std::string& lines, const std::string& results) {
  const std::string state = "(s32[], f32[40,40], f32[40])";
  return hlo::parse_text(
             base::cat("HloModule m\nmore { p = ", state,
                       " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] "
                       "constant(9)\n ROOT l = pred[] compare(i, n), direction=LT }\nturn { p = ",
                       state,
                       " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n s = f32[40,40] "
                       "get-tuple-element(p), index=1\n r = f32[40] get-tuple-element(p), "
                       "index=2\n one = s32[] constant(1)\n j = s32[] add(i, one)\n",
                       lines, " ROOT t = ", state, " tuple(j, ", results,
                       ") }\nENTRY main { s = f32[40,40] parameter(0)\n r = f32[40] parameter(1)\n"
                       " z = s32[] constant(0)\n p = ",
                       state, " tuple(z, s, r)\n ROOT w = ", state,
                       " while(p), condition=more, body=turn }\n"))
      .value();
}

constexpr char kUpdateFirst[] =
    " b = f32[40,40] broadcast(r), dimensions={0}\n m = f32[40,40] multiply(s, b)\n"
    " y = f32[40] dot(r, s), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    " q = f32[40] tanh(y)\n";

std::string names(const hlo::Computation& body) {
  std::string out;
  for (const hlo::Instruction& each : body.instructions) out += each.name + " ";
  return out;
}

TEST(EarlyReads, ComeBeforeWhatOverwrites) {
  const auto early = read_before_updates(loop(kUpdateFirst, "m, q")).value();
  ASSERT_TRUE(early.has_value());
  EXPECT_TRUE(hlo::verify(*early).ok());
  EXPECT_THAT(names(early->computations[1]), HasSubstr("b y m q"));
  EXPECT_FALSE(read_before_updates(*early).value().has_value());
}

TEST(EarlyReads, StayWhereTheOrderIsRightOrNoneIs) {
  const auto is_changed = [](const std::string& lines, const std::string& results) {
    return read_before_updates(loop(lines, results)).value().has_value();
  };
  const std::string b = " b = f32[40,40] broadcast(r), dimensions={0}\n",
                    m = " m = f32[40,40] multiply(s, b)\n";
  const auto dot = [](const std::string& of) {
    return base::cat(" y = f32[40] dot(r, ", of,
                     "), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n");
  };
  EXPECT_FALSE(is_changed(b + dot("s") + m, "m, y"));
  EXPECT_FALSE(is_changed(b + m + dot("m"), "m, y"));  // of the new one
  // The reader of the old one needs the new one.
  EXPECT_FALSE(is_changed(b + m + " d = f32[40,40] add(m, s)\n" + dot("d"), "m, y"));
  EXPECT_FALSE(is_changed(b + " m = f32[40,40] sine(b)\n" + dot("s"), "m, y"));
  EXPECT_TRUE(is_changed(b + m + dot("s"), "m, y"));
}

// Each update needs a reader of what the other one overwrites: it is an order all the same.
TEST(EarlyReads, OfTwoThatWaitForEachOther) {
  const auto early =
      read_before_updates(
          loop(" y = f32[40] dot(r, s), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
               " q = f32[40] add(r, y)\n c = f32[40,40] broadcast(r), dimensions={1}\n"
               " e = f32[40,40] cosine(c)\n m = f32[40,40] multiply(s, e)\n"
               " z = f32[40,40] negate(s)\n",
               "m, q"))
          .value();
  ASSERT_TRUE(early.has_value());
  EXPECT_TRUE(hlo::verify(*early).ok());
  EXPECT_THAT(names(early->computations[1]), AllOf(ContainsRegex("y .*c .*q "), ContainsRegex("z .*m ")));
}

TEST(EarlyReads, SpareTheCopy) {
  const auto stages = stages_of(loop(kUpdateFirst, "m, q"));
  if (!stages.ok()) GTEST_SKIP() << stages.status();
  const size_t turns = stages->plan.find("while of 9 turns");
  ASSERT_NE(turns, std::string::npos);
  EXPECT_THAT(stages->plan.substr(turns, stages->plan.find("buffers") - turns),
              Not(HasSubstr("copies 6400 bytes")));
}

}  // namespace
}  // namespace heddle::cpu
