#include "heddle/runtime/cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <system_error>

#include "heddle/base/containers/span.h"
#include "heddle/base/hash.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/settings.h"
#include "heddle/base/system/sealed.h"
#include "heddle/base/text/strings.h"

namespace heddle::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".program";
constexpr std::string_view kUnfinished = ".tmp";
constexpr time_t kLongestWrite = 600;  // seconds; what is older was left by a process that is gone
constexpr int64_t kStoresBetweenCounts = 64;  // other processes store too
constexpr int64_t kWriters = 8;               // processes that store at once

// A file descriptor.
class Handle {
 public:
  explicit Handle(int number) : number_(number) {}
  Handle(Handle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (is_open()) close(number_);
  }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::string file_of(std::string_view key) {
  base::Hasher hasher;
  hasher.add_word(key.size());
  hasher.add_bytes(key.data(), key.size());
  return base::cat(to_string(hasher.digest()), kEnding);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

// Makes the folder and those above it, for the user alone. Not inside of another user's folder: who
// works as root in a user's home leaves nothing there that the user could not use.
void make_folder(const fs::path& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) == 0) return;
  const fs::path parent = folder.parent_path();
  if (parent.empty() || parent == folder) return;
  make_folder(parent);
  if (stat(parent.c_str(), &status) != 0) return;
  if (status.st_uid == geteuid() || status.st_uid == 0) mkdir(folder.c_str(), 0700);
}

Status unsafe(const std::string& folder, std::string_view why) {
  return base::failed_precondition("disk cache: ", folder, " ", why,
                                   ", so no program is read from it or written to it; make it a "
                                   "folder of your own with mode 700, or set HEDDLE_CACHE_DIR");
}

StatusOr<Handle> open_folder(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0)
    return base::not_found("disk cache: ", folder, ": ", reason_of(errno));
  if (status.st_uid != geteuid()) return unsafe(folder, "is another user's");
  Handle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!handle.is_open()) return base::not_found("disk cache: ", folder, ": ", reason_of(errno));
  if (fstat(handle.number(), &status) != 0 || status.st_uid != geteuid())
    return unsafe(folder, "is another user's");
  if ((status.st_mode & 077) != 0) return unsafe(folder, "may be used by other users");
  return handle;
}

struct File {
  std::string name;
  int64_t bytes = 0;
  timespec used_at{};
};

