// Complex arrays that are moved as a whole.
#include "heddle/cpu/rewrites/numbers/complex_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSecond =
    "second { a = c64[] parameter(0)\n ROOT b = c64[] parameter(1) }\n";

std::string program(const std::string& lines) {
  return cat("HloModule m\n", kSecond, "ENTRY main {\n", lines, "}");
}

// The instructions of the module after move_whole_complex(); empty if it found nothing.
std::string moved(const std::string& text) {
  const auto now = move_whole_complex(hlo::parse_text(text).value()).value();
  return now ? hlo::print(*now) : "";
}

const std::string kMoves[] = {
    "x = c64[5,37] parameter(0)\n ROOT y = c64[37,5] transpose(x), dimensions={1,0}\n",
    "x = c64[5,37] parameter(0)\n a = c64[5,36] slice(x), slice={[0:5], [0:36]}\n"
    "b = c64[5,1] slice(x), slice={[0:5], [36:37]}\n"
    "ROOT y = c64[5,37] concatenate(b, a), dimensions={1}\n",
    "x = c64[5,37] parameter(0)\n r = c64[5,37] reverse(x), dimensions={1}\n"
    "f = c64[185] reshape(r)\n s = c64[27] slice(f), slice={[0:185:7]}\n"
    "ROOT y = (c64[27], c64[5,37]) tuple(s, r)\n",
    "x = c64[40,9] parameter(0)\n row = c64[1,9] parameter(1)\n k = s32[] parameter(2)\n"
    "z = s32[] constant(0)\n ROOT y = c64[40,9] dynamic-update-slice(x, row, k, z)\n",
    "x = c64[40,9] parameter(0)\n i = s32[6,1] parameter(1)\n"
    "ROOT y = c64[6,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}\n",
    "x = c64[40,9] parameter(0)\n i = s32[6,1] parameter(1)\n u = c64[6,9] parameter(2)\n"
    "ROOT y = c64[40,9] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n",
    "p = pred[300] parameter(0)\n x = c64[300] parameter(1)\n y = c64[300] parameter(2)\n"
    "ROOT z = c64[300] select(p, x, y)\n",
    "x = c64[7] parameter(0)\n c = c64[] constant((-0, nan))\n"
    "ROOT y = c64[20] pad(x, c), padding=4_3_1\n",
    "x = c64[7] parameter(0)\n c = c64[] parameter(1)\n ROOT y = c64[12] pad(x, c), padding=4_1\n",
    "x = c64[7] parameter(0)\n r = f32[] parameter(1)\n c = c64[] convert(r)\n"
    "b = c64[9] broadcast(c), dimensions={}\n ROOT y = c64[16] concatenate(b, x), dimensions={0}\n",
    "x = c64[3] parameter(0)\n c = c64[2] constant({(1, -2), (inf, 3)})\n"
    "ROOT y = c64[5] concatenate(c, x), dimensions={0}\n",
    "x = c64[0,4] parameter(0)\n y = c64[3,4] parameter(1)\n"
    "ROOT z = c64[3,4] concatenate(x, y), dimensions={0}\n",
    "t = (c64[4,3], s32[]) parameter(0)\n x = c64[4,3] get-tuple-element(t), index=0\n"
    "ROOT y = c64[12] reshape(x)\n",
    "x = c64[6,8] parameter(0)\n c = c64[] constant((0, 0))\n"
    "p = c64[6,16] pad(x, c), padding=0_0x0_8\n"
    "f = c64[6,16] fft(p), fft_type=FFT, fft_length={16}\n"
    "ROOT y = c64[16,6] transpose(f), dimensions={1,0}\n",
};

TEST(ComplexMoves, GiveTheSameNumbers) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const std::string& lines : kMoves) {
    EXPECT_THAT(moved(program(lines)), HasSubstr("bitcast(")) << lines;
    expect_as_evaluated(program(lines), {.share = 1e-6});
  }
}

// What is computed with stays c64, and so does what it is moved from or to.
TEST(ComplexMoves, LeaveWhatIsComputed) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const std::string lines :
       {"x = c64[5,7] parameter(0)\n t = c64[7,5] transpose(x), dimensions={1,0}\n"
        "ROOT y = c64[7,5] multiply(t, t)\n",
        "x = c64[5,7] parameter(0)\n n = c64[5,7] negate(x)\n"
        "ROOT y = c64[7,5] transpose(n), dimensions={1,0}\n",
        "x = c64[5,7] parameter(0)\n r = c64[5,7] reverse(x), dimensions={0}\n"
        "t = c64[7,5] transpose(r), dimensions={1,0}\n m = f32[7,5] real(t)\n"
        "ROOT y = (c64[5,7], f32[7,5]) tuple(r, m)\n",
        "x = c128[5,7] parameter(0)\n ROOT y = c128[7,5] transpose(x), dimensions={1,0}\n"}) {
    EXPECT_EQ(moved(program(lines)), "") << lines;
    expect_as_evaluated(program(lines), {.share = 1e-6});
  }
  // One of two moves: the other one's numbers are doubled.
  const std::string both =
      "x = c64[5,7] parameter(0)\n r = c64[5,7] reverse(x), dimensions={0}\n"
      "t = c64[7,5] transpose(x), dimensions={1,0}\n d = c64[7,5] add(t, t)\n"
      "ROOT y = (c64[5,7], c64[7,5]) tuple(r, d)\n";
  EXPECT_THAT(moved(program(both)), HasSubstr("u64[5,7]"));
  EXPECT_THAT(moved(program(both)), Not(HasSubstr("u64[7,5]")));
  expect_as_evaluated(program(both));
}

// No loop parts and joins the numbers of an array that is updated.
TEST(ComplexMoves, CopyAnArrayThatIsUpdated) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const hlo::Module module =
      hlo::parse_text(program("x = c64[4096] parameter(0)\n u = c64[2] parameter(1)\n"
                              "k = s32[] parameter(2)\n"
                              "ROOT y = c64[4096] dynamic-update-slice(x, u, k)\n"))
          .value();
  const std::string plan = stages_of(module).value().plan;
  EXPECT_THAT(plan, HasSubstr("copy")) << plan;
  EXPECT_THAT(plan, Not(HasSubstr("for_each"))) << plan;
}

}  // namespace
}  // namespace heddle::cpu
