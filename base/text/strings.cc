#include "heddle/base/text/strings.h"

#include <charconv>

namespace heddle::base::strings_internal {
namespace {

template <class T>
void append_chars(std::string& out, T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

}  // namespace

void append_number(std::string& out, long long value) { append_chars(out, value); }
void append_number(std::string& out, unsigned long long value) { append_chars(out, value); }
void append_number(std::string& out, float value) { append_chars(out, value); }
void append_number(std::string& out, double value) { append_chars(out, value); }
void append_number(std::string& out, long double value) { append_chars(out, value); }

}  // namespace heddle::base::strings_internal
