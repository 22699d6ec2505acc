#include "heddle/pjrt/internal/environment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "heddle/base/strings.h"

namespace heddle::pjrt {
namespace {

// A file's bytes, mapped for reading. Empty where that cannot be done.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
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
  ~MappedFile() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] bool contains(std::string_view text) const {
    return bytes_ != nullptr && memmem(bytes_, size_, text.data(), text.size()) != nullptr;
  }

 private:
  void* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_environment_variable(const std::string& name, const std::string& value) {
  setenv(name.c_str(), value.c_str(), /*overwrite=*/0);
}

void add_xla_option(const std::string& name, int64_t value) {
  std::string flags = environment_variable("XLA_FLAGS");
  if (flags.find(name) != std::string::npos) return;
  append(flags, flags.empty() ? "" : " ", "--xla_backend_extra_options=", name, "=", value);
  setenv("XLA_FLAGS", flags.c_str(), /*overwrite=*/1);
}

std::vector<std::string> flag_names(const std::string& flags) {
  std::vector<std::string> names;
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    if (word.compare(0, 2, "--") != 0) continue;  // XLA reads a file of flags there
    names.push_back(word.substr(2, word.find('=') - 2));
  }
  return names;
}

Status check_xla_flags(const std::string& plugin, const std::string& library) {
  const std::vector<std::string> names = flag_names(environment_variable("XLA_FLAGS"));
  if (names.empty()) return {};
  const MappedFile file(library);
  if (!file.contains("XLA_FLAGS")) return {};  // not XLA's, or nothing that can be read
  for (const std::string& name : names) {
    // Not a part of a longer name: texts of a program stand between zeros.
    const std::string text = '\0' + name + '\0';
    if (file.contains(text)) continue;
    return failed_precondition("plugin ", plugin, ": XLA_FLAGS has --", name,
                               ", which the plugin does not know and would end the process over; "
                               "take it out");
  }
  return {};
}

}  // namespace heddle::pjrt
