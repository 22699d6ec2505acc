#pragma once

// The project's sources as text, and the rules of docs/architecture.md on which file may include
// which. A rule is a function that returns one line for each breach, so that it can be shown to
// find one.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::layers {

inline constexpr int kMaxLines = 600;
inline constexpr int kMaxColumns = 100;

struct Include {
  std::string path;  // as written between the quotes
  int line = 0;
};

struct SourceFile {
  int lines = 0;
  std::vector<Include> includes;
  std::vector<int> long_lines = {};  // those of more than kMaxColumns
};

// Keyed by the path from the project's root, "hlo/shape.h".
using SourceTree = std::map<std::string, SourceFile>;

// Folder -> what it may include: folders, or prefixes of paths such as "scan/lower".
using LayerTable = std::map<std::string, std::set<std::string>>;

inline constexpr std::string_view kEverything = "everything";
inline constexpr int kMaxDepth = 6;

SourceFile parse_source(std::string_view text);

// All *.h, *.cc and *.def of the folders that hold code, and the headers at the top.
SourceTree read_source_tree(const std::string& root);

// The table under "may include" in the text of docs/architecture.md.
LayerTable parse_layer_table(std::string_view markdown);

// The folders named in the DEPS of each heddle_library(...) of the text of CMakeLists.txt.
LayerTable parse_cmake_links(std::string_view cmake);

using Breaches = std::vector<std::string>;

Breaches folders_without_row(const SourceTree& tree, const LayerTable& table);
Breaches folders_in_cycles(const LayerTable& table);
Breaches links_off_the_table(const LayerTable& links, const LayerTable& table);
Breaches includes_off_the_table(const SourceTree& tree, const LayerTable& table);
Breaches includes_not_found(const SourceTree& tree);
Breaches headers_in_cycles(const SourceTree& tree);
Breaches hidden_packages_in_public_headers(const SourceTree& tree);
Breaches internal_headers_included_from_outside(const SourceTree& tree);
Breaches public_headers_too_deep(const SourceTree& tree);
Breaches sources_that_do_not_include_their_header_first(const SourceTree& tree);
Breaches files_too_long(const SourceTree& tree);
Breaches lines_too_long(const SourceTree& tree);

}  // namespace heddle::layers
