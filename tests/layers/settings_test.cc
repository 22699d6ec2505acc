// base/settings.def lists the environment variables: nothing else reads one, and the docs name no
// other.
#include "heddle/base/settings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/tests/layers/source_tree.h"

namespace heddle::layers {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << "cannot read " << path << "; run from the project's root";
  return {std::istreambuf_iterator<char>(in), {}};
}

// Tests set and restore variables, and have UPDATE_GOLDEN.
bool is_of_tests(const std::string& path) {
  return path.starts_with("tests/") || path.ends_with("_test.cc") || path.ends_with("_test.h");
}

bool reads_the_environment(const std::string& source) {
  static const std::regex kCall(R"(\b(secure_)?getenv\s*\()"), kComment("//[^\n]*");
  return std::regex_search(std::regex_replace(source, kComment, ""), kCall);
}

bool is_known(const std::string& name) {
  return name.starts_with("HEDDLE_TEST_") ||
         std::ranges::count(settings_internal::kRows, name, &settings_internal::Row::name) > 0;
}

// The variables that a page speaks of: `HEDDLE_X`, HEDDLE_X=value. Options of CMake are not.
std::set<std::string> unknown_variables(const std::string& page) {
  static const std::regex kVariable(R"((-D\s*)?\b(HEDDLE_[A-Z_]+)(`|=))");
  std::set<std::string> unknown;
  for (std::sregex_iterator at(page.begin(), page.end(), kVariable), end; at != end; ++at)
    if (!(*at)[1].matched && !is_known((*at)[2])) unknown.insert((*at)[2]);
  return unknown;
}

TEST(Settings, AreReadInOnePlace) {
  std::vector<std::string> readers;
  for (const auto& [path, file] : read_source_tree("."))
    if (!is_of_tests(path) && reads_the_environment(read(path))) readers.push_back(path);
  EXPECT_THAT(readers, ElementsAre("base/settings.cc"));
}

TEST(Settings, OfTheDocsAreRead) {
  std::vector<std::filesystem::path> pages = {"README.md", "dev"};
  for (const auto& file : std::filesystem::directory_iterator("docs"))
    if (file.path().extension() == ".md") pages.push_back(file.path());
  for (const auto& page : pages) EXPECT_THAT(unknown_variables(read(page)), IsEmpty()) << page;
}

TEST(Settings, ABreachIsFound) {
  EXPECT_TRUE(reads_the_environment("const char* x = std::getenv(\"HEDDLE_X\");"));
  EXPECT_FALSE(reads_the_environment("// as getenv() gives it\nint x = 1;"));
  EXPECT_THAT(unknown_variables("`HEDDLE_CACHE=0`, `HEDDLE_CAHCE`, -DHEDDLE_WERROR=ON, HEDDLE_X=1"),
              ElementsAre("HEDDLE_CAHCE", "HEDDLE_X"));
}

}  // namespace
}  // namespace heddle::layers
