// What is wrong is said with its place; and hostile text costs no more than its length.
#include <ctime>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/text/internal/parser.h"

namespace heddle::hlo {
namespace {

std::string error_of(std::string_view text) {
  auto module = parse_text(text);
  return module.ok() ? "parsed" : base::message_of(module.status());
}

TEST(TextErrors, ShowTheLineAndPointAtTheColumn) {
  EXPECT_EQ(error_of("ENTRY main {\n  x = f32[2] parameter(0)\n  ROOT r = f32[3] add(x, x)\n}"),
            "3:19: add: result is declared as f32[3]; its operands give f32[2]\n"
            "  ROOT r = f32[3] add(x, x)\n"
            "                  ^");
}

struct Bad {
  std::string_view text;
  std::string_view error;
};

class BadText : public ::testing::TestWithParam<Bad> {};

TEST_P(BadText, IsRefused) { EXPECT_THAT(error_of(GetParam().text), HasSubstr(GetParam().error)); }

INSTANTIATE_TEST_SUITE_P(
    HloText, BadText,
    ::testing::Values(
        Bad{"", "1:1: expected a name but the text ends"},
        Bad{"HloModule m", "1:12: expected a name but the text ends"},
        Bad{"{", "expected a shape or an opcode but found '{'"},
        Bad{"m { }", "1:6: a computation has no instructions"},
        Bad{"m { x = f32[] parameter(0)", "expected a name but the text ends"},
        Bad{"m { x = f32[] parameter(0) } }", "expected a name but found '}'"},
        Bad{"m { = f32[] parameter(0) }", "1:5: expected a name but found '='"},
        Bad{"m { x f32[] parameter(0) }", "1:7: expected '=' but found 'f32'"},
        Bad{"m { x = f32[] }", "expected an opcode but found '}'"},
        Bad{"m { x = f32[] fly(x) }", "1:15: there is no opcode fly"},
        Bad{"m { x = 3 }", "expected a shape or an opcode but found '3'"},
        Bad{"m { x = f32[] parameter(0) x = f32[] parameter(1) }",
            "1:28: an instruction named x was defined before"},
        Bad{"m { ROOT x = f32[] parameter(0) ROOT y = f32[] parameter(1) }",
            "1:33: a second instruction is marked ROOT"},
        Bad{"ENTRY m { x = f32[] parameter(0) }\nENTRY n { x = f32[] parameter(0) }",
            "2:1: a second computation is marked ENTRY"},
        Bad{"m { x = f32[] parameter(0) }\nm { x = f32[] parameter(0) }",
            "2:1: a computation named m was defined before"},
        Bad{"m { r = f32[] negate(x) }",
            "1:22: operand x is not defined in this computation before its use here"},
        Bad{"m { x = f32[] parameter(0) r = f32[] negate(f32[2] x) }",
            "1:52: operand x is written as f32[2]; it was defined as f32[]"},
        Bad{"m { x = f32[] parameter(0) r = f32[] negate(x, x) }",
            "1:38: negate: has 2 operands; takes 1"},
        Bad{"m { x = f32[] parameter(0) r = f32[] call(x), to_apply=f }",
            "1:56: computation f is not defined before its use here"},
        Bad{"m { x = f32[] parameter(0) r = f32[] call(x) }",
            "1:38: call: needs the attribute to_apply"},
        Bad{"m { x = f32[2] parameter(0) r = f32[2] reverse(x) }",
            "1:40: reverse: needs the attribute dimensions"},
        Bad{"m { x = f32[2] parameter(0) r = f32[2,2] broadcast(x) }",
            "broadcast: needs the attribute dimensions"},
        Bad{"m { x = parameter(0) }", "1:9: parameter: has no result type"},
        Bad{"m { x = constant(0) }", "1:9: constant: has no result type"},
        Bad{"m { x = f32[] parameter(0) r = convert(x) }", "1:32: convert: has no result type"},
        Bad{"m { x = f32[] parameter(1) }",
            "1:1: computation m: parameter 1 of 1 is out of range or stands twice"},
        Bad{"m { x = f32[] parameter(-1) }", "parameter: has number -1; must be 0 or more"},
        Bad{"m { x = f32[] parameter(999999999999) }", "parameter 999999999999 of 1"},
        Bad{"m { x = f32[] parameter(0) y = f32[] parameter(0) }", "parameter 0 of 2"},
        Bad{"m (x: f32[]) -> s32[] { x = f32[] parameter(0) }",
            "1:1: the signature's result is s32[]; the root's type is f32[]"},
        Bad{"m { x = f32[] parameter(0) }, thread=\"x\"",
            "expected execution_thread= but found 'thread'"},
        Bad{"m { x = f32[2] parameter(0) r = pred[2] compare(x, x), direction=XX }",
            "1:66: expected one of EQ NE GE GT LE LT but found 'XX'"},
        Bad{"m { x = f32[2] parameter(0) r = f32[2] fusion(x), kind=, calls=m }",
            "expected a kind of fusion"},
        Bad{"m { x = f32[1] parameter(0) /* }", "1:29: the comment that starts here is not closed"},
        Bad{"f32[2] add(f32[2] x, f32[2] y) z",
            "1:32: expected nothing after a single instruction but found 'z'"},
        Bad{"m { x = f32[1,1,1] parameter(0) r = f32[1,1,1] convolution(x, x), "
            "dim_labels=b0f_0ii->b0f }",
            "dim_labels has 'i' twice"},
        Bad{"m { x = f32[1,1,1] parameter(0) r = f32[1,1,1] convolution(x, x), "
            "dim_labels=b0f_io->b0f }",
            "1, 0 and 1 spatial dimensions"},
        Bad{"m { x = f32[1,1,1] parameter(0) r = f32[1,1,1] convolution(x, x), "
            "dim_labels=b2f_0io->b0f }",
            "the digits from 0 up"}));

TEST(TextErrors, SurviveEveryTruncation) {
  std::string text =
      "HloModule m, input_output_alias={ {}: (0, {}) }\nf { a = f32[] parameter(0) b = f32[] "
      "parameter(1) ROOT s = f32[] add(a, b) }\n"
      "ENTRY %main (x: f32[2]) -> f32[] { %x = f32[2]{0:T(8)} parameter(0), "
      "sharding={devices=[2]<=[2]} %z = f32[] constant(-nan(0x1)) "
      "ROOT %r = f32[] reduce(f32[2]{0} %x, %z), dimensions={0}, to_apply=f, "
      "metadata={op_name=\"a\\n\"} }";
  size_t whole = text.find("ENTRY");  // a text that ends before is a module of one computation
  for (size_t length = 0; length < text.size(); ++length) {
    bool parsed = error_of(std::string_view(text).substr(0, length)) == "parsed";
    EXPECT_EQ(parsed, length == whole || length == whole - 1) << length;
  }
}

TEST(TextLimits, RefuseDeepNestingOfOperands) {
  std::string text = "m { x = f32[] parameter(0) r = f32[] ";
  for (int i = 0; i < 100000; ++i) text += "negate(";
  EXPECT_THAT(error_of(text), HasSubstr("operands and computations nest deeper than 200"));
}

TEST(TextLimits, RefuseDeepNestingOfComputations) {
  std::string text = "m { ";
  for (int i = 0; i < 100000; ++i) text += "r = f32[] call(), to_apply={ ";
  EXPECT_THAT(error_of(text), HasSubstr("operands and computations nest deeper than 200"));
}

TEST(TextLimits, RefuseDeepBraces) {
  EXPECT_THAT(
      error_of(base::cat("m { x = f32[] parameter(0), sharding=", std::string(1000000, '{'))),
      HasSubstr("not closed"));
}

TEST(TextLimits, CountInstructionsAndComputations) {
  std::string_view text =
      "a { x = f32[] parameter(0) y = negate(x) }\nb { x = f32[] parameter(0) }";
  EXPECT_TRUE(text::Parser(text, {.instructions = 3, .computations = 2}).run().ok());
  EXPECT_THAT(base::message_of(text::Parser(text, {.instructions = 2}).run().status()),
              HasSubstr("2:15: the text has more than 2 instructions"));
  EXPECT_THAT(base::message_of(text::Parser(text, {.computations = 1}).run().status()),
              HasSubstr("2:1: the text has more than 1 computations"));
}

TEST(TextLimits, RefuseTypesThatDoubleWithEachLine) {
  std::string text = "m { t0 = () tuple()\n";
  for (int i = 0; i < 60; ++i) base::append(text, "t", i + 1, " = tuple(t", i, ", t", i, ")\n");
  EXPECT_THAT(error_of(text),
              HasSubstr("tuple: the tuple types here have more than 1048576 parts"));
}

TEST(TextLimits, RefuseTypesThatAreDeclaredShort) {
  std::string text = "m { t0 = () tuple()\n";
  for (int i = 0; i < 19; ++i) base::append(text, "t", i + 1, " = tuple(t", i, ", t", i, ")\n");
  EXPECT_THAT(error_of(text + "r = () tuple(t19, t19) }"),
              HasSubstr("the tuple types here have more than 1048576 parts"));
}

TEST(TextLimits, AllocateNothingThatTheTextCannotFill) {
  EXPECT_THAT(error_of("m { c = f32[1000000000000] constant({1, 2}) }"),
              HasSubstr("the constant ends before all elements"));
  EXPECT_THAT(error_of("m { c = f32[1000000,1000000,1000000,1000000] constant({1}) }"),
              HasSubstr("larger than 2^62 bytes"));
}

// Ten times the text may take ten times as long, not a hundred. CPU time, since the machine may be
// busy.
TEST(TextLimits, TakeTimeInProportionToTheText) {
  auto seconds = [](int lines) {
    std::string text = "m { x = f32[2] parameter(0)\n";
    for (int i = 0; i < lines; ++i)
      base::append(text, "a", i, " = add(x, negate(negate(x))) /* ", i, " */\n");
    const std::clock_t start = std::clock();
    EXPECT_EQ(error_of(text + "}"), "parsed");
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  double few = std::min({seconds(2000), seconds(2000), seconds(2000)});
  EXPECT_LT(seconds(20000), 50 * few);
}

}  // namespace
}  // namespace heddle::hlo
