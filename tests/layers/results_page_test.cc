// docs/results.md lists the fields of what functions return: names, shapes and dtypes, from the
// comments of the headers. UPDATE_GOLDEN=1 writes it anew (./dev docs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::layers {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "docs/results.md";

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Field {
  std::string name, comment;
};

std::string first_match(const std::string& text, const std::regex& pattern) {
  std::smatch m;
  return std::regex_search(text, m, pattern) ? m[1].str() : "";
}

// Fields of a struct of tensors alone; none of any other.
std::vector<Field> fields_of(const std::string& body) {
  static const std::regex kField("  Tensor (\\w+(, \\w+)*);( +// (.*))?");
  static const std::regex kMore(" {8,}// (.*)");
  std::vector<Field> fields;
  std::istringstream in(body);
  std::smatch m;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, m, kField))
      fields.push_back({m[1], m[4]});
    else if (std::regex_match(line, m, kMore) && !fields.empty())
      fields.back().comment += " " + m[1].str();
    else
      return {};
  }
  return fields;
}

// A row for each field of the structs that a function of the same header returns.
std::string rows_of(const std::string& header) {
  static const std::regex kStruct("\nstruct (\\w+) \\{\n((  .*\n| {8,}//.*\n)+)\\};");
  static const std::regex kSpace("\nnamespace heddle::(\\w+) \\{");
  const std::string space = first_match(header, kSpace);
  std::string rows;
  for (std::sregex_iterator at(header.begin(), header.end(), kStruct), end; at != end; ++at) {
    const std::vector<Field> fields = fields_of((*at)[2]);
    const std::regex returned("\n" + (*at)[1].str() + " (\\w+)\\(");
    std::string functions;
    for (std::sregex_iterator f(header.begin(), header.end(), returned); f != end; ++f) {
      const std::string name = "`" + (space.empty() ? "" : space + "::") + (*f)[1].str() + "`";
      if (functions.find(name) == std::string::npos)
        functions += (functions.empty() ? "" : ", ") + name;
    }
    if (functions.empty()) continue;
    for (const Field& field : fields) {
      rows += "| " + functions + " | `" + field.name + "` | " +
              std::regex_replace(field.comment, std::regex("\\|"), "\\|") + " |\n";
      functions = "";
    }
  }
  return rows;
}

std::string results_page() {
  std::string page =
      "# Results with fields\n\nFunctions that give several tensors return a struct: `linalg::Svd "
      "f = linalg::svd(a)` has `f.u`, and `auto [u, s, vh] = linalg::svd(a)`\ntakes it apart, in "
      "the order of the table. Made from the headers: `./dev docs` writes this page.\n\n"
      "| function | field | what it is |\n|---|---|---|\n";
  for (const char* folder : {"trace", "scan", "numpy", "linalg", "special", "random", "nn"}) {
    std::vector<fs::path> headers;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".h") headers.push_back(entry.path());
    std::sort(headers.begin(), headers.end());
    for (const fs::path& header : headers) page += rows_of(read(header));
  }
  return page;
}

TEST(ResultsPage, IsWhatTheHeadersSay) {
  const std::string page = results_page();
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && std::string(update) == "1")
    std::ofstream(kPath) << page;
  EXPECT_EQ(read(kPath), page) << kPath << " is out of date: run ./dev docs";
}

TEST(ResultsPage, HasAFieldInEachRowAndWhatItIs) {
  EXPECT_EQ(rows_of("\nnamespace heddle::box {\nstruct Lid {\n  Tensor up;    // s32[]: how far\n"
                    "                // it is up\n  Tensor down;  // f32[n]\n};\nLid lid(int x);\n"
                    "struct How {\n  Tensor by;  // f32[]\n};\nTensor f(const How& how);\n}"),
            "| `box::lid` | `up` | s32[]: how far it is up |\n|  | `down` | f32[n] |\n");
  std::istringstream page(results_page());
  const std::regex row("\\|.*\\| `\\w+` \\| .*[a-z0-9].* \\|");
  int rows = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.empty() || line[0] != '|' || line[1] == '-' || line.starts_with("| function"))
      continue;
    EXPECT_TRUE(std::regex_match(line, row)) << line << ": a field has a line of its own, with a "
                                             << "comment that tells its shape and dtype";
    ++rows;
  }
  EXPECT_GE(rows, 40);
}

}  // namespace
}  // namespace heddle::layers
