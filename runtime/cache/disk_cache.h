// DiskCache: compiled programs in files, for the next process.
//
// A backend stores what it made under a key, all that the result depends on, and finds it again in
// this process or another. A file holds its whole key and a checksum, so what is damaged, stale,
// exchanged or of another key is not found, and compiled as if it were not there; nothing here is
// an error of a program's. Code is taken from the disk, so the folder has to be the user's alone:
// one that others could write to is refused, with one sentence on stderr.
//
// Any number of processes and threads may use a folder at once: a file comes to its name whole.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"

namespace heddle::runtime {

struct DiskCacheOptions {
  static constexpr int64_t kDefaultCapacity = int64_t{1} << 30;
  std::string folder;
  int64_t capacity_bytes = kDefaultCapacity;  // the least recently used files go first
  bool is_named = false;  // by HEDDLE_CACHE_DIR: stderr is told where it cannot be made
};

class DiskCache {
 public:
  // Makes no folder: the first store() does.
  explicit DiskCache(DiskCacheOptions options) : options_(std::move(options)) {}
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  [[nodiscard]] const DiskCacheOptions& options() const { return options_; }

  // Calls take(payload) with what was stored for the key. False: there is nothing, or take() would
  // not have it; then the file goes. Counted in `disk_hits`, or `disk_misses` and `disk_refused`.
  bool find(std::string_view key, base::FunctionRef<bool(std::string_view)> take);

  // Where it cannot be written, it is not. `about`: a few words for people.
  void store(std::string_view key, std::string_view about, std::string_view payload);

  struct Entry {
    std::string name;  // of the file
    std::string about;
    int64_t bytes = 0;
    int64_t used_at = 0;  // seconds since 1970
    std::string problem;  // empty: whole, and stands under the name of its key
  };
  // All files, the most recently used first; each is read.
  // errors   NotFound where there is no folder yet, FailedPrecondition for one that is not the
  //          user's alone
  [[nodiscard]] StatusOr<std::vector<Entry>> entries() const;

  struct Size {
    int64_t files = 0;
    int64_t bytes = 0;
  };
  // errors   as entries()
  [[nodiscard]] StatusOr<Size> size() const;

  // Removes the least recently used files until the others hold no more bytes than this, and what
  // processes that were killed have left. Returns what was removed.
  // errors   as entries()
  StatusOr<Size> prune(int64_t most_bytes);

  // Removes one file of entries(), by its name.
  // errors   as entries(); NotFound
  Status remove(const std::string& name);

 private:
  void keep_to_capacity(int64_t written_bytes);
  void tell(const Status& refused) const;

  const DiskCacheOptions options_;
  mutable std::once_flag told_;
  std::mutex mutex_;
  int64_t known_bytes_ = -1;   // of all files when they were counted; -1: they never were
  int64_t written_bytes_ = 0;  // by this process since then
  int64_t stores_ = 0;         // likewise
};

// What the environment says: HEDDLE_CACHE=0 for none, HEDDLE_CACHE_DIR for the folder, else
// $XDG_CACHE_HOME/heddle or ~/.cache/heddle, and HEDDLE_CACHE_BYTES for the capacity.
// errors   FailedPrecondition that says why there is none; InvalidArgument for a capacity that is
//          no number
[[nodiscard]] StatusOr<DiskCacheOptions> disk_cache_options();

// The process's, which backends use; null: none. The environment is read at the first call.
[[nodiscard]] std::shared_ptr<DiskCache> disk_cache();
void set_disk_cache(std::shared_ptr<DiskCache> cache);

}  // namespace heddle::runtime
