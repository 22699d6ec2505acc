#include "heddle/base/system/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "heddle/base/text/strings.h"

namespace heddle::base {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAtOnce = size_t{1} << 30;  // Linux writes less than 2 GiB in a call

std::string reason_of(int error) { return std::generic_category().message(error); }

Status cannot_write(const std::string& path, std::string_view why) {
  return make_error(StatusCode::kUnavailable, path, ": cannot be written: ", why);
}

// In the same folder as the file, so that it can be renamed.
std::string unfinished_name(const fs::path& target) {
  static std::atomic<uint64_t> number{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string name = cat(".heddle-", getpid(), "-", now.tv_nsec, "-", number++, ".tmp");
  return (target.parent_path() / name).string();
}

}  // namespace

StatusOr<MappedFile> MappedFile::open(const std::string& path) {
  if (path.empty()) return invalid_argument("the path is empty; give a file a name");
  if (path.find('\0') != path.npos)
    return invalid_argument("the path has a zero byte, which would end it; leave it out");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT) return not_found(path, ": there is no such file");
    return not_found(path, ": cannot be read: ", reason_of(errno));
  }
  struct stat facts {};
  void* bytes = MAP_FAILED;
  const bool is_regular = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  const auto size = static_cast<size_t>(is_regular ? facts.st_size : 0);
  if (size > 0) bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (!is_regular) return not_found(path, ": is no regular file");
  if (size == 0) return MappedFile(nullptr, 0);
  if (bytes != MAP_FAILED) return MappedFile(bytes, size);
  if (error == ENOMEM) return resource_exhausted(path, ": takes more memory than there is");
  return not_found(path, ": cannot be read: ", reason_of(error));
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

StatusOr<NewFile> NewFile::create(const std::string& path) {
  if (path.empty()) return invalid_argument("the path is empty; give the file a name");
  if (path.find('\0') != path.npos)
    return invalid_argument("the path has a zero byte, which would end it; leave it out");
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(target, error))) target = fs::canonical(target, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return cannot_write(path, error.message());
  if (target.empty()) return cannot_write(path, "it is a link to a file that is not there");
  struct stat facts {};
  const bool is_there = stat(target.c_str(), &facts) == 0;
  if (is_there && !S_ISREG(facts.st_mode)) return cannot_write(path, "it is no regular file");
  if (is_there && access(target.c_str(), W_OK) != 0) return cannot_write(path, reason_of(errno));
  std::string unfinished = unfinished_name(target);
  const int file =
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return cannot_write(path, reason_of(errno));
  NewFile out(path, target.string(), std::move(unfinished), file);
  if (is_there && fchmod(file, facts.st_mode & 0777) != 0) return out.failed();
  return out;
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

Status NewFile::failed() const { return cannot_write(path_, reason_of(errno)); }

Status NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Status NewFile::commit() {
  if (fsync(file_) != 0) return failed();
  if (close(std::exchange(file_, -1)) != 0) return failed();
  if (rename(unfinished_.c_str(), target_.c_str()) != 0) return failed();
  unfinished_.clear();
  // The name is on the disk once the folder is. Some file systems cannot sync a folder; that is no
  // error.
  const fs::path parent = fs::path(target_).parent_path();
  const int folder =
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
  return {};
}

}  // namespace heddle::base
