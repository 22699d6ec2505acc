#include "heddle/scan/ready_scans.h"

#include <algorithm>
#include <mutex>

#include "heddle/base/lru.h"

namespace heddle::scan_internal {
namespace {

struct ReadyCache {
  std::mutex mutex;
  LruMap<ReadyKey, ReadyPtr> entries{kMaxReadyScans};
};

ReadyCache& cache() {
  static ReadyCache* const kCache = new ReadyCache;  // never destroyed: threads may outlive main
  return *kCache;
}

bool same_sharding(const std::shared_ptr<const hlo::Sharding>& a,
                   const std::shared_ptr<const hlo::Sharding>& b) {
  return a == b || (a && b && *a == *b);
}

bool same_options(const ScanOptions& a, const ScanOptions& b) {
  return a.reverse == b.reverse && a.unroll == b.unroll && a.axis == b.axis &&
         a.checkpoint == b.checkpoint && a.parallel_backward == b.parallel_backward &&
         a.progress == b.progress;
}

}  // namespace

uint64_t ReadyKey::hash() const {
  base::Hasher hasher;
  hasher.add_word(reinterpret_cast<uint64_t>(body.get()));
  hasher.add_word(static_cast<uint64_t>(length));
  hasher.add_word(device);
  return possibly_forced(hasher.digest().low);
}

bool operator==(const ReadyKey& a, const ReadyKey& b) {
  return a.body == b.body && a.carries == b.carries && a.xs == b.xs && a.length == b.length &&
         a.device == b.device && same_options(a.options, b.options) &&
         std::ranges::equal(a.shardings, b.shardings, same_sharding);
}

ReadyPtr find_ready_scan(const ReadyKey& key) {
  const uint64_t hash = key.hash();
  std::lock_guard lock(cache().mutex);
  ReadyPtr* found = cache().entries.find(hash, [&](const ReadyKey& other) { return key == other; });
  return found ? *found : nullptr;
}

void keep_ready_scan(ReadyKey key, ReadyPtr made) {
  const uint64_t hash = key.hash();
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  if (cache().entries.find(hash, [&](const ReadyKey& other) { return key == other; })) return;
  cache().entries.insert(hash, std::move(key), std::move(made), dropped);
}

void set_ready_scan_capacity(size_t entries) {
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  cache().entries.set_capacity(std::min(entries, kMaxReadyScans), dropped);
}

size_t ready_scan_count() {
  std::lock_guard lock(cache().mutex);
  return cache().entries.size();
}

void clear_ready_scans() {
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  cache().entries.clear(dropped);
}

}  // namespace heddle::scan_internal
