// Timers: how long each activity of Heddle took, in all threads, since the process began.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

struct Timer {
  std::string_view activity;  // "trace", "compile", .. of base/containers/span.h
  int64_t count = 0;
  int64_t total_ns = 0;  // an activity inside of the same one counts once
  int64_t own_ns = 0;    // without the activities inside
};
[[nodiscard]] std::vector<Timer> timers();

// Starts or stops the timing of calls, runs and transfers, which costs some 0.03 us each.
// HEDDLE_REPORT times them too. The others, "trace" to "disk", are always timed.
void set_timing(bool is_on);

}  // namespace heddle
