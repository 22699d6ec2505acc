// A file's bytes, to be searched.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::pjrt {

// Mapped for reading. Empty where that cannot be done.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // All from the first place of `bytes` on; empty where they are not in it.
  [[nodiscard]] std::string_view from(std::string_view bytes) const;

  // Whether it has this text of a program, and not as a part of a longer one: such texts end with a
  // zero, and follow another's.
  [[nodiscard]] bool has_text(std::string_view text) const;

 private:
  void* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace heddle::pjrt
