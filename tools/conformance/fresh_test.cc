// Drawing new inputs, comparing two devices on them, and the tables of known differences.
#include "heddle/tools/conformance/fresh.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/runtime/registry.h"
#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/known.h"

namespace heddle::conformance {
namespace {

hlo::Module program(std::string_view lines) {
  return hlo::parse_text(base::cat("ENTRY main {\n", lines, "}\n")).value();
}

hlo::Module identity_of(const Shape& shape) {
  return program(base::cat("ROOT x = ", shape, " parameter(0)\n"));
}

Literal draw(const Literal& old, int number = 0) {
  Case item;
  item.name = "test";
  item.arguments = {old};
  return fresh_arguments(item, identity_of(old.shape()), 1, number)[0];
}

TEST(FreshArguments, SameSeedAndDrawGiveTheSameOthersNot) {
  const Literal old = Literal::from<float>(Shape(f32, {4}), {1, 2, 3, -7});
  EXPECT_EQ(draw(old), draw(old));
  EXPECT_FALSE(draw(old, 0) == draw(old, 1));
}

TEST(FreshArguments, IntegersStayInTheirRange) {
  const Literal old = Literal::from<int32_t>(Shape(s32, {6}), {5, 3, 5, 9, 3, 3});
  for (int number = 0; number < 20; ++number) {
    const Literal found = draw(old, number);
    for (const int32_t x : found.values<int32_t>()) {
      EXPECT_GE(x, 3);
      EXPECT_LE(x, 9);
    }
  }
}

TEST(FreshArguments, WhatAscendsAndIsDistinctStaysSo) {
  const Literal old = Literal::from<int32_t>(Shape(s32, {4}), {0, 2, 7, 30});
  for (int number = 0; number < 20; ++number) {
    const Literal found = draw(old, number);
    const auto values = found.values<int32_t>();
    EXPECT_TRUE(std::ranges::is_sorted(values));
    EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
  }
}

TEST(FreshArguments, SymmetricMatricesStayAndTrianglesKeepTheirZeros) {
  const Literal symmetric = Literal::from<double>(Shape(f64, {2, 2}), {4, 1, 1, 3});
  const Literal found = draw(symmetric);
  EXPECT_EQ(found.to_double(1), found.to_double(2));
  EXPECT_GT(found.to_double(0) * found.to_double(3), found.to_double(1) * found.to_double(2));
  EXPECT_FALSE(found == symmetric);
  EXPECT_EQ(draw(Literal::from<double>(Shape(f64, {2, 2}), {4, 1, 0, 3})).to_double(2), 0);
}

TEST(FreshArguments, IndicesToldToBeUniqueChangeTheirOrderAlone) {
  const hlo::Module module = hlo::parse_text(R"(HloModule unique
    add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT s = f32[] add(a, b)
    }
    ENTRY main {
      x = f32[8] parameter(0)
      i = s32[4,1] parameter(1)
      u = f32[4] parameter(2)
      ROOT s = f32[8] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add
    })")
                                 .value();
  Case item;
  item.arguments = {Literal(Shape(f32, {8})),
                    Literal::from<int32_t>(Shape(s32, {4, 1}), {7, 1, 4, 2}),
                    Literal(Shape(f32, {4}))};
  const Literal found = fresh_arguments(item, module, 1, 0)[1];
  std::vector<int32_t> values(found.values<int32_t>().begin(), found.values<int32_t>().end());
  std::ranges::sort(values);
  EXPECT_THAT(values, ElementsAre(1, 2, 4, 7));
}

TEST(Nudged, MovesFloatsToANeighbourAndNothingElse) {
  const Literal old = Literal::from<float>(Shape(f32, {3}), {1, 0, INFINITY});
  const Literal found = nudged({old}, 1)[0];
  EXPECT_NE(found.to_double(0), 1);
  EXPECT_NEAR(found.to_double(0), 1, 2e-7);
  EXPECT_EQ(found.to_double(1), 0);
  EXPECT_EQ(found.to_double(2), INFINITY);
  const Literal integers = Literal::from<int32_t>(Shape(s32, {2}), {1, 2});
  EXPECT_EQ(nudged({integers}, 1)[0], integers);
}

// ---- two devices

Case sine_case() {
  Case item;
  item.name = "sine";
  item.module = hlo::to_proto(program("x = f32[3] parameter(0)\nROOT y = f32[3] sine(x)\n"));
  item.arguments = {Literal::from<float>(Shape(f32, {3}), {1, 2, 3})};
  item.expected = item.arguments[0];
  item.tolerances = {{.rtol = 2e-5}};
  return item;
}

Compiled on_interpreter(std::string_view lines) {
  return Compiled::make(**runtime::find_device("interpreter"), program(lines)).value();
}

constexpr std::string_view kSine = "x = f32[3] parameter(0)\nROOT y = f32[3] sine(x)\n";

TEST(CompareOnFresh, EqualProgramsAgree) {
  const Compiled sine = on_interpreter(kSine);
  EXPECT_EQ(compare_on_fresh(sine_case(), program(kSine), sine, sine).agreement,
            Agreement::kAgrees);
}

TEST(CompareOnFresh, WrongProgramDiffersAndSaysOnWhichDraw) {
  const Compiled sine = on_interpreter(kSine);
  const Compiled cosine = on_interpreter("x = f32[3] parameter(0)\nROOT y = f32[3] cosine(x)\n");
  const Comparison found = compare_on_fresh(sine_case(), program(kSine), cosine, sine);
  EXPECT_EQ(found.agreement, Agreement::kDiffers);
  EXPECT_THAT(found.message, HasSubstr("draw 0: f32[3]"));
}

TEST(CompareOnFresh, WhatLastBitsDecideIsSensitive) {
  constexpr std::string_view kNearZero =
      "x = f32[3] parameter(0)\ny = f32[3] sine(x)\nz = f32[3] subtract(y, y)\n"
      "c = f32[] constant(1e9)\nd = f32[3] broadcast(c), dimensions={}\n"
      "e = f32[3] multiply(x, d)\nROOT s = f32[3] sine(e)\n";
  constexpr std::string_view kOther =
      "x = f32[3] parameter(0)\nc = f32[] constant(1.0000001e9)\nd = f32[3] broadcast(c), "
      "dimensions={}\n"
      "e = f32[3] multiply(x, d)\nROOT s = f32[3] sine(e)\n";
  const Comparison found = compare_on_fresh(sine_case(), program(kNearZero), on_interpreter(kOther),
                                            on_interpreter(kNearZero));
  EXPECT_EQ(found.agreement, Agreement::kSensitive) << found.message;
}

// ---- tables

// ctest runs tests side by side, each in a process, which has a file of its own.
std::string written(const std::string& text) {
  const std::string path = base::cat(::testing::TempDir(), "/heddle_known_", getpid(), ".tsv");
  std::ofstream(path) << text;
  return path;
}

TEST(ReadKnown, GivesCausesByName) {
  const auto known = read_known(written("# about\n\na/b\tits cause\n"));
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->at("a/b"), "its cause");
  EXPECT_EQ(known->size(), 1u);
}

TEST(ReadKnown, RefusesALineWithoutACauseAndANameTwice) {
  EXPECT_THAT(base::message_of(read_known(written("a/b\n")).status()),
              HasSubstr(":1: must be a name"));
  EXPECT_THAT(base::message_of(read_known(written("a\tx\na\ty\n")).status()),
              HasSubstr("a stands here twice"));
}

TEST(ReadKnown, RefusesACauseByTheProcessorWithoutItsBound) {
  for (const char* cause : {"by the processor", "by the processor: fma", "by the processor, within",
                            "by the processor, within 1e-6", "by the processor, within x: fma",
                            "by the processor, within 0: fma", "by the processor, within inf: fma"})
    EXPECT_THAT(base::message_of(read_known(written(base::cat("a\tb\nc\t", cause, "\n"))).status()),
                HasSubstr(":2: must say the bound"))
        << cause;
  const auto known = read_known(written("c\tby the processor, within 1.3e-6: fma\n"));
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(bound_by_the_processor(known->at("c")), 1.3e-6);
  EXPECT_EQ(bound_by_the_processor("fma, by the processor, within 1.3e-6: "), std::nullopt);
}

}  // namespace
}  // namespace heddle::conformance
