// The combine cache: traced bodies of loops and branches. Equal bodies are one computation.
//
// Level 1, promise: the body of a named Function, with the same argument types and structure, is
// not traced again. Level 2, structure: a new trace is compared with the last trace at its place
// (trace/run/replay.h). If it differs, the cache looks it up by the hash of its canonical form,
// then by full equality. An equal one gives the same computation, so that lowering and compiling
// happen once. A hash collision costs a comparison, never a wrong result. Both levels have at most
// capacity() entries each, and the least recently used goes first; each thread also keeps the last
// traces at 1024 places. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/hash.h"
#include "heddle/scan/cache_control.h"
#include "heddle/scan/function.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/tree.h"

namespace heddle::scan_internal {

using trace_internal::Fragment;

// The key of level 1. `types` stands for the static types of the arguments, `structure` for what
// they do not say.
struct BodyKey {
  Identity identity;
  const void* kind = nullptr;  // scan body, while condition, branch, ...
  const void* types = nullptr;
  std::string structure;
  std::vector<Shape> parameters;
  [[nodiscard]] uint64_t hash() const;
  friend bool operator==(const BodyKey& a, const BodyKey& b);
};

// A traced body: its computation takes the parameters, then the captures.
struct Body {
  Fragment fragment;
  std::vector<Tensor> captures;
  std::vector<TreeSpec> results;     // structures of the callable's results
  std::shared_ptr<const std::vector<Shape>> leaf_shapes;
  // The types of the leaves of its results, without captures.
  [[nodiscard]] const std::vector<Shape>& result_shapes() const { return *leaf_shapes; }
};
using BodyPtr = std::shared_ptr<const Body>;

// Returns the entry, or null.
BodyPtr find_body(const BodyKey& key);
void keep_body(BodyKey key, BodyPtr body);

// While one lives its thread traces a Function. errors: throws Error if the thread traces it for
// the same key already: the Function calls itself
class TracingFunction {
 public:
  TracingFunction(const BodyKey& key, std::string_view name);
  ~TracingFunction();
  TracingFunction(const TracingFunction&) = delete;
  TracingFunction& operator=(const TracingFunction&) = delete;

 private:
  const BodyKey& key_;
  const TracingFunction* outer_;
};

// Level 2: a known equal fragment, or this one, which is known from now on.
Fragment intern(hlo::Module module, bool* known);

}  // namespace heddle::scan_internal

namespace heddle::scan_internal {
// For tests: sets the hashes of all levels, and of whole scans, to this constant, so that
// everything collides. Null: the real hashes.
void force_combine_hash_for_testing(const base::Hash128* hash);
uint64_t possibly_forced(uint64_t hash);
}  // namespace heddle::scan_internal
