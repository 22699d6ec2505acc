// Each rule finds a breach where there is one, and nothing in the like without it.

#include "heddle/base/support_test.h"
#include "heddle/tests/layers/source_tree.h"

namespace heddle::layers {
namespace {

using ::testing::UnorderedElementsAre;

SourceFile including(std::string path) { return {.lines = 1, .includes = {{std::move(path), 1}}}; }

TEST(LayerRules, ReadIncludesWithTheirLines) {
  const SourceFile file = parse_source(
      "// #include <a>\n#include <map>\n\n#  include \"heddle/hlo/shape.h\"  // why\n");
  ASSERT_THAT(file.includes, SizeIs(2));
  EXPECT_EQ(file.includes[0].path, "map");
  EXPECT_EQ(file.includes[1].path, "heddle/hlo/shape.h");
  EXPECT_EQ(file.includes[1].line, 4);
  EXPECT_EQ(file.lines, 4);
}

TEST(LayerRules, ReadTheTable) {
  const LayerTable table = parse_layer_table(
      "| folder | what | may include |\n|---|---|---|\n| base/ | ids | |\n"
      "| hlo/ | `a(b, …)` | base |\n| tools/ tests/ | t | everything |\n");
  EXPECT_THAT(table.at("base"), IsEmpty());
  EXPECT_THAT(table.at("hlo"), ElementsAre("base"));
  EXPECT_THAT(table.at("tests"), ElementsAre("everything"));
  EXPECT_THAT(table, SizeIs(4));
}

TEST(LayerRules, FindAFolderWithoutRow) {
  const SourceTree tree = {{"hlo/a.h", {}}, {"misc/b.cc", {}}, {"heddle.h", {}}};
  EXPECT_THAT(folders_without_row(tree, {{"hlo", {}}}), ElementsAre("misc"));
}

TEST(LayerRules, FindACycleOfFolders) {
  EXPECT_THAT(folders_in_cycles({{"a", {"b/low"}}, {"b", {"c"}}, {"c", {"a"}}}),
              ElementsAre("c comes back to a"));
  EXPECT_THAT(folders_in_cycles({{"a", {"b", "c"}}, {"b", {"c"}}}), IsEmpty());
}

TEST(LayerRules, FindALinkOffTheTable) {
  const LayerTable links = parse_cmake_links(
      "heddle_library(hlo DEPS base x::y PRIVATE z::w)\nheddle_library(cpu DEPS scan)");
  EXPECT_THAT(links_off_the_table(links, {{"hlo", {"base"}}, {"cpu", {"scan/lower"}}}), IsEmpty());
  EXPECT_THAT(links_off_the_table(links, {{"hlo", {"base"}}, {"cpu", {"hlo"}}}), SizeIs(1));
}

TEST(LayerRules, FindAnIncludeOfAHigherFolder) {
  const LayerTable table = {{"hlo", {"base"}}, {"cpu", {"scan/lower"}}};
  const SourceTree good = {{"hlo/a.h", including("heddle/base/b.h")},
                           {"cpu/a.h", including("heddle/scan/lower.h")}};
  EXPECT_THAT(includes_off_the_table(good, table), IsEmpty());
  const SourceTree bad = {{"hlo/a.h", including("heddle/trace/b.h")},
                          {"cpu/a.h", including("heddle/scan/scan.h")}};
  EXPECT_THAT(includes_off_the_table(bad, table),
              UnorderedElementsAre("hlo/a.h:1: includes heddle/trace/b.h; hlo/ may not",
                                   "cpu/a.h:1: includes heddle/scan/scan.h; cpu/ may not"));
}

TEST(LayerRules, LetAUnitTestIncludeAnUmbrellaOfWhatItsFolderMay) {
  const LayerTable table = {{"hlo", {"base"}}};
  const SourceFile user = including("heddle/testing.h");
  SourceTree tree = {{"testing.h", including("heddle/base/b.h")}, {"hlo/a_test.cc", user}};
  EXPECT_THAT(includes_off_the_table(tree, table), IsEmpty());
  tree["hlo/a.cc"] = user;
  EXPECT_THAT(includes_off_the_table(tree, table), SizeIs(1));
  tree["testing.h"] = including("heddle/trace/t.h");
  EXPECT_THAT(includes_off_the_table(tree, table), SizeIs(2));
}

TEST(LayerRules, LetAUnitTestRunOnTheInterpreter) {
  const LayerTable table = {{"base", {}}, {"hlo", {"base"}}, {"transform", {"hlo"}}};
  const SourceFile user = including("heddle/interpreter/evaluate.h");
  EXPECT_THAT(includes_off_the_table({{"transform/a_test.cc", user}}, table), IsEmpty());
  for (const char* path : {"transform/a.cc", "hlo/a_test.cc", "base/a_test.cc"})
    EXPECT_THAT(includes_off_the_table({{path, user}}, table), SizeIs(1)) << path;
}

TEST(LayerRules, FindAnIncludeThatIsSpelledAnotherWay) {
  SourceTree tree = {{"hlo/a.h", including("heddle/hlo/b.h")},
                     {"hlo/b.h", including("sys/mman.h")}};
  EXPECT_THAT(includes_not_found(tree), IsEmpty());
  for (const char* path : {"hlo/b.h", "b.h", "heddle/hlo/c.h"}) {
    tree["hlo/a.h"] = including(path);
    EXPECT_THAT(includes_not_found(tree), SizeIs(1)) << path;
  }
}

TEST(LayerRules, FindACycleOfHeaders) {
  const SourceTree tree = {{"hlo/a.h", including("heddle/hlo/b.h")},
                           {"hlo/b.h", including("heddle/hlo/a.h")}};
  EXPECT_THAT(headers_in_cycles(tree), ElementsAre("hlo/b.h comes back to hlo/a.h"));
}

TEST(LayerRules, FindAPackageInAPublicHeader) {
  for (const char* path : {"absl/status/status.h", "Eigen/Dense", "google/protobuf/message.h",
                           "heddle/hlo/proto/hlo.pb.h", "llvm/IR/Module.h"}) {
    EXPECT_THAT(hidden_packages_in_public_headers({{"hlo/a.h", including(path)}}), SizeIs(1))
        << path;
    EXPECT_THAT(hidden_packages_in_public_headers({{"hlo/a.cc", including(path)}}), IsEmpty())
        << path;
  }
}

TEST(LayerRules, FindAnInternalHeaderInUseOutside) {
  const SourceFile user = including("heddle/hlo/internal/a.h");
  EXPECT_THAT(internal_headers_included_from_outside({{"hlo/b.h", user}}), SizeIs(1));
  EXPECT_THAT(internal_headers_included_from_outside({{"trace/b.cc", user}}), SizeIs(1));
  EXPECT_THAT(
      internal_headers_included_from_outside({{"hlo/b.cc", user}, {"hlo/internal/c.h", user}}),
      IsEmpty());
}

TEST(LayerRules, FindAHeaderThatStandsTooHigh) {
  SourceTree tree = {{"hlo/h0.h", including("heddle/base/b.h")},
                     {"base/b.h", {}},
                     {"trace/t.h", including("heddle/hlo/h6.h")}};
  for (int i = 1; i <= kMaxDepth + 1; ++i) {
    tree["hlo/h" + std::to_string(i) + ".h"] =
        including("heddle/hlo/h" + std::to_string(i - 1) + ".h");
  }
  EXPECT_THAT(public_headers_too_deep(tree),
              ElementsAre("hlo/h7.h stands on 7 levels of headers of its folder"));
}

TEST(LayerRules, FindASourceThatIncludesItsHeaderLater) {
  const SourceTree tree = {
      {"hlo/a.h", {}}, {"hlo/a.cc", including("map")}, {"hlo/b.cc", including("map")}};
  EXPECT_THAT(sources_that_do_not_include_their_header_first(tree), ElementsAre("hlo/a.cc"));
}

TEST(LayerRules, FindALineThatIsTooLong) {
  const std::string fits = "// \u00e9" + std::string(96, 'x');  // 100 letters, 101 bytes
  const SourceFile file = parse_source("int x;\n" + fits + "\n" + fits + "x\n");
  EXPECT_THAT(lines_too_long({{"trace/a.cc", file}}),
              ElementsAre("trace/a.cc:3: has more than 100 columns"));
  const std::string program = "auto p = R\"(\n" + fits + "xxx\n" + fits + "xxx)\";\n";
  EXPECT_THAT(lines_too_long({{"trace/a.cc", parse_source(program)}}), IsEmpty());
  EXPECT_THAT(lines_too_long({{"trace/a.cc", parse_source(program + fits + "x\n")}}),
              ElementsAre("trace/a.cc:4: has more than 100 columns"));
}

TEST(LayerRules, FindAFileThatIsTooLong) {
  EXPECT_THAT(files_too_long({{"hlo/a.cc", {.lines = 601, .includes = {}}}}),
              ElementsAre("hlo/a.cc has 601 lines"));
  EXPECT_THAT(files_too_long({{"hlo/a.cc", {.lines = 600, .includes = {}}}}), IsEmpty());
}

}  // namespace
}  // namespace heddle::layers
