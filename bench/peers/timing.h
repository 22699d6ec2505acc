// Shared by bench/models.cc and the peers of bench/eager_peers.py: one line of JSON for each item.
// Includes nothing of Heddle's, since the peers are built without it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

namespace peers {

using Clock = std::chrono::steady_clock;

inline std::chrono::duration<double> seconds_of(double seconds) {
  return std::chrono::duration<double>(seconds);
}

// The processor time of all threads of the process: it is comparable on a busy machine.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of each run.
struct Times {
  std::vector<double> all = {}, processor = {};
};

template <class Run>
void time_once(Times& times, const Run& run) {
  const Clock::time_point begin = Clock::now();
  const double used = processor_seconds();
  run();
  times.processor.push_back(processor_seconds() - used);
  times.all.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
}

// The least and the median; each run did `units`.
inline void print(const char* way, const char* model, const char* unit, double units, Times times) {
  std::sort(times.all.begin(), times.all.end());
  std::sort(times.processor.begin(), times.processor.end());
  std::printf(
      "{\"model\": \"%s\", \"way\": \"%s\", \"unit\": \"%s\", \"ns_min\": %.1f, "
      "\"ns_median\": %.1f, \"cpu_ns_min\": %.1f, \"runs\": %zu}\n",
      model, way, unit, 1e9 * times.all.front() / units,
      1e9 * times.all[times.all.size() / 2] / units, 1e9 * times.processor.front() / units,
      times.all.size());
  std::fflush(stdout);
}

template <class Run>
void time(const char* way, const char* model, const char* unit, double units, double seconds,
          const Run& run) {
  run();
  run();
  Times times;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds_of(seconds));
  while (times.all.size() < 5 || Clock::now() < end) time_once(times, run);
  print(way, model, unit, units, times);
}

}  // namespace peers
