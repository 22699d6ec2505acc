// The rules of docs/architecture.md, on this project; rules_test.cc shows that each rule finds a
// breach.

#include <fstream>
#include <iterator>

#include "heddle/base/support_test.h"
#include "heddle/tests/layers/source_tree.h"

namespace heddle::layers {
namespace {

std::string read(const char* path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << "cannot read " << path << "; run from the project's root";
  return {std::istreambuf_iterator<char>(in), {}};
}

const SourceTree& tree() {
  static const SourceTree tree = read_source_tree(".");
  return tree;
}

const LayerTable& table() {
  static const LayerTable table = parse_layer_table(read("docs/architecture.md"));
  return table;
}

TEST(Layers, EveryFolderWithCodeHasARow) {
  EXPECT_THAT(folders_without_row(tree(), table()), IsEmpty());
}

TEST(Layers, FoldersHaveNoCycle) { EXPECT_THAT(folders_in_cycles(table()), IsEmpty()); }

TEST(Layers, LibrariesLinkWhatTheTableSays) {
  EXPECT_THAT(links_off_the_table(parse_cmake_links(read("CMakeLists.txt")), table()), IsEmpty());
}

TEST(Layers, IncludesFollowTheTable) {
  EXPECT_THAT(includes_off_the_table(tree(), table()), IsEmpty());
}

TEST(Layers, IncludesAreSpelledOneWay) { EXPECT_THAT(includes_not_found(tree()), IsEmpty()); }

TEST(Layers, HeadersHaveNoCycle) { EXPECT_THAT(headers_in_cycles(tree()), IsEmpty()); }

TEST(Layers, PublicHeadersHideTheirPackages) {
  EXPECT_THAT(hidden_packages_in_public_headers(tree()), IsEmpty());
}

TEST(Layers, InternalHeadersStayInside) {
  EXPECT_THAT(internal_headers_included_from_outside(tree()), IsEmpty());
}

TEST(Layers, PublicHeadersAreShallow) { EXPECT_THAT(public_headers_too_deep(tree()), IsEmpty()); }

// So each source proves that its header compiles alone.
TEST(Layers, SourcesIncludeTheirHeaderFirst) {
  EXPECT_THAT(sources_that_do_not_include_their_header_first(tree()), IsEmpty());
}

TEST(Layers, LinesFitIntoTheirColumns) { EXPECT_THAT(lines_too_long(tree()), IsEmpty()); }

TEST(Layers, FilesCanBeReadInOneGo) { EXPECT_THAT(files_too_long(tree()), IsEmpty()); }

}  // namespace
}  // namespace heddle::layers
