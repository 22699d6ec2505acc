// Profile: what Heddle's threads did, when and for how long, as a file for https://ui.perfetto.dev
// or chrome://tracing.
//
//   {
//     Profile profile("step.json");
//     for (const Batch& batch : batches) state = step(state, batch);
//   }
//
// HEDDLE_TRACE=FILE makes one of a whole process. Each thread has its row: traces, transforms,
// passes, compiles, calls with the user's line, runs, transfers, waits.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/base/status.h"

namespace heddle {

class [[nodiscard]] Profile {
 public:
  // Starts. If the file cannot be written, stderr says so at once, and so does finish().
  [[nodiscard]] explicit Profile(std::string path);
  // Writes the file, unless finish() did. End it after the work is done: a run whose results are
  // pending shows its launch only.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Writes the file. Spans that began before the profile are not in it. Later calls do nothing and
  // return the same.
  // errors: Unavailable if the file cannot be written
  Status finish();

  // The most spans of all threads together. The file counts the others.
  static constexpr int64_t kMaxSpans = 1'000'000;

 private:
  std::string path_;
  int64_t start_ns_;
  bool is_finished_ = false;
  Status status_;
};

}  // namespace heddle
