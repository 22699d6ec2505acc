// Loops whose state is read and replaced in one turn: nothing is copied where the readers can come
// first. JAX lists the new state first.
#include <gmock/gmock.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using testing::HasSubstr;
using testing::Not;

// A loop whose state is (s32[], f32[40,40], f32[40]), with these lines in its body after i, s, r.
std::string loop(const std::string& lines, const std::string& results) {
  const std::string state = "(s32[], f32[40,40], f32[40])";
  return base::cat(
      "HloModule m\nmore { p = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(9)\n ROOT l = "
      "pred[] compare(i, n), direction=LT }\nturn { p = ",
      state,
      " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n s = f32[40,40] "
      "get-tuple-element(p), index=1\n r = f32[40] get-tuple-element(p), index=2\n one = s32[] "
      "constant(1)\n j = s32[] add(i, one)\n",
      lines, " ROOT t = ", state, " tuple(j, ", results,
      ") }\nENTRY main { s = f32[40,40] parameter(0)\n r = f32[40] parameter(1)\n z = s32[] "
      "constant(0)\n p = ",
      state, " tuple(z, s, r)\n ROOT w = ", state, " while(p), condition=more, body=turn }\n");
}

constexpr char kProduct[] =
    " y = f32[40] dot(r, s), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    " h = f32[] constant(0.01)\n hs = f32[40] broadcast(h), dimensions={}\n"
    " q = f32[40] multiply(y, hs)\n";
constexpr char kUpdate[] =
    " b = f32[40,40] broadcast(r), dimensions={0}\n m = f32[40,40] subtract(b, s)\n";

TEST(CpuReplacedStates, AreReadBefore) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  // By a product, by the transpose of one, of a part, and through something elementwise.
  for (const std::string& lines :
       {base::cat(kUpdate, kProduct), base::cat(kProduct, kUpdate),
        base::cat(kUpdate,
                  " d = f32[40,40] dot(s, s), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"
                  " e = f32[40,40] transpose(d), dimensions={1,0}\n c = f32[1,40] slice(e), "
                  "slice={[3:4], [0:40]}\n q = f32[40] reshape(c)\n"),
        base::cat(kUpdate,
                  " c = f32[1,40] slice(s), slice={[3:4], [0:40]}\n q = f32[40] "
                  "reshape(c)\n"),
        base::cat(kUpdate,
                  " a = f32[40,40] abs(s)\n q = f32[40] dot(r, a), "
                  "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n")}) {
    SCOPED_TRACE(lines);
    const std::string text = loop(lines, "m, q");
    expect_as_evaluated(text, {.share = 1e-5});
    const std::string plan = stages_of(hlo::parse_text(text).value())->plan;
    const size_t turns = plan.find("while of 9 turns");
    ASSERT_NE(turns, std::string::npos);
    EXPECT_THAT(plan.substr(turns, plan.find("buffers") - turns),
                Not(HasSubstr("copies 6400 bytes")));
  }
}

// The reader needs what replaces: it reads the old state all the same.
TEST(CpuReplacedStates, ThatAReaderNeedsAreCopied) {
  expect_as_evaluated(loop(base::cat(kUpdate,
                                     " d = f32[40,40] multiply(m, s)\n q = f32[40] dot(r, d), "
                                     "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"),
                           "m, q"),
                      {.share = 1e-5});
}

}  // namespace
}  // namespace heddle::cpu
