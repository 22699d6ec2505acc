// Timers: how long Heddle took for what, in all threads, since the process began.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

struct Timer {
  std::string_view activity;  // "trace", "compile", .. of base/span.h
  int64_t count = 0;
  int64_t total_ns = 0;  // an activity inside of the same one counts once
  int64_t own_ns = 0;    // without the activities inside
};
[[nodiscard]] std::vector<Timer> timers();

// Calls, runs and transfers are timed from now on, or not any more: some 0.03 us each.
// HEDDLE_REPORT times them too. The others, "trace" to "disk", always are.
void set_timing(bool is_on);

}  // namespace heddle
