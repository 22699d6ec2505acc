#include "heddle/pjrt/internal/mapped_file.h"

#include <cstring>

namespace heddle::pjrt {

MappedFile::MappedFile(const std::string& path) {
  StatusOr<base::MappedFile> file = base::MappedFile::open(path);
  if (file.ok()) file_.emplace(*std::move(file));
}

std::string_view MappedFile::from(std::string_view bytes) const {
  const std::string_view all = file_ ? file_->bytes() : std::string_view();
  const void* found = memmem(all.data(), all.size(), bytes.data(), bytes.size());
  if (found == nullptr || all.empty()) return {};
  return all.substr(static_cast<size_t>(static_cast<const char*>(found) - all.data()));
}

bool MappedFile::has_text(std::string_view text) const {
  std::string whole(1, '\0');
  whole.append(text).push_back('\0');
  return !from(whole).empty();
}

}  // namespace heddle::pjrt
