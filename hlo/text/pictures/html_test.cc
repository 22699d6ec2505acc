#include "heddle/hlo/text/pictures/html.h"

#include <map>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

constexpr char kLoop[] = R"(HloModule count
body {
  i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(i, one), metadata={source_file="train.cc" source_line=41}
}
below {
  i = s32[] parameter(0)
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  i = s32[] parameter(0)
  ROOT loop = s32[] while(i), condition=below, body=body
}
)";

Module parsed(std::string_view text) {
  auto module = parse_text(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.value_or(Module());
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Html, FoldsWhatIsCalled) {
  const std::string page = print_html(parsed(kLoop));
  EXPECT_EQ(count(page, "<details"), 3u);
  EXPECT_THAT(page, HasSubstr("<details id=\"c2\" open><summary>main: the entry; 2 instructions"));
  EXPECT_THAT(page, HasSubstr("<details id=\"c0\"><summary>body: body of loop; 3 instructions"));
  EXPECT_THAT(page, HasSubstr("<details id=\"c1\"><summary>below: condition of loop; 3 "));
  EXPECT_THAT(page, HasSubstr("<a href=\"#c0\">body</a>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#c1\">condition</a>"));
}

TEST(Html, HasABoxForEachInstructionAndALineForEachOperand) {
  const std::string page = print_html(parsed(kLoop));
  EXPECT_EQ(count(page, "<rect "), 8u);
  EXPECT_EQ(count(page, "<path "), 5u);
  EXPECT_THAT(page, HasSubstr("<title>next\ns32[]\nadd\ntrain.cc:41</title>"));
  EXPECT_THAT(page, HasSubstr("<g class=\"calls root\">"));
  EXPECT_THAT(page, HasSubstr(">constant 5</text>"));
}

// A box is below those of its operands, and no two boxes of a row touch.
TEST(Html, ValuesFlowDownwards) {
  const std::string page = print_html(parsed(kLoop));
  const std::string body = page.substr(page.find("id=\"c0\""));
  std::map<std::string, int> tops;
  const std::regex box("<title>(\\w+)\n[^<]*</title><rect x=\"\\d+\" y=\"(\\d+)\"");
  for (std::sregex_iterator at(body.begin(), body.end(), box), end; at != end; ++at)
    tops[(*at)[1]] = std::stoi((*at)[2]);
  EXPECT_EQ(tops["i"], tops["one"]);
  EXPECT_LT(tops["one"], tops["next"]);
}

TEST(Html, NamesAreEscaped) {
  Module module = parsed(kLoop);
  const std::string evil = "</title><script>alert('1')</script>&\"\x01";
  module.name = evil;
  for (Computation& computation : module.computations) {
    computation.name = evil;
    for (Instruction& instruction : computation.instructions) instruction.name = evil;
  }
  const std::string page = print_html(module);
  EXPECT_EQ(count(page, "<script>"), 1u);  // the page's own
  EXPECT_THAT(page, Not(HasSubstr("alert('")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  EXPECT_THAT(page, HasSubstr("&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
}

TEST(Html, LoadsNothing) {
  const std::string page = print_html(parsed(kLoop));
  for (const char* outside : {"http", " src=", "url(", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(Html, TakesModulesOfNothing) { EXPECT_THAT(print_html(Module()), HasSubstr("</html>")); }

}  // namespace
}  // namespace heddle::hlo
