// ProgramCache: compiled programs by what they compute. Equal modules share one executable, whoever
// traced them.
//
// The key is the canonical form of the module as it was traced (transform/canonical.h: names, lines
// and metadata count not), the device and the options: found by a hash, and then compared in full,
// so that a collision costs a comparison and never gives a wrong program. It is the one place where
// executables are kept; who wants one again without a lookup keeps a ProgramHandle.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "heddle/base/containers/lru.h"
#include "heddle/base/hash.h"
#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// A program of the process's cache, which alone keeps it alive. A hit takes no lock and looks
// nothing up; every 64th tells the cache that the program is in use. Copies may be read by several
// threads at once.
class ProgramHandle {
 public:
  ProgramHandle() = default;  // of nothing
  ProgramHandle(const std::shared_ptr<Executable>& executable, uint64_t hash)
      : executable_(executable), hash_(hash) {}

  // The program; null where the cache has let go of it.
  [[nodiscard]] std::shared_ptr<Executable> get() const;

 private:
  std::weak_ptr<Executable> executable_;
  uint64_t hash_ = 0;  // of its entry
  // About: threads may lose each other's. A copy counts anew, since other threads may be counting
  // in what it is made of.
  struct Hits {
    Hits() = default;
    Hits(const Hits&) {}
    Hits& operator=(const Hits&) { return *this; }
    std::atomic<uint32_t> count = 0;
  };
  mutable Hits hits_;
};

// Safe from any thread. Threads that ask for the same program at once compile it once: one
// compiles, the others wait for it.
class ProgramCache {
 public:
  using Hash = base::Hash128 (*)(const hlo::Module&);
  static constexpr size_t kDefaultCapacity = 1024;  // programs

  explicit ProgramCache(size_t capacity = kDefaultCapacity, Hash hash = &hlo::hash_of);

  // Returns the executable of a module as it was traced, and compiles it where there is none. An
  // error does not stay: the next call tries again. `handle`: gets the program.
  //
  // errors   those of Backend::compile(): InvalidArgument where the module is not legal
  // cost     a hit: hlo::verify(), the canonical form, one hash and one comparison, linear in the
  //          module
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile(const ModulePtr& module,
                                                              Device& device,
                                                              const CompileOptions& options = {},
                                                              ProgramHandle* handle = nullptr);
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile(hlo::Module module, Device& device,
                                                              const CompileOptions& options = {});
  // The same for a module that is legal, as what Heddle traces is. A hit does not verify it.
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_traced(const ModulePtr& traced,
                                                                     Device& device,
                                                                     const CompileOptions& options,
                                                                     ProgramHandle* handle);

  // The program ran again and was not asked for: it is the last to go.
  void used_again(uint64_t hash, const std::shared_ptr<Executable>& executable);

  // The most programs in the cache, at least 1. The least recently used go first, as soon as there
  // are more; those that callers hold live on.
  void set_capacity(size_t capacity);
  [[nodiscard]] size_t capacity() const;
  [[nodiscard]] size_t size() const;
  void clear();

  // `hash` may be worse than hlo::hash_of: tests force collisions with it.
  void set_hash_for_testing(Hash hash) { hash_ = hash; }

 private:
  using Result = StatusOr<std::shared_ptr<Executable>>;
  struct Key {
    hlo::Module canonical;
    uint64_t device;  // serial number: an address may be used again
    CompileOptions options;
  };
  // From the moment that a thread sets out to compile it.
  struct Entry {
    std::optional<Result> result;  // guarded by mutex_
  };
  using EntryPtr = std::shared_ptr<Entry>;
  using Entries = LruMap<Key, EntryPtr>;

  // The entry, and whether it is new, for the caller to compile.
  std::pair<EntryPtr, bool> find_or_add(uint64_t hash, Key key);
  Result wait(const Entry& entry);
  void set(uint64_t hash, const EntryPtr& entry, Result result);

  std::atomic<Hash> hash_;
  mutable std::mutex mutex_;
  std::condition_variable done_;  // a result of any entry is there
  Entries entries_;
};

// The process's cache: what compile_cached() uses. It lives as long as the process; an unregistered
// backend has to outlive what it put there, or clear() it.
[[nodiscard]] ProgramCache& program_cache();

// program_cache().compile().
[[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_cached(
    const ModulePtr& module, Device& device, const CompileOptions& options = {},
    ProgramHandle* handle = nullptr);
[[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_cached(
    hlo::Module module, Device& device, const CompileOptions& options = {});
// program_cache().compile_traced().
[[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_traced(const ModulePtr& traced,
                                                                   Device& device,
                                                                   const CompileOptions& options,
                                                                   ProgramHandle* handle);

}  // namespace heddle::runtime
