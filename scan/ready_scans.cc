#include "heddle/scan/ready_scans.h"

#include <algorithm>
#include <mutex>

#include "heddle/base/containers/lru.h"

namespace heddle::scan_internal {
namespace {

// The contents of a query, by value.
struct Key {
  Fragment body;
  size_t carries;
  size_t xs;
  int64_t length;
  ScanOptions options;
  uint64_t device;
  std::vector<std::shared_ptr<const hlo::Sharding>> shardings;
};

struct ReadyCache {
  std::mutex mutex;
  LruMap<Key, ReadyPtr> entries{kMaxReadyScans};
};

ReadyCache& ready_cache() {
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

uint64_t hash_of(const ReadyQuery& query) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t word = reinterpret_cast<uint64_t>(query.body.get());
  for (const uint64_t part : {static_cast<uint64_t>(query.length), query.device})
    word = (word ^ part ^ (word >> 32)) * kOdd;
  return possibly_forced(word);
}

bool asks_for(const ReadyQuery& a, const Key& b) {
  return a.body == b.body && a.carries == b.carries && a.xs == b.xs && a.length == b.length &&
         a.device == b.device && same_options(a.options, b.options) &&
         std::ranges::equal(a.shardings, b.shardings, same_sharding);
}

}  // namespace

ReadyPtr find_ready_scan(const ReadyQuery& query) {
  const uint64_t hash = hash_of(query);
  std::lock_guard lock(ready_cache().mutex);
  ReadyPtr* found =
      ready_cache().entries.find(hash, [&](const Key& key) { return asks_for(query, key); });
  return found ? *found : nullptr;
}

void keep_ready_scan(const ReadyQuery& query, ReadyPtr made) {
  const uint64_t hash = hash_of(query);
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(ready_cache().mutex);
  if (ReadyPtr* found =
          ready_cache().entries.find(hash, [&](const Key& key) { return asks_for(query, key); })) {
    std::swap(*found, made);
    return;
  }
  ready_cache().entries.insert(hash,
                               {query.body, query.carries, query.xs, query.length, query.options,
                                query.device, query.shardings},
                               std::move(made), dropped);
}

void set_ready_scan_capacity(size_t entries) {
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(ready_cache().mutex);
  ready_cache().entries.set_capacity(std::min(entries, kMaxReadyScans), dropped);
}

size_t ready_scan_count() {
  std::lock_guard lock(ready_cache().mutex);
  return ready_cache().entries.size();
}

void clear_ready_scans() {
  decltype(ReadyCache::entries)::Dropped dropped;
  std::lock_guard lock(ready_cache().mutex);
  ready_cache().entries.clear(dropped);
}

}  // namespace heddle::scan_internal
