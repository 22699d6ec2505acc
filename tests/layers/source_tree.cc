#include "heddle/tests/layers/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace heddle::layers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwn = "heddle/";

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".def"); }
bool is_test(std::string_view path) {
  return path.ends_with("_test.cc") || path.ends_with("_test.h");
}
bool is_internal(std::string_view path) {
  return path.find("/internal/") != path.npos || path.starts_with("hlo/ops/") ||
         path.starts_with("interpreter/ops/");
}

// "hlo" of "hlo/ops/contraction/dot.cc"; "" of "heddle.h".
std::string folder_of(std::string_view path) {
  const size_t slash = path.find('/');
  return slash == path.npos ? "" : std::string(path.substr(0, slash));
}

bool is_program_folder(std::string_view folder) {
  return folder == "tools" || folder == "examples" || folder == "bench" || folder == "tests";
}

bool is_public(std::string_view path) {
  return is_header(path) && !is_internal(path) && !is_test(path) &&
         !is_program_folder(folder_of(path));
}

bool is_generated(std::string_view path) { return path.ends_with(".pb.h"); }

// The path in the tree of an include of our own; "" for one of another package.
std::string own(const Include& include) {
  return include.path.starts_with(kOwn) ? include.path.substr(kOwn.size()) : "";
}

