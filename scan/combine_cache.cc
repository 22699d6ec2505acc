#include "heddle/scan/combine_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "heddle/base/containers/lru.h"
#include "heddle/scan/ready_scans.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/canonical.h"

namespace heddle {
namespace scan_internal {
namespace {

constexpr size_t kDefaultCapacity = 4096;

using ByIdentity = LruMap<BodyKey, BodyPtr>;
using ByStructure = LruMap<std::shared_ptr<const hlo::Module>, Fragment>;  // key: canonical form

struct Cache {
  std::mutex mutex;
  ByIdentity by_identity{kDefaultCapacity};
  ByStructure by_structure{kDefaultCapacity};
};

Cache& cache() {
  static Cache* const kCache = new Cache;  // never destroyed: threads may outlive main
  return *kCache;
}

// Set by tests before anything else runs.
std::atomic<bool> is_hash_forced = false;
std::atomic<uint64_t> forced_hash = 0;

}  // namespace

uint64_t possibly_forced(uint64_t hash) {
  return is_hash_forced.load(std::memory_order_relaxed)
             ? forced_hash.load(std::memory_order_relaxed)
             : hash;
}

uint64_t BodyKey::hash() const {
  base::Hasher hasher;
  hasher.add_word(identity.id);
  if (!identity.options.empty()) hash_value(hasher, identity.options);
  hasher.add_word(reinterpret_cast<uint64_t>(kind));
  hasher.add_word(reinterpret_cast<uint64_t>(types));
  hash_value(hasher, structure);
  hash_value(hasher, parameters);
  return possibly_forced(hasher.digest().low);
}

bool operator==(const BodyKey& a, const BodyKey& b) {
  return a.identity == b.identity && a.kind == b.kind && a.types == b.types &&
         a.structure == b.structure && std::ranges::equal(a.parameters, b.parameters, same_type);
}

BodyPtr find_body(const BodyKey& key) {
  uint64_t hash = key.hash();
  std::lock_guard lock(cache().mutex);
  BodyPtr* found =
      cache().by_identity.find(hash, [&](const BodyKey& other) { return key == other; });
  return found ? *found : nullptr;
}

void keep_body(BodyKey key, BodyPtr body) {
  uint64_t hash = key.hash();
  ByIdentity::Dropped dropped;  // bodies own captured tensors
  std::lock_guard lock(cache().mutex);
  if (cache().by_identity.find(hash, [&](const BodyKey& other) { return key == other; })) return;
  cache().by_identity.insert(hash, std::move(key), std::move(body), dropped);
}

namespace {

thread_local constinit const TracingFunction* tracing_now = nullptr;

}  // namespace

TracingFunction::TracingFunction(const BodyKey& key, std::string_view name)
    : key_(key), outer_(tracing_now) {
  for (const TracingFunction* each = outer_; each != nullptr; each = each->outer_) {
    if (!(each->key_ == key)) continue;
    trace_internal::refuse("Function ", name.empty() ? "given to a transform" : name,
                           " calls itself, with arguments of the same types; nothing would end "
                           "that: use while_loop or scan");
  }
  tracing_now = this;
}
TracingFunction::~TracingFunction() { tracing_now = outer_; }

Fragment intern(hlo::Module module, bool* known) {
  auto canonical = std::make_shared<const hlo::Module>(transform::canonicalize(module));
  const uint64_t hash = possibly_forced(hlo::hash_of(*canonical).low);
  ByStructure::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  Fragment* found =
      cache().by_structure.find(hash, [&](const std::shared_ptr<const hlo::Module>& other) {
        return hlo::equal(*canonical, *other);
      });
  *known = found != nullptr;
  if (found) return *found;
  return cache().by_structure.insert(
      hash, canonical, std::make_shared<const hlo::Module>(std::move(module)), dropped);
}

void force_combine_hash_for_testing(const base::Hash128* hash) {
  if (hash) forced_hash = hash->low;
  is_hash_forced = hash != nullptr;
}

}  // namespace scan_internal

size_t combine_cache_capacity() {
  std::lock_guard lock(scan_internal::cache().mutex);
  return scan_internal::cache().by_identity.capacity();
}

void set_combine_cache_capacity(base::Int count) {
  const trace_internal::PublicCall call("set_combine_cache_capacity", SourceLocation());
  if (count < 0) trace_internal::refuse("entries are ", count, "; they must be 0 or more");
  const auto entries = static_cast<size_t>(int64_t{count});
  scan_internal::set_ready_scan_capacity(entries);
  scan_internal::ByIdentity::Dropped bodies;
  scan_internal::ByStructure::Dropped fragments;
  std::lock_guard lock(scan_internal::cache().mutex);
  scan_internal::cache().by_identity.set_capacity(entries, bodies);
  scan_internal::cache().by_structure.set_capacity(entries, fragments);
}

std::pair<size_t, size_t> combine_cache_size() {
  std::lock_guard lock(scan_internal::cache().mutex);
  return {scan_internal::cache().by_identity.size(), scan_internal::cache().by_structure.size()};
}

void clear_combine_cache() {
  scan_internal::clear_ready_scans();
  trace_internal::forget_recordings();
  scan_internal::ByIdentity::Dropped bodies;
  scan_internal::ByStructure::Dropped fragments;
  std::lock_guard lock(scan_internal::cache().mutex);
  scan_internal::cache().by_identity.clear(bodies);
  scan_internal::cache().by_structure.clear(fragments);
}

}  // namespace heddle
