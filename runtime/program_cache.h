// ProgramCache: compiled programs by what they compute. Equal modules share one executable, whoever
// traced them.
//
// The key is a hash and then full equality of the module (names, lines and metadata count not), the
// device and the options, so a collision costs a comparison and never gives a wrong program.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "heddle/base/hash.h"
#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// Safe from any thread. Threads that ask for the same program at once compile it once: one
// compiles, the others wait for it.
class ProgramCache {
 public:
  using Hash = base::Hash128 (*)(const hlo::Module&);
  static constexpr size_t kDefaultCapacity = 1024;  // programs

  // `hash` may be worse than hlo::hash_of: tests force collisions with it.
  explicit ProgramCache(size_t capacity = kDefaultCapacity, Hash hash = &hlo::hash_of);
  ~ProgramCache();

  // Returns the executable for `lowered`, compiling it where it is not held. Errors are not held:
  // the next call tries again.
  //
  // errors   those of Backend::compile()
  // cost     a hit: one hash and one comparison, linear in the module
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile(const hlo::Module& lowered,
                                                              Device& device,
                                                              const CompileOptions& options = {});

  // The most programs held, at least 1. The least recently used go first, as soon as there are
  // more; those that callers hold live on.
  void set_capacity(size_t capacity);
  [[nodiscard]] size_t capacity() const;
  [[nodiscard]] size_t size() const;
  void clear();

 private:
  struct Entry;
  using Entries = std::list<std::shared_ptr<Entry>>;

  void forget(const Entry& entry);

  // All with mutex_ held.
  Entries::iterator find(const base::Hash128& hash, const hlo::Module& module, const Device& device,
                         const CompileOptions& options);
  void shrink_to_capacity();
  void erase(Entries::iterator entry);

  const Hash hash_;
  mutable std::mutex mutex_;
  size_t capacity_;
  Entries entries_;  // most recently used first
  std::unordered_multimap<base::Hash128, Entries::iterator, base::HashOfHash> by_hash_;
};

// The process's cache: what compile_cached() uses. It lives as long as the process; an unregistered
// backend has to outlive what it put there, or clear() it.
[[nodiscard]] ProgramCache& program_cache();

// program_cache().compile().
[[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_cached(
    const hlo::Module& lowered, Device& device, const CompileOptions& options = {});

}  // namespace heddle::runtime
