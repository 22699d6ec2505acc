#include "heddle/pjrt/internal/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace heddle::pjrt {

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat facts = {};
  if (fstat(file, &facts) == 0 && facts.st_size > 0) {
    const auto size = static_cast<size_t>(facts.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      bytes_ = bytes;
      size_ = size;
    }
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

std::string_view MappedFile::from(std::string_view bytes) const {
  if (bytes_ == nullptr) return {};
  const void* found = memmem(bytes_, size_, bytes.data(), bytes.size());
  if (found == nullptr) return {};
  const auto* begin = static_cast<const char*>(found);
  return {begin, static_cast<size_t>(static_cast<const char*>(bytes_) + size_ - begin)};
}

bool MappedFile::has_text(std::string_view text) const {
  std::string whole(1, '\0');
  whole.append(text).push_back('\0');
  return !from(whole).empty();
}

}  // namespace heddle::pjrt
