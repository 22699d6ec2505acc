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

// The bytes of a regular file, as pages that the system reads when they are looked at. Another
// program must not make the file shorter meanwhile: the system ends who reads what is gone. A file
// that is replaced by another of its name, as NewFile does it, stays as it was.
class MappedFile {
 public:
  // errors: NotFound for what is not there, is no regular file or cannot be read; InvalidArgument
  // for an empty path; ResourceExhausted where there is no room to map it
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

// A file that has its name once it is whole and on the disk: until commit() what was there stays as
// it was, and is left alone where writing fails. It is written beside its place, as
// ".heddle-*.tmp", which goes with this object; a process that is killed leaves it behind.
class NewFile {
 public:
  // Follows symbolic links: what they name is replaced, not they. A file that is there keeps its
  // permissions.
  // errors: InvalidArgument for an empty path; Unavailable where the file cannot be written, or is
  // there and no regular file
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

  std::string path_, target_;  // as given; where its links lead
  std::string unfinished_;     // empty: done
  int file_ = -1;
};

}  // namespace heddle::base
