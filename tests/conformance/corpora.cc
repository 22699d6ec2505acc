#include "heddle/tests/conformance/corpora.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include "heddle/base/text/strings.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::conformance {

namespace fs = std::filesystem;

std::vector<std::string> packs_of(const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    const auto found = find_packs({folder});
    if (found.ok()) out.insert(out.end(), found->begin(), found->end());
  }
  return out;
}

std::vector<std::string> all_packs() {
  return packs_of(
      {kOwn, kOwnSpmd, base::cat(kShared, "/jaxtests"), base::cat(kShared, "/stablehlo")});
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  const fs::path path(info.param);
  const std::string pack = path.filename().string();
  return path.parent_path().filename().string() + "_" + pack.substr(0, pack.find('.'));
}

std::map<std::string, std::string> known_differences() {
  std::map<std::string, std::string> out;
  std::ifstream in("docs/conformance.md");
  const std::regex row(R"(\| `([^`]+)` \| (.+) \|)");
  std::string line;
  while (std::getline(in, line) && line != "## The failures") continue;
  for (std::smatch m; std::getline(in, line) && !line.starts_with("## ");)
    if (std::regex_match(line, m, row)) out.emplace(m.str(1), m.str(2));
  return out;
}

}  // namespace heddle::conformance
