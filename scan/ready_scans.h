// Whole scans that ran outside a trace, kept by the identity of their step: the third cache, which
// answers before a body is looked at. Private to scan/. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/runtime/backend.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/scan/scan.h"

namespace heddle::scan_internal {

// The program of such a scan, and how its results are laid out.
struct Ready {
  std::shared_ptr<runtime::Executable> executable;
  std::vector<Tensor> captures;  // of a named Function
  size_t ys = 0;
  TreeSpec ys_spec;
};
using ReadyPtr = std::shared_ptr<const Ready>;

struct ReadyKey {
  BodyKey body;  // parameters: the leaves of init, then of xs
  ScanOptions options;
  uint64_t device = 0;  // serial number
  friend bool operator==(const ReadyKey& a, const ReadyKey& b);
};

// Returns the entry, or null.
ReadyPtr find_ready_scan(const ReadyKey& key);
void keep_ready_scan(ReadyKey key, ReadyPtr made);

// Programs hold code: at most this many, or the capacity of the combine cache where that is less.
inline constexpr size_t kMaxReadyScans = 1024;
void set_ready_scan_capacity(size_t entries);
size_t ready_scan_count();
void clear_ready_scans();

}  // namespace heddle::scan_internal
