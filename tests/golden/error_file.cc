#include "heddle/tests/golden/error_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "heddle/tests/golden/golden_file.h"

namespace heddle::golden {
namespace {

constexpr std::string_view kCase = "// verify   tag: ";
constexpr std::string_view kError = "  // error: ";

// "12:5: add: .." and the lines that show the place.
struct Message {
  size_t line = 1;
  std::string text;
};

Message read_message(const Status& status) {
  const std::string all = base::message_of(status);
  Message message{1, all.substr(0, all.find('\n'))};
  const char* begin = message.text.data();
  const char* end = begin + message.text.size();
  const auto line = std::from_chars(begin, end, message.line);
  if (line.ec != std::errc() || line.ptr == end || *line.ptr != ':') return message;
  size_t column = 0;
  const auto after = std::from_chars(line.ptr + 1, end, column);
  if (after.ec == std::errc()) message.text.erase(0, static_cast<size_t>(after.ptr - begin) + 2);
  return message;
}

}  // namespace

StatusOr<ErrorFile> read_errors(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::not_found(path, ": cannot be read");
  ErrorFile file{.path = path};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kCase)) {
      file.cases.push_back({.tag = line.substr(kCase.size())});
    } else if (file.cases.empty()) {
      base::append(file.head, line, "\n");
    } else if (!line.empty()) {
      base::append(file.cases.back().text, line.substr(0, line.find(kError)), "\n");
      base::append(file.cases.back().expected, line, "\n");
    }
  }
  return file;
}

std::string with_error(const std::string& text) {
  auto module = parse_golden(text);
  if (module.ok()) return text;
  Message message = read_message(module.status());
  if (is_lines_alone(text) && message.line > 1) --message.line;
  std::vector<std::string> lines = lines_of(text);
  base::append(lines[std::min(message.line, lines.size()) - 1], kError, message.text);
  return base::join(lines, "\n") + "\n";
}

std::vector<std::string> messages_in(const std::string& text) {
  std::vector<std::string> messages;
  for (const std::string& line : lines_of(text)) {
    if (size_t at = line.find(kError); at != std::string::npos)
      messages.push_back(line.substr(at + kError.size()));
  }
  return messages;
}

Status write_errors(const ErrorFile& file) {
  std::ofstream out(file.path, std::ios::binary);
  out << file.head;
  for (const ErrorCase& item : file.cases) {
    out << (&item == &file.cases.front() ? "" : "\n") << kCase << item.tag << "\n"
        << with_error(item.text);
  }
  if (!out) return base::not_found(file.path, ": cannot be written");
  return {};
}

}  // namespace heddle::golden
