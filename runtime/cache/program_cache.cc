#include "heddle/runtime/cache/program_cache.h"

#include <algorithm>
#include <utility>

#include "heddle/hlo/verify.h"
#include "heddle/transform/canonical.h"

namespace heddle::runtime {
namespace {

// hlo::equal does not look at fields that only a proto has. A plugin reads them.
bool same_unknown_fields(const hlo::Module& a, const hlo::Module& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.unknown_proto == y.unknown_proto && x.unknown_parts == y.unknown_parts;
  };
  return std::ranges::equal(
      a.computations, b.computations, [&](const hlo::Computation& x, const hlo::Computation& y) {
        return same(x, y) &&
               std::ranges::equal(x.instructions, y.instructions,
                                  [&](const hlo::Instruction& i, const hlo::Instruction& j) {
                                    return same(*i.extras, *j.extras);
                                  });
      });
}

}  // namespace

std::shared_ptr<Executable> ProgramHandle::get() const {
  std::shared_ptr<Executable> executable = executable_.lock();
  if (executable == nullptr) return nullptr;
  constexpr uint32_t kRefresh = 64;
  const uint32_t now = hits_.count.load(std::memory_order_relaxed) + 1;
  hits_.count.store(now, std::memory_order_relaxed);
  if (now % kRefresh == 0) program_cache().used_again(hash_, executable);
  return executable;
}

ProgramCache::ProgramCache(size_t capacity, Hash hash)
    : hash_(hash), entries_(std::max<size_t>(capacity, 1)) {}

std::pair<ProgramCache::EntryPtr, bool> ProgramCache::find_or_add(uint64_t hash, Key key) {
  Entries::Dropped dropped;
  std::scoped_lock lock(mutex_);
  EntryPtr* found = entries_.find(hash, [&](const Key& other) {
    return other.device == key.device && other.options == key.options &&
           hlo::equal(other.canonical, key.canonical) &&
           same_unknown_fields(other.canonical, key.canonical);
  });
  if (found != nullptr) return {*found, false};
  return {entries_.insert(hash, std::move(key), std::make_shared<Entry>(), dropped), true};
}

ProgramCache::Result ProgramCache::wait(const Entry& entry) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return entry.result.has_value(); });
  return *entry.result;
}

void ProgramCache::set(uint64_t hash, const EntryPtr& entry, Result result) {
  Entries::Dropped dropped;
  std::scoped_lock lock(mutex_);
  if (!result.ok())
    entries_.erase(
        hash, [&](const EntryPtr& it) { return it == entry; }, dropped);
  entry->result = std::move(result);
  done_.notify_all();
}

StatusOr<std::shared_ptr<Executable>> ProgramCache::compile_traced(const ModulePtr& traced,
                                                                   Device& device,
                                                                   const CompileOptions& options,
                                                                   ProgramHandle* handle) {
  Key key{transform::canonicalize(*traced), device.serial(), options};
  const uint64_t hash = hash_.load(std::memory_order_relaxed)(key.canonical).low;
  const auto [entry, is_new] = find_or_add(hash, std::move(key));
  const auto set_handle = [&](Result result) {
    if (handle != nullptr && result.ok()) *handle = {*result, hash};
    return result;
  };
  if (!is_new) return set_handle(wait(*entry));
  try {
    Result result = device.backend().compile(traced, options, device);
    set(hash, entry, result);
    return set_handle(std::move(result));
  } catch (...) {  // a backend of the user's own; others may wait for the program
    set(hash, entry,
        base::internal_error(
            "compile ", traced->name, ": backend ", device.backend().name(),
            " threw an exception in another thread; a backend must return errors"));
    throw;
  }
}

StatusOr<std::shared_ptr<Executable>> ProgramCache::compile(const ModulePtr& module, Device& device,
                                                            const CompileOptions& options,
                                                            ProgramHandle* handle) {
  HEDDLE_RETURN_IF_ERROR(hlo::verify(*module));
  return compile_traced(module, device, options, handle);
}

StatusOr<std::shared_ptr<Executable>> ProgramCache::compile(hlo::Module module, Device& device,
                                                            const CompileOptions& options) {
  return compile(std::make_shared<const hlo::Module>(std::move(module)), device, options);
}

void ProgramCache::used_again(uint64_t hash, const std::shared_ptr<Executable>& executable) {
  std::scoped_lock lock(mutex_);
  entries_.refresh(hash, [&](const EntryPtr& entry) {
    return entry->result.has_value() && entry->result->ok() && **entry->result == executable;
  });
}

void ProgramCache::set_capacity(size_t capacity) {
  Entries::Dropped dropped;
  std::scoped_lock lock(mutex_);
  entries_.set_capacity(std::max<size_t>(capacity, 1), dropped);
}

size_t ProgramCache::capacity() const {
  std::scoped_lock lock(mutex_);
  return entries_.capacity();
}

size_t ProgramCache::size() const {
  std::scoped_lock lock(mutex_);
  return entries_.size();
}

void ProgramCache::clear() {
  Entries::Dropped dropped;
  std::scoped_lock lock(mutex_);
  entries_.clear(dropped);
}

ProgramCache& program_cache() {
  static ProgramCache& instance = *new ProgramCache;  // never destroyed: see registry.cc
  return instance;
}

StatusOr<std::shared_ptr<Executable>> compile_cached(const ModulePtr& module, Device& device,
                                                     const CompileOptions& options,
                                                     ProgramHandle* handle) {
  return program_cache().compile(module, device, options, handle);
}

StatusOr<std::shared_ptr<Executable>> compile_cached(hlo::Module module, Device& device,
                                                     const CompileOptions& options) {
  return program_cache().compile(std::move(module), device, options);
}

StatusOr<std::shared_ptr<Executable>> compile_traced(const ModulePtr& traced, Device& device,
                                                     const CompileOptions& options,
                                                     ProgramHandle* handle) {
  return program_cache().compile_traced(traced, device, options, handle);
}

}  // namespace heddle::runtime
