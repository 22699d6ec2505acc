// The caller's file and line. std::source_location is missing with clang 14 on libstdc++ 12, so
// this asks the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "heddle/base/text/strings.h"

namespace heddle {

struct SourceLocation {
  const char* file = "";  // static storage
  uint32_t line = 0;

  constexpr SourceLocation() = default;
  template <class File>  // 0 is no file: in array(values, {0, 3}) the braces are a shape
  requires std::is_convertible_v<File, const char*>
  constexpr SourceLocation(File file, uint32_t line) : file(file), line(line) {}

  // As a defaulted parameter this is the line of the call.
  static constexpr SourceLocation here(const char* file = __builtin_FILE(),
                                       uint32_t line = __builtin_LINE()) {
    return {file, line};
  }

  [[nodiscard]] constexpr bool known() const { return line != 0; }
};

// Returns "file.cc:41", the file without its folders.
[[nodiscard]] inline std::string to_string(const SourceLocation& at) {
  std::string_view file = at.file;
  size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return base::cat(file, ":", at.line);
}

}  // namespace heddle
