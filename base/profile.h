// Profile: what Heddle's threads did, when and for how long, as a file for https://ui.perfetto.dev
// or chrome://tracing.
//
//   {
//     Profile profile("step.json");
//     for (const Batch& batch : batches) state = step(state, batch);
//   }
//
// HEDDLE_TRACE=FILE does so for a whole process. Each thread has its row: traces, transforms,
// passes, compiles, calls with the user's line, runs, transfers, waits.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/base/status.h"

namespace heddle {

class [[nodiscard]] Profile {
 public:
  // Starts. A file that cannot be written is told on stderr at once, and by finish().
  explicit Profile(std::string path);
  // Writes the file, unless finish() did. Not before what is to be seen is done: a run whose
  // results are pending shows its launch alone.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Writes the file; what began before the profile is not in it. Once: later calls return the
  // same.
  // errors: Unavailable where the file cannot be written
  Status finish();

  // Spans that all threads together keep; what is more is counted in the file and not kept.
  static constexpr int64_t kMaxSpans = 1'000'000;

 private:
  std::string path_;
  int64_t start_ns_;
  bool is_finished_ = false;
  Status status_;
};

}  // namespace heddle
