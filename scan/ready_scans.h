// The programs of scans that ran outside a trace, by their body. Private to scan/. Safe from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/runtime/cache/program_cache.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/scan/scan.h"

namespace heddle::scan_internal {

// A scan's program takes the leaves of init and of xs, and then what the body captures.
struct Ready {
  runtime::ProgramHandle program;
  std::vector<size_t> captures;  // places among the body's captures, in the program's order
  bool captures_in_order = true;
};
using ReadyPtr = std::shared_ptr<const Ready>;

// With the types of the body's parameters these say the types of init, xs and the captures.
struct ReadyQuery {
  const Fragment& body;
  size_t carries = 0;  // leaves of init
  size_t xs = 0;       // leaves of xs; 0: the body has a counter
  int64_t length = 0;
  const ScanOptions& options;
  uint64_t device = 0;  // serial number
  // The shardings of init, of xs and of the body's captures. Empty if none has one.
  std::vector<std::shared_ptr<const hlo::Sharding>> shardings = {};
};

// Returns the entry, or null.
ReadyPtr find_ready_scan(const ReadyQuery& query);
// In place of one that is there: its program is gone.
void keep_ready_scan(const ReadyQuery& query, ReadyPtr made);

// At most this many, or the capacity of the combine cache where that is less.
inline constexpr size_t kMaxReadyScans = 1024;
void set_ready_scan_capacity(size_t entries);
size_t ready_scan_count();
void clear_ready_scans();

}  // namespace heddle::scan_internal
