// The links of README.md and docs/: each goes to a file that is there and to a heading that it has,
// and the index names every page.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"

namespace heddle::layers {
namespace {

namespace fs = std::filesystem;

// What is behind "#" in a link to a heading, as GitHub makes it.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (c == ' ' || c == '-') out += '-';
    if (std::isalnum(u) || c == '_') out += static_cast<char>(std::tolower(u));
  }
  return out;
}

struct Page {
  std::set<std::string> anchors;
  std::vector<std::string> links;  // "errors.md", "tracing.md#trees", "#trees"
};

// Code, in blocks and in lines, has no links and no headings.
Page parse_page(const std::string& text) {
  static const std::regex kHeading("#+ +(.*)"), kCode("`[^`]*`"), kLink(R"(\]\(([^)]*)\))");
  Page page;
  std::map<std::string, int> seen;
  std::istringstream in(text);
  bool is_code = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) is_code = !is_code;
    if (is_code) continue;
    std::smatch m;
    if (std::regex_match(line, m, kHeading)) {
      const std::string anchor = anchor_of(m[1]);
      const int times = seen[anchor]++;
      page.anchors.insert(times ? anchor + "-" + std::to_string(times) : anchor);
    }
    line = std::regex_replace(line, kCode, "");
    for (std::sregex_iterator at(line.begin(), line.end(), kLink), end; at != end; ++at)
      page.links.push_back((*at)[1]);
  }
  return page;
}

// The text of a file, or nothing where there is none; a folder is there, without text.
using Read = std::function<std::optional<std::string>(const std::string&)>;

std::vector<std::string> broken_links(const std::vector<std::string>& pages, const Read& read) {
  std::vector<std::string> broken;
  for (const std::string& path : pages) {
    for (const std::string& link : parse_page(read(path).value_or("")).links) {
      if (link.starts_with("https://") || link.starts_with("http://")) continue;
      const size_t hash = std::min(link.find('#'), link.size());
      const std::string file = link.substr(0, hash);
      const std::string target =
          file.empty() ? path : (fs::path(path).parent_path() / file).lexically_normal().string();
      const std::optional<std::string> text = read(target);
      if (!text)
        broken.push_back(path + ": there is no " + target);
      else if (hash < link.size() && !parse_page(*text).anchors.count(link.substr(hash + 1)))
        broken.push_back(path + ": " + target + " has no heading " + link.substr(hash));
    }
  }
  return broken;
}

std::optional<std::string> read_project_file(const std::string& path) {
  if (fs::is_directory(path)) return "";
  std::ifstream in(path);
  if (!in) return {};
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::string> pages() {
  std::vector<std::string> out{"README.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator("docs"))
    if (entry.path().extension() == ".md") out.push_back(entry.path().string());
  return out;
}

TEST(Links, GoToFilesAndHeadingsThatAreThere) {
  EXPECT_THAT(broken_links(pages(), read_project_file), IsEmpty());
}

TEST(Links, OfTheIndexNameEveryPage) {
  std::set<std::string> named;
  for (const std::string& link : parse_page(read_project_file("docs/README.md").value_or("")).links)
    named.insert("docs/" + link.substr(0, link.find('#')));
  for (const std::string& page : pages()) {
    if (page == "README.md" || page == "docs/README.md") continue;
    EXPECT_TRUE(named.count(page)) << page << " has no link in docs/README.md";
  }
}

TEST(Links, ThatAreBrokenAreFound) {
  const std::map<std::string, std::string> files = {
      {"README.md", "[a](docs/a.md#two-words) [b](docs/b.md)\n`[c](docs/c.md)`\n"},
      {"docs/a.md",
       "# Two, words\n## x\n## x\n[x](#x-1) [y](#y) [up](../README.md)\n"
       "```\n# y\n[z](z.md)\n```\n[web](https://example.org/none)"},
  };
  auto read = [&](const std::string& path) -> std::optional<std::string> {
    const auto it = files.find(path);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  };
  EXPECT_THAT(
      broken_links({"README.md", "docs/a.md"}, read),
      ElementsAre("README.md: there is no docs/b.md", "docs/a.md: docs/a.md has no heading #y"));
}

}  // namespace
}  // namespace heddle::layers
