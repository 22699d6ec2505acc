// Public counters: what Heddle did on your behalf. A unit test that wants "nothing was traced,
// compiled or uploaded" compares two snapshots, or uses the assertions of heddle/testing.h.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/base/containers/fields.h"

namespace heddle {

// A snapshot: totals since the process began. Each field only grows.
struct Counters {
  int64_t traces = 0;  // times a user's function ran on placeholders
  // loops and branches that found their computation in the combine cache
  int64_t combine_hits = 0;
  // derivatives and batched forms that were made of modules, for grad, jvp, vmap and the like
  int64_t transforms = 0;
  int64_t lowerings = 0;   // traced modules lowered to plain HLO
  int64_t compiles = 0;    // modules that a backend compiled; not those from the disk cache
  int64_t executions = 0;  // runs of an executable
  int64_t uploads = 0;     // host to device copies
  int64_t upload_bytes = 0;
  int64_t downloads = 0;  // device to host copies
  int64_t download_bytes = 0;
  int64_t aliased_bytes = 0;   // memory that host and device share without a copy
  int64_t throttle_waits = 0;  // launches and uploads that waited for room on their device
  // C++ numbers, of at most 64 bytes each, that were arguments of a run; no uploads
  int64_t number_operands = 0;
  // programs that the disk cache had, did not have, and had in a form that it refused
  int64_t disk_hits = 0;
  int64_t disk_misses = 0;
  int64_t disk_refused = 0;
  int64_t disk_read_bytes = 0;     // of programs from the disk cache
  int64_t disk_written_bytes = 0;  // of programs for the next process
  static constexpr auto kFields = fields(
      field("traces", &Counters::traces), field("combine_hits", &Counters::combine_hits),
      field("transforms", &Counters::transforms), field("lowerings", &Counters::lowerings),
      field("compiles", &Counters::compiles), field("executions", &Counters::executions),
      field("uploads", &Counters::uploads), field("upload_bytes", &Counters::upload_bytes),
      field("downloads", &Counters::downloads), field("download_bytes", &Counters::download_bytes),
      field("aliased_bytes", &Counters::aliased_bytes),
      field("throttle_waits", &Counters::throttle_waits),
      field("number_operands", &Counters::number_operands),
      field("disk_hits", &Counters::disk_hits), field("disk_misses", &Counters::disk_misses),
      field("disk_refused", &Counters::disk_refused),
      field("disk_read_bytes", &Counters::disk_read_bytes),
      field("disk_written_bytes", &Counters::disk_written_bytes));
  friend bool operator==(const Counters&, const Counters&) = default;
};

// Returns the totals now. Safe from any thread.
[[nodiscard]] Counters counters();

// Returns what happened between two snapshots, field by field.
[[nodiscard]] Counters operator-(const Counters& after, const Counters& before);

// Returns "traces 1, combine_hits 0, ..." in the order above.
[[nodiscard]] std::string to_string(const Counters& counters);

// For Heddle's own code: adds to one total, as in count(&Counters::upload_bytes, n).
void count(int64_t Counters::*which, int64_t amount = 1);

}  // namespace heddle
