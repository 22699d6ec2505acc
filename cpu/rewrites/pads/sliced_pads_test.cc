#include "heddle/cpu/rewrites/pads/sliced_pads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

// The root, in text, of what the lines are rewritten as; empty: they stay.
std::string root_of(const std::string& lines) {
  const hlo::Module module = hlo::parse_text(base::cat("HloModule m\nENTRY main {\n x = f32[9] "
                                                       "parameter(0)\n z = f32[] constant(0)\n",
                                                       lines, "}\n"))
                                 .value();
  const auto sliced = slice_pads(module).value();
  if (!sliced) return "";
  Literal x(Shape(f32, {9}));
  for (size_t i = 0; i < 9; ++i) x.mutable_values<float>()[i] = static_cast<float>(i) + 1;
  const std::vector<Literal> arguments = {x};
  EXPECT_EQ(interpreter::evaluate(*sliced, arguments).value(),
            interpreter::evaluate(module, arguments).value())
      << lines;
  const hlo::Computation& in = sliced->entry_computation();
  return std::string(to_string(in.at(in.root).opcode));
}

constexpr const char* kSum =
    " p = f32[11] pad(x, z), padding=0_2\n q = f32[11] pad(x, z), padding=2_0\n"
    " s = f32[11] add(p, q)\n";

TEST(SlicedPads, APartOfASumIsASumOfParts) {
  EXPECT_EQ(root_of(base::cat(kSum, " ROOT r = f32[9] slice(s), slice={[1:10]}\n")), "add");
  EXPECT_EQ(root_of(base::cat(kSum, " ROOT r = f32[9] pad(s, z), padding=-1_-1\n")), "add");
  // Padding alone of one, and all of what the other pads.
  EXPECT_EQ(root_of(base::cat(kSum, " ROOT r = f32[2] slice(s), slice={[9:11]}\n")), "add");
  EXPECT_EQ(root_of(base::cat(kSum, " ROOT r = f32[9] slice(s), slice={[2:11]}\n")), "add");
}

// The derivative of mean((pad(x) * w)^2): one op reads another twice.
TEST(SlicedPads, APartOfOneThatIsReadTwiceByItsOnlyReader) {
  EXPECT_EQ(root_of(" p = f32[11] pad(x, z), padding=1_1\n s = f32[11] multiply(p, p)\n"
                    " t = f32[11] add(s, s)\n ROOT r = f32[9] pad(t, z), padding=-1_-1\n"),
            "add");
}

TEST(SlicedPads, StayWhereSomebodyElseReadsThemOrOneIsAlone) {
  EXPECT_EQ(root_of(base::cat(kSum,
                              " t = f32[9] slice(s), slice={[1:10]}\n"
                              " ROOT r = (f32[9], f32[11]) tuple(t, s)\n")),
            "");
  EXPECT_EQ(root_of(base::cat(kSum, " ROOT r = f32[5] slice(s), slice={[1:10:2]}\n")), "");
  EXPECT_EQ(root_of(" p = f32[11] pad(x, z), padding=0_2\n n = f32[11] negate(p)\n"
                    " ROOT r = f32[9] slice(n), slice={[1:10]}\n"),
            "");
}

}  // namespace
}  // namespace heddle::cpu
