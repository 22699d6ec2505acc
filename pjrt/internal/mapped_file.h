// A file's bytes, to be searched.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/files.h"

namespace heddle::pjrt {

// Empty where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);

  // All from the first place of `bytes` on; empty where they are not in it.
  [[nodiscard]] std::string_view from(std::string_view bytes) const;

  // Whether it has this text of a program, and not as a part of a longer one: such texts end with a
  // zero, and follow another's.
  [[nodiscard]] bool has_text(std::string_view text) const;

 private:
  std::optional<base::MappedFile> file_;
};

}  // namespace heddle::pjrt
