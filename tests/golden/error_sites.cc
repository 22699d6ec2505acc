#include "heddle/tests/golden/error_sites.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle::golden {
namespace {

constexpr std::string_view kCall = "in.error(";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The end of the literal of text or character that begins at `at`.
size_t past_literal(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

// The arguments of a call, from behind its bracket.
std::vector<std::string> arguments_at(std::string_view text, size_t at) {
  std::vector<std::string> arguments(1);
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == '"' || c == '\'') end = past_literal(text, at);
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && depth-- == 0) return arguments;
    if (c == ',' && depth == 0) {
      arguments.emplace_back();
    } else {
      arguments.back().append(text.substr(at, end - at));
    }
    at = end;
  }
  return arguments;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n");
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

// The text of an argument that is one or several literals; "" of any other.
std::string text_of(const std::string& argument) {
  std::string out;
  for (size_t at = 0; at < argument.size();) {
    if (argument[at] == ' ' || argument[at] == '\n') {
      ++at;
      continue;
    }
    if (argument[at] != '"') return "";
    const size_t end = past_literal(argument, at);
    out += argument.substr(at + 1, end - at - 2);
    at = end;
  }
  return out;
}

}  // namespace

std::vector<ErrorSite> error_sites_in(const std::string& folder) {
  std::vector<ErrorSite> sites;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().generic_string();
    if (!(file.ends_with(".cc") || file.ends_with(".h")) || file.find("test") != std::string::npos)
      continue;
    const std::string text = read_file(entry.path());
    for (size_t at = text.find(kCall); at != std::string::npos; at = text.find(kCall, at + 1)) {
      ErrorSite site{.file = file,
                     .line = 1 + static_cast<int>(std::count(
                                     text.begin(), text.begin() + static_cast<long>(at), '\n'))};
      for (const std::string& argument : arguments_at(text, at + kCall.size()))
        site.parts.push_back(text_of(trimmed(argument)));
      sites.push_back(std::move(site));
    }
  }
  std::ranges::sort(sites, {},
                    [](const ErrorSite& site) { return std::pair(site.file, site.line); });
  return sites;
}

bool can_write(const ErrorSite& site, const std::string& message) {
  size_t at = message.find(": ");
  if (at == std::string::npos) return false;
  at += 2;
  bool after_value = false;
  for (const std::string& part : site.parts) {
    if (part.empty()) {
      after_value = true;
      continue;
    }
    const size_t found = message.find(part, at);
    if (found == std::string::npos || (!after_value && found != at)) return false;
    at = found + part.size();
    after_value = false;
  }
  return after_value || at == message.size();
}

}  // namespace heddle::golden