std::string at(const std::string& path, const Include& include) {
  return path + ":" + std::to_string(include.line) + ": includes " + include.path;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

using Edges = std::map<std::string, std::set<std::string>>;

// Finds paths of a graph that lead back to where they began, and the longest one from each node.
class Walk {
 public:
  explicit Walk(Edges edges) : edges_(std::move(edges)) {}

  // The number of edges on the longest path from `node`; an edge back to the path is noted in
  // cycles().
  int depth(const std::string& node) {
    if (const auto known = depth_.find(node); known != depth_.end()) return known->second;
    path_.push_back(node);
    int deepest = 0;
    for (const std::string& next : edges_[node]) {
      if (std::find(path_.begin(), path_.end(), next) != path_.end()) {
        cycles_.push_back(node + " comes back to " + next);
      } else {
        deepest = std::max(deepest, 1 + depth(next));
      }
    }
    path_.pop_back();
    return depth_[node] = deepest;
  }

  Breaches cycles() {
    for (const auto& [node, to] : std::map(edges_)) depth(node);
    return cycles_;
  }

 private:
  Edges edges_;
  std::map<std::string, int> depth_;
  std::vector<std::string> path_;
  Breaches cycles_;
};

Edges header_edges(const SourceTree& tree) {
  Edges edges;
  for (const auto& [path, file] : tree) {
    for (const Include& include : file.includes) {
      if (is_header(path) && tree.contains(own(include))) edges[path].insert(own(include));
    }
  }
  return edges;
}

Edges within_folders(Edges edges) {
  for (auto& [path, to] : edges) {
    const std::string folder = folder_of(path);
    std::erase_if(to, [&](const std::string& other) { return folder_of(other) != folder; });
  }
  return edges;
}

bool allows(const std::set<std::string>& row, const std::string& path) {
  return std::any_of(row.begin(), row.end(), [&](const std::string& item) {
    return item == kEverything ||
           (item.find('/') == item.npos ? folder_of(path) == item : path.starts_with(item));
  });
}

bool may_include(const std::string& folder, const std::string& header, const LayerTable& table) {
  return folder_of(header) == folder || allows(table.at(folder), header);
}

// A unit test may say "heddle/testing.h" where the folder may include all that this header does.
bool is_umbrella_within(const std::string& folder, const std::string& header,
                        const SourceTree& tree, const LayerTable& table) {
  if (!folder_of(header).empty() || !tree.contains(header)) return false;
  const std::vector<Include>& includes = tree.at(header).includes;
  return std::all_of(includes.begin(), includes.end(), [&](const Include& include) {
    return own(include).empty() || may_include(folder, own(include), table);
  });
}

// Unit tests above hlo/ run what they make on the interpreter, whichever way their folder lies.
bool is_oracle(const std::string& folder, const std::string& header) {
  return folder != "base" && folder != "hlo" && folder_of(header) == "interpreter" &&
         is_public(header);
}

bool starts_with_any(const std::string& text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool is_hidden_package(const std::string& include) {
  return is_generated(include) ||
         starts_with_any(include, {"absl/", "Eigen/", "unsupported/", "llvm/", "google/protobuf/"});
}

// What stands in `text` between the first `open` and the next `close` after it; nothing where one
// is missing.
std::optional<std::string> between(const std::string& text, std::string_view open,
                                   std::string_view close) {
  const size_t begin = text.find(open);
  if (begin == text.npos) return std::nullopt;
  const size_t end = text.find(close, begin + open.size());
  if (end == text.npos) return std::nullopt;
  return text.substr(begin + open.size(), end - begin - open.size());
}

// "x" of a line `#include "x"` or `#include <x>`.
std::optional<std::string> included(const std::string& line) {
  std::string squeezed;
  for (char c : line) {
    if (c != ' ' && c != '\t') squeezed += c;
  }
  if (squeezed.starts_with("#include\"")) return between(squeezed, "\"", "\"");
  if (squeezed.starts_with("#include<")) return between(squeezed, "<", ">");
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// A letter of several bytes is one.
int columns(std::string_view line) {
  return static_cast<int>(
      std::ranges::count_if(line, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// Of raw strings without a word of their own: R"( .. )".
bool ends_in_raw_string(std::string_view line, bool begins_in_one) {
  bool in_one = begins_in_one;
  for (size_t at = 0; at != line.npos;) {
    const std::string_view mark = in_one ? ")\"" : "R\"(";
    at = line.find(mark, at);
    if (at == line.npos) break;
    at += mark.size();
    in_one = !in_one;
  }
  return in_one;
}

}  // namespace

SourceFile parse_source(std::string_view text) {
  SourceFile file;
  bool in_raw_string = false;
  for (const std::string& line : split(std::string(text), '\n')) {
    ++file.lines;
    const bool begins_in_text = in_raw_string;
    in_raw_string = ends_in_raw_string(line, in_raw_string);
    // A program in a raw string is written as its language has it.
    const bool is_text = begins_in_text || in_raw_string;
    if (columns(line) > kMaxColumns && !is_text) file.long_lines.push_back(file.lines);
    if (const std::optional<std::string> path = included(line))
      file.includes.push_back({*path, file.lines});
  }
  return file;
}

SourceTree read_source_tree(const std::string& root) {
  SourceTree tree;
  const auto add = [&](const fs::path& path) {
    const fs::path extension = path.extension();
    if (extension != ".h" && extension != ".cc" && extension != ".def") return;
    tree[path.lexically_relative(root).generic_string()] = parse_source(read_file(path));
  };
  for (const fs::directory_entry& top : fs::directory_iterator(root)) {
    const std::string name = top.path().filename().string();
    if (top.is_regular_file()) add(top.path());
    if (!top.is_directory() || name == "build" || name.starts_with('.')) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  return tree;
}

LayerTable parse_layer_table(std::string_view markdown) {
  LayerTable table;
  for (const std::string& line : split(std::string(markdown), '\n')) {
    const std::vector<std::string> cells =
        split(line, '|');  // "", folders, what lives there, may include
    if (cells.size() != 4) continue;
    const std::vector<std::string> allowed = words(cells[3]);
    for (const std::string& folder : words(cells[1])) {
      if (folder.ends_with('/'))
        table[folder.substr(0, folder.size() - 1)] = {allowed.begin(), allowed.end()};
    }
  }
  return table;
}

LayerTable parse_cmake_links(std::string_view cmake) {
  LayerTable links;
  for (const std::string& line : split(std::string(cmake), '\n')) {
    if (!line.starts_with("heddle_library(")) continue;
    const std::vector<std::string> call = words(between(line, "(", ")").value_or(""));
    std::set<std::string>& to = links[call.at(0)];
    for (size_t i = 1; i < call.size(); ++i) {
      if (call[i].find_first_of(":$") == call[i].npos && call[i] != "DEPS" && call[i] != "PRIVATE")
        to.insert(call[i]);
    }
  }
  return links;
}

Breaches folders_without_row(const SourceTree& tree, const LayerTable& table) {
  std::set<std::string> missing;
  for (const auto& [path, file] : tree) {
    if (const std::string folder = folder_of(path); !folder.empty() && !table.contains(folder))
      missing.insert(folder);
  }
  return {missing.begin(), missing.end()};
}

Breaches folders_in_cycles(const LayerTable& table) {
  LayerTable edges;
  for (const auto& [folder, row] : table) {
    for (const std::string& item : row) {
      if (item != kEverything) edges[folder].insert(item.substr(0, item.find('/')));
    }
  }
  return Walk(std::move(edges)).cycles();
}

Breaches links_off_the_table(const LayerTable& links, const LayerTable& table) {
  Breaches breaches;
  for (const auto& [folder, to] : links) {
    std::set<std::string> allowed;
    for (const std::string& item :
         table.contains(folder) ? table.at(folder) : std::set<std::string>()) {
      allowed.insert(item.substr(0, item.find('/')));
    }
    if (to != allowed)
      breaches.push_back(folder + ": DEPS in CMakeLists.txt differs from docs/architecture.md");
  }
  return breaches;
}

Breaches includes_off_the_table(const SourceTree& tree, const LayerTable& table) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    const std::string folder = folder_of(path);
    if (!table.contains(folder))
      continue;  // folders_without_row has said so; the top may include everything
    for (const Include& include : file.includes) {
      const std::string to = own(include);
      if (to.empty() || may_include(folder, to, table)) continue;
      if (is_test(path) && (is_umbrella_within(folder, to, tree, table) || is_oracle(folder, to)))
        continue;
      breaches.push_back(at(path, include) + "; " + folder + "/ may not");
    }
  }
  return breaches;
}

Breaches includes_not_found(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const Include& include : file.includes) {
      const std::string to = own(include);
      if (to.empty() ? tree.contains(include.path) || tree.contains(folder + include.path)
                     : !tree.contains(to) && !is_generated(to)) {
        breaches.push_back(at(path, include) + "; ours are spelled heddle/FOLDER/FILE.h");
      }
    }
  }
  return breaches;
}

Breaches headers_in_cycles(const SourceTree& tree) { return Walk(header_edges(tree)).cycles(); }

Breaches hidden_packages_in_public_headers(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    for (const Include& include : file.includes) {
      const bool converts = path == "base/absl_status.h" && include.path.starts_with("absl/");
      if (is_public(path) && is_hidden_package(include.path) && !converts)
        breaches.push_back(at(path, include));
    }
  }
  return breaches;
}

Breaches internal_headers_included_from_outside(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    for (const Include& include : file.includes) {
      const std::string to = own(include);
      if (!is_internal(to)) continue;
      if (is_public(path) || folder_of(to) != folder_of(path))
        breaches.push_back(at(path, include));
    }
  }
  return breaches;
}

Breaches public_headers_too_deep(const SourceTree& tree) {
  Walk walk(within_folders(header_edges(tree)));
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    if (!is_public(path) || walk.depth(path) <= kMaxDepth) continue;
    breaches.push_back(path + " stands on " + std::to_string(walk.depth(path)) +
                       " levels of headers of its folder");
  }
  return breaches;
}

Breaches sources_that_do_not_include_their_header_first(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    if (!path.ends_with(".cc")) continue;
    const std::string header = path.substr(0, path.size() - 2) + "h";
    if (!tree.contains(header)) continue;
    if (file.includes.empty() || own(file.includes[0]) != header) breaches.push_back(path);
  }
  return breaches;
}

Breaches lines_too_long(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    for (int line : file.long_lines)
      breaches.push_back(path + ":" + std::to_string(line) + ": has more than " +
                         std::to_string(kMaxColumns) + " columns");
  }
  return breaches;
}

Breaches files_too_long(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, file] : tree) {
    if (file.lines > kMaxLines)
      breaches.push_back(path + " has " + std::to_string(file.lines) + " lines");
  }
  return breaches;
}

}  // namespace heddle::layers