bool is_plain_and_own(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

// Calls visit(name) with the name of each file that ends so.
void for_each_name(const Handle& folder, std::string_view ending,
                   base::FunctionRef<void(const char*)> visit) {
  const int own = openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* names = own < 0 ? nullptr : fdopendir(own);
  if (names == nullptr) {
    if (own >= 0) close(own);
    return;
  }
  while (const dirent* entry = readdir(names)) {
    if (std::string_view(entry->d_name).ends_with(ending)) visit(entry->d_name);
  }
  closedir(names);
}

// The most recently used first.
std::vector<File> files_of(const Handle& folder) {
  std::vector<File> files;
  for_each_name(folder, kEnding, [&](const char* name) {
    struct stat status {};
    if (fstatat(folder.number(), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      files.push_back({name, status.st_size, status.st_mtim});
  });
  std::ranges::sort(files, [](const File& a, const File& b) {
    return std::tie(a.used_at.tv_sec, a.used_at.tv_nsec, a.name) >
           std::tie(b.used_at.tv_sec, b.used_at.tv_nsec, b.name);
  });
  return files;
}

void remove_unfinished(const Handle& folder) {
  for_each_name(folder, kUnfinished, [&](const char* name) {
    struct stat status {};
    if (fstatat(folder.number(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtime + kLongestWrite < time(nullptr))
      unlinkat(folder.number(), name, 0);
  });
}

DiskCache::Size prune_files(const Handle& folder, int64_t most_bytes, int64_t& left_bytes) {
  remove_unfinished(folder);
  DiskCache::Size removed;
  left_bytes = 0;
  bool is_full = false;
  for (const File& file : files_of(folder)) {
    is_full |= file.bytes > most_bytes - left_bytes;
    if (!is_full) {
      left_bytes += file.bytes;
    } else if (unlinkat(folder.number(), file.name.c_str(), 0) == 0) {
      ++removed.files;
      removed.bytes += file.bytes;
    }
  }
  return removed;
}

// By the fine clock: the file system's own goes on some milliseconds at a time.
void mark_used_now(const Handle& file) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[] = {now, now};
  futimens(file.number(), times);
}

// All of the file; nothing where it is none of ours.
struct Contents {
  std::string bytes;
  std::string problem;  // empty: read
  bool is_there = true;
};

Contents read_file(const Handle& folder, const std::string& name, int64_t most_bytes,
                   bool marks_use) {
  const Handle file(
      openat(folder.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return {.problem = reason_of(errno), .is_there = errno != ENOENT};
  struct stat status {};
  if (fstat(file.number(), &status) != 0 || !is_plain_and_own(status))
    return {.problem = "no file of this user's alone"};
  if (status.st_size > most_bytes) return {.problem = "larger than the cache may be"};
  Contents contents;
  try {
    contents.bytes.resize(static_cast<size_t>(status.st_size));
  } catch (const std::bad_alloc&) {
    return {.problem = "larger than the memory"};
  }
  for (size_t at = 0; at < contents.bytes.size();) {
    const ssize_t got = read(file.number(), contents.bytes.data() + at, contents.bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {.problem = "cut off"};
    at += static_cast<size_t>(got);
  }
  if (marks_use) mark_used_now(file);
  return contents;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

bool DiskCache::find(std::string_view key, base::FunctionRef<bool(std::string_view)> take) {
  const base::Span span(base::Activity::kDisk);
  const auto missed = [] {
    count(&Counters::disk_misses);
    return false;
  };
  const StatusOr<Handle> folder = open_folder(options_.folder);
  if (!folder.ok()) {
    tell(folder.status());
    return missed();
  }
  const std::string name = file_of(key);
  const Contents contents = read_file(*folder, name, options_.capacity_bytes, /*marks_use=*/true);
  if (!contents.is_there) return missed();
  const auto refused = [&] {
    count(&Counters::disk_refused);
    unlinkat(folder->number(), name.c_str(), 0);
    return missed();
  };
  if (!contents.problem.empty()) return refused();
  const StatusOr<base::Sealed> parts = base::open_sealed(contents.bytes);
  if (!parts.ok() || parts->key != key || !take(parts->payload)) return refused();
  count(&Counters::disk_hits);
  count(&Counters::disk_read_bytes, static_cast<int64_t>(contents.bytes.size()));
  return true;
}

void DiskCache::store(std::string_view key, std::string_view about, std::string_view payload) {
  const base::Span span(base::Activity::kDisk);
  static std::atomic<uint64_t> number{0};
  make_folder(options_.folder);
  const StatusOr<Handle> folder = open_folder(options_.folder);
  if (options_.is_named && folder.status().code() == StatusCode::kNotFound)
    return tell(unsafe(options_.folder, "cannot be made"));
  if (!folder.ok()) return tell(folder.status());
  const std::string name = file_of(key);
  const std::string bytes = base::seal({about, key, payload});
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > options_.capacity_bytes) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string unfinished =
      base::cat(".", name, ".", getpid(), "-", now.tv_nsec, "-", number.fetch_add(1), kUnfinished);
  {
    const Handle file(openat(folder->number(), unfinished.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return;
    if (!write_all(file.number(), bytes)) {
      unlinkat(folder->number(), unfinished.c_str(), 0);
      return;
    }
    mark_used_now(file);
  }
  if (renameat(folder->number(), unfinished.c_str(), folder->number(), name.c_str()) != 0) {
    unlinkat(folder->number(), unfinished.c_str(), 0);
    return;
  }
  count(&Counters::disk_written_bytes, size);
  keep_to_capacity(size);
}

// Counts the files at the first store and now and then, since others store and remove them too: as
// many processes as kWriters together do not pass the capacity between two counts.
void DiskCache::keep_to_capacity(int64_t written_bytes) {
  const std::scoped_lock lock(mutex_);
  written_bytes_ += written_bytes;
  const bool has_room =
      known_bytes_ >= 0 && written_bytes_ * kWriters <= options_.capacity_bytes - known_bytes_;
  if (has_room && ++stores_ < kStoresBetweenCounts) return;
  const StatusOr<Handle> folder = open_folder(options_.folder);
  if (!folder.ok()) return;
  (void)prune_files(*folder, options_.capacity_bytes, known_bytes_);
  stores_ = 0;
  written_bytes_ = 0;
}

// Nothing of a folder that is not there: there is no cache then.
void DiskCache::tell(const Status& refused) const {
  if (refused.code() != StatusCode::kFailedPrecondition) return;
  std::call_once(told_,
                 [&] { std::fprintf(stderr, "heddle: %s\n", base::message_of(refused).c_str()); });
}

StatusOr<std::vector<DiskCache::Entry>> DiskCache::entries() const {
  HEDDLE_ASSIGN_OR_RETURN(const Handle folder, open_folder(options_.folder));
  std::vector<Entry> entries;
  for (const File& file : files_of(folder)) {
    Contents contents = read_file(folder, file.name, options_.capacity_bytes, /*marks_use=*/false);
    if (!contents.is_there) continue;  // another process took it away
    Entry& entry = entries.emplace_back();
    entry.name = file.name;
    entry.bytes = file.bytes;
    entry.used_at = file.used_at.tv_sec;
    entry.problem = contents.problem;
    if (!entry.problem.empty()) continue;
    const StatusOr<base::Sealed> parts = base::open_sealed(contents.bytes);
    if (!parts.ok()) {
      entry.problem = base::message_of(parts.status());
      continue;
    }
    entry.about = parts->about;
    if (file_of(parts->key) != file.name) entry.problem = "stands under the name of another key";
  }
  return entries;
}

StatusOr<DiskCache::Size> DiskCache::size() const {
  HEDDLE_ASSIGN_OR_RETURN(const Handle folder, open_folder(options_.folder));
  Size size;
  for (const File& file : files_of(folder)) {
    ++size.files;
    size.bytes += file.bytes;
  }
  return size;
}

StatusOr<DiskCache::Size> DiskCache::prune(int64_t most_bytes) {
  HEDDLE_ASSIGN_OR_RETURN(const Handle folder, open_folder(options_.folder));
  const std::scoped_lock lock(mutex_);
  return prune_files(folder, most_bytes, known_bytes_);
}

Status DiskCache::remove(const std::string& name) {
  HEDDLE_ASSIGN_OR_RETURN(const Handle folder, open_folder(options_.folder));
  if (name.find('/') == std::string::npos && name.ends_with(kEnding) &&
      unlinkat(folder.number(), name.c_str(), 0) == 0)
    return {};
  return base::not_found("disk cache: ", options_.folder, " has no file ", name);
}

StatusOr<DiskCacheOptions> disk_cache_options() {
  if (!setting<Setting::kCache>())
    return base::failed_precondition("disk cache: off, by HEDDLE_CACHE=0");
  DiskCacheOptions options;
  const std::string home = base::environment_variable("HOME");
  const std::string caches = base::environment_variable("XDG_CACHE_HOME");
  if (const std::string folder = setting<Setting::kCacheDir>(); !folder.empty()) {
    std::error_code error;
    options.folder = fs::absolute(folder, error).lexically_normal();
    options.is_named = true;
  } else if (caches.starts_with('/')) {
    options.folder = caches + "/heddle";
  } else if (home.starts_with('/')) {
    options.folder = home + "/.cache/heddle";
  }
  if (options.folder.empty())
    return base::failed_precondition("disk cache: none, since HOME is not set");
  while (options.folder.size() > 1 && options.folder.ends_with('/')) options.folder.pop_back();
  options.capacity_bytes = setting<Setting::kCacheBytes>();
  if (options.capacity_bytes == 0)
    return base::failed_precondition("disk cache: off, by HEDDLE_CACHE_BYTES=0");
  return options;
}

namespace {

struct OfProcess {
  std::mutex mutex;
  std::optional<std::shared_ptr<DiskCache>> cache;  // nothing: the environment is not read yet
};

OfProcess& of_process() {
  static OfProcess& instance = *new OfProcess;  // never destroyed: see registry.cc
  return instance;
}

}  // namespace

std::shared_ptr<DiskCache> disk_cache() {
  OfProcess& process = of_process();
  const std::scoped_lock lock(process.mutex);
  if (!process.cache.has_value()) {
    process.cache.emplace();
    const StatusOr<DiskCacheOptions> options = disk_cache_options();
    if (options.ok()) *process.cache = std::make_shared<DiskCache>(*options);
  }
  return *process.cache;
}

void set_disk_cache(std::shared_ptr<DiskCache> cache) {
  OfProcess& process = of_process();
  const std::scoped_lock lock(process.mutex);
  process.cache = std::move(cache);
}

}  // namespace heddle::runtime
