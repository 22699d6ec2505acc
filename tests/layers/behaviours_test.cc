// The numbers of docs/behaviours.md: each behaviour of the two studies has a test with its number,
// or a row that says why not.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"

namespace heddle::layers {
namespace {

using Rows = std::map<int, std::string>;  // number to reason

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << "cannot read " << path << "; run from the project's root";
  return {std::istreambuf_iterator<char>(in), {}};
}

// N of each TEST(Suite, N0.._..) and TEST(SuiteSpmd, ..).
std::set<int> tested(const std::string& source, const std::string& suite) {
  const std::regex test("TEST\\(" + suite + "(Spmd)?, N([0-9]+)_");
  std::set<int> numbers;
  for (std::sregex_iterator it(source.begin(), source.end(), test), end; it != end; ++it)
    numbers.insert(std::stoi((*it)[2]));
  return numbers;
}

// "| 2, 6, 50-61 | reason |": the reason for each number.
Rows rows_of(const std::string& table) {
  const std::regex row("\\| ([0-9][0-9, -]*) \\| ([^\n]*) \\|"), range("([0-9]+)(-([0-9]+))?");
  Rows rows;
  for (std::sregex_iterator it(table.begin(), table.end(), row), end; it != end; ++it) {
    const std::string numbers = (*it)[1];
    for (std::sregex_iterator r(numbers.begin(), numbers.end(), range); r != end; ++r) {
      const int first = std::stoi((*r)[1]), last = (*r)[3].matched ? std::stoi((*r)[3]) : first;
      for (int n = first; n <= last; ++n) rows[n] = (*it)[2];
    }
  }
  return rows;
}

// What is wrong with the numbers 1 .. count, in words.
std::vector<std::string> breaches(const std::set<int>& tests, const Rows& rows, int count) {
  std::vector<std::string> found;
  const auto note = [&](int n, const char* what) { found.push_back(std::to_string(n) + what); };
  for (int n = 1; n <= count; ++n) {
    if (!tests.contains(n) && !rows.contains(n)) note(n, " has neither test nor row");
  }
  for (const auto& [n, reason] : rows) {
    const bool is_part = reason.starts_with("(part");
    if (n > count) note(n, " is no number of the list");
    if (tests.contains(n) && !is_part) note(n, " has a test and a row that says it has none");
    if (!tests.contains(n) && is_part) note(n, " has a row for a part, and no test of the rest");
  }
  for (int n : tests) {
    if (n < 1 || n > count) note(n, " is the number of a test, and none of the list");
  }
  return found;
}

struct Study {
  const char* heading;  // of its section
  const char* suite;
  int count;
};
constexpr Study kStudies[] = {{"## torch_xla", "TorchXla", 87}, {"## JAX", "Jax", 174}};

TEST(Behaviours, EachNumberHasATestOrARow) {
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator("tests/behaviours"))
    sources += read(file.path());
  const std::string page = read("docs/behaviours.md");
  for (const Study& study : kStudies) {
    const size_t begin = page.find(study.heading);
    ASSERT_NE(begin, page.npos);
    const std::string section = page.substr(begin, page.find("\n## ", begin) - begin);
    EXPECT_THAT(breaches(tested(sources, study.suite), rows_of(section), study.count), IsEmpty())
        << study.suite;
  }
}

TEST(Behaviours, WhatIsMissingOrDoubledIsFound) {
  using ::testing::ElementsAre;
  const std::set<int> tests = tested(
      "TEST(Jax, N002_A) {}\nTEST(Jax, N04_B) {}\nTEST(JaxSpmd, N005_C)\nTEST(TorchXla, N9_)",
      "Jax");
  EXPECT_THAT(tests, ElementsAre(2, 4, 5));
  const Rows rows =
      rows_of("| no. | why |\n|---|---|\n| 1 | no |\n| 4 | (part: x) no |\n| 7-8 | no |\n");
  EXPECT_THAT(breaches(tests, rows, 8),
              ElementsAre("3 has neither test nor row", "6 has neither test nor row"));
  EXPECT_THAT(breaches({1, 4}, rows, 4),
              ElementsAre("2 has neither test nor row", "3 has neither test nor row",
                          "1 has a test and a row that says it has none",
                          "7 is no number of the list", "8 is no number of the list"));
  EXPECT_THAT(breaches({2}, {{1, "(part: y)"}}, 2),
              ElementsAre("1 has a row for a part, and no test of the rest"));
}

}  // namespace
}  // namespace heddle::layers
