// Files of the user's: mapped for reading, and written whole or not at all.
//
//   HEDDLE_ASSIGN_OR_RETURN(base::MappedFile file, base::MappedFile::open(path));
//   parse(file.bytes());
//
//   HEDDLE_ASSIGN_OR_RETURN(base::NewFile out, base::NewFile::create(path));
//   HEDDLE_RETURN_IF_ERROR(out.write(bytes));
//   HEDDLE_RETURN_IF_ERROR(out.commit());
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/base/status.h"

namespace heddle::base {

// The bytes of a regular file, as pages that the system reads at their first use. Another program
// must not make the file shorter meanwhile: the system ends a process that reads bytes that are
// gone. If another file takes its name, as NewFile does, the mapped file stays as it was.
class MappedFile {
 public:
  // errors: NotFound if it is not there, is no regular file or cannot be read; InvalidArgument for
  // an empty path; ResourceExhausted if there is no room to map it
  static StatusOr<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& from) noexcept
      : bytes_(std::exchange(from.bytes_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  MappedFile(void* bytes, size_t size) : bytes_(bytes), size_(size) {}
  void* bytes_ = nullptr;  // null: an empty file
  size_t size_ = 0;
};

// A file that gets its name once it is whole and on the disk. Until commit(), and if writing fails,
// the old file stays as it was. The bytes go to ".heddle-*.tmp" beside its place, which this object
// removes; a process that is killed leaves it behind.
class NewFile {
 public:
  // Follows symbolic links: it replaces the file that they name. An old file keeps its permissions.
  // errors: InvalidArgument for an empty path; Unavailable if the file cannot be written, or is not
  // a regular file
  static StatusOr<NewFile> create(const std::string& path);

  NewFile(NewFile&& from) noexcept
      : path_(std::move(from.path_)),
        target_(std::move(from.target_)),
        unfinished_(std::exchange(from.unfinished_, {})),
        file_(std::exchange(from.file_, -1)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  // errors: Unavailable
  Status write(std::string_view bytes);
  // Waits until the bytes are on the disk, and gives the file its name. Once.
  // errors: Unavailable
  Status commit();

 private:
  NewFile(std::string path, std::string target, std::string unfinished, int file)
      : path_(std::move(path)),
        target_(std::move(target)),
        unfinished_(std::move(unfinished)),
        file_(file) {}
  [[nodiscard]] Status failed() const;

  std::string path_, target_;  // as given; and where its links lead
  std::string unfinished_;     // empty: done
  int file_ = -1;
};

}  // namespace heddle::base
