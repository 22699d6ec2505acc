#include "heddle/tests/golden/golden_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "heddle/hlo/text.h"

namespace heddle::golden {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

constexpr std::string_view kBecomes = "// ----- becomes";
constexpr std::string_view kPass = "// pass:";

std::string trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// "simplify" of "// pass: simplify   rule: x".
std::string passes_in(std::string_view head) {
  if (!head.starts_with(kPass)) return "";
  head.remove_prefix(kPass.size());
  return trimmed(head.substr(0, head.find("rule:")));
}

}  // namespace

bool updating() {
  const char* value = std::getenv("UPDATE_GOLDEN");
  return value != nullptr && std::string_view(value) == "1";
}

bool is_lines_alone(const std::string& text) {
  return text.find("HloModule") == std::string::npos && text.find("ENTRY") == std::string::npos;
}

std::vector<std::string> golden_paths(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

StatusOr<GoldenFile> read_golden(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::not_found(path, ": cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  GoldenFile file{.path = path};
  std::string* part = &file.head;
  for (const std::string& line : lines_of(text.str())) {
    if (part == &file.head && !line.starts_with("//")) part = &file.input;
    if (line == kBecomes) {
      part = &file.expected;
      continue;
    }
    base::append(*part, line, "\n");
  }
  file.passes = passes_in(file.head.substr(0, file.head.find('\n')));
  return file;
}

StatusOr<hlo::Module> parse_golden(const std::string& text) {
  if (!is_lines_alone(text)) return hlo::parse_text(text);
  return hlo::parse_text(base::cat("ENTRY main {\n", text, "}\n"));
}

std::string print_golden(const hlo::Module& module) {
  std::vector<std::string> lines =
      lines_of(hlo::print(module, {.form = hlo::PrintOptions::Form::kShort, .metadata = false}));
  std::string out;
  bool alone = module.computations.size() == 1;
  bool blank = true;  // no blank line at the top
  for (const std::string& line : lines) {
    if (line.starts_with("HloModule")) continue;
    if (alone && (line.starts_with("ENTRY") || line.starts_with("}") || line.empty())) continue;
    if (blank && line.empty()) continue;
    blank = line.empty();
    base::append(out, alone ? trimmed(line) : line, "\n");
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

Status write_golden(const GoldenFile& file, const std::string& expected) {
  std::ofstream out(file.path, std::ios::binary);
  out << file.head << file.input << kBecomes << "\n" << expected;
  if (!out) return base::not_found(file.path, ": cannot be written");
  return {};
}

}  // namespace heddle::golden
