#include "heddle/runtime/program_cache.h"

#include <algorithm>
#include <condition_variable>
#include <optional>

namespace heddle::runtime {

// One program, from the moment that a thread sets out to compile it.
struct ProgramCache::Entry {
  base::Hash128 hash;
  hlo::Module module;
  uint64_t device_serial;
  CompileOptions options;

  std::mutex mutex;
  std::condition_variable done;
  std::optional<StatusOr<std::shared_ptr<Executable>>> result;

  void set(StatusOr<std::shared_ptr<Executable>> value) {
    std::scoped_lock lock(mutex);
    result = std::move(value);
    done.notify_all();
  }
  StatusOr<std::shared_ptr<Executable>> wait() {
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return result.has_value(); });
    return *result;
  }
};

ProgramCache::ProgramCache(size_t capacity, Hash hash)
    : hash_(hash), capacity_(std::max<size_t>(capacity, 1)) {}
ProgramCache::~ProgramCache() = default;

StatusOr<std::shared_ptr<Executable>> ProgramCache::compile(const hlo::Module& lowered,
                                                            Device& device,
                                                            const CompileOptions& options) {
  const base::Hash128 hash = hash_(lowered);
  std::unique_lock lock(mutex_);
  if (auto it = find(hash, lowered, device, options); it != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, it);
    std::shared_ptr<Entry> entry = *it;
    lock.unlock();
    return entry->wait();
  }
  auto entry = std::make_shared<Entry>();
  entry->hash = hash;
  entry->module = lowered;
  entry->device_serial = device.serial();
  entry->options = options;
  entries_.push_front(entry);
  by_hash_.emplace(hash, entries_.begin());
  shrink_to_capacity();
  lock.unlock();

  try {
    StatusOr<std::shared_ptr<Executable>> result =
        device.backend().compile(lowered, options, device);
    if (!result.ok()) forget(*entry);
    entry->set(result);
    return result;
  } catch (...) {  // a backend of the user's own; others may wait for the program
    forget(*entry);
    entry->set(base::internal_error(
        "compile ", lowered.name, ": backend ", device.backend().name(),
        " threw an exception in another thread; a backend must return errors"));
    throw;
  }
}

void ProgramCache::forget(const Entry& entry) {
  std::scoped_lock lock(mutex_);
  auto is_it = [&](const std::shared_ptr<Entry>& other) { return other.get() == &entry; };
  if (auto it = std::ranges::find_if(entries_, is_it); it != entries_.end()) erase(it);
}

ProgramCache::Entries::iterator ProgramCache::find(const base::Hash128& hash,
                                                   const hlo::Module& module, const Device& device,
                                                   const CompileOptions& options) {
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = **it->second;
    if (entry.device_serial == device.serial() && entry.options == options &&
        hlo::equal(entry.module, module)) {
      return it->second;
    }
  }
  return entries_.end();
}

void ProgramCache::shrink_to_capacity() {
  while (entries_.size() > capacity_) erase(std::prev(entries_.end()));
}

void ProgramCache::erase(Entries::iterator entry) {
  auto [first, last] = by_hash_.equal_range((*entry)->hash);
  by_hash_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == entry; }));
  entries_.erase(entry);
}

void ProgramCache::set_capacity(size_t capacity) {
  std::scoped_lock lock(mutex_);
  capacity_ = std::max<size_t>(capacity, 1);
  shrink_to_capacity();
}

size_t ProgramCache::capacity() const {
  std::scoped_lock lock(mutex_);
  return capacity_;
}

size_t ProgramCache::size() const {
  std::scoped_lock lock(mutex_);
  return entries_.size();
}

void ProgramCache::clear() {
  std::scoped_lock lock(mutex_);
  by_hash_.clear();
  entries_.clear();
}

ProgramCache& program_cache() {
  static ProgramCache& instance = *new ProgramCache;  // never destroyed: see registry.cc
  return instance;
}

StatusOr<std::shared_ptr<Executable>> compile_cached(const hlo::Module& lowered, Device& device,
                                                     const CompileOptions& options) {
  return program_cache().compile(lowered, device, options);
}

}  // namespace heddle::runtime
