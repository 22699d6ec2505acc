#include "heddle/tests/laws/public_functions.h"

#include <cstdio>

namespace heddle::laws {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;)
    out.push_back(static_cast<char>(c));
  if (pipe != nullptr) pclose(pipe);
  return out;
}

// The text up to the mark, which is taken from it with the mark.
std::string take_to(char mark, std::string& text) {
  const size_t end = text.find(mark);
  std::string taken = text.substr(0, end);
  text.erase(0, end == text.npos ? end : end + 1);
  return taken;
}

}  // namespace

std::vector<PublicHeader> public_headers(const std::string& folders) {
  std::string text = output_of("python3 -B tests/layers/public_functions.py " + folders);
  std::vector<PublicHeader> headers;
  while (!text.empty()) {
    std::string line = take_to('\n', text);
    const std::string first = take_to('\t', line), second = take_to('\t', line);
    if (first.ends_with(".h"))
      headers.push_back({first, second, {}});
    else
      headers.back().functions.push_back({first, second, line});
  }
  return headers;
}

}  // namespace heddle::laws
