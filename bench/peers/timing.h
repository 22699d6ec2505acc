// What the peers of bench/eager_peers.py share: one line of JSON an item, as bench/models.cc has
// them. No part of Heddle's build.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

namespace peers {

using Clock = std::chrono::steady_clock;

// What all threads of the process used: on a machine that others use too, time that is comparable.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// run() does `units` of them.
template <class Run>
void time(const char* way, const char* model, const char* unit, double units, double seconds,
          const Run& run) {
  run();
  run();
  std::vector<double> found, processor;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  while (found.size() < 5 || Clock::now() < end) {
    const Clock::time_point begin = Clock::now();
    const double used = processor_seconds();
    run();
    processor.push_back(processor_seconds() - used);
    found.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(found.begin(), found.end());
  std::sort(processor.begin(), processor.end());
  std::printf(
      "{\"model\": \"%s\", \"way\": \"%s\", \"unit\": \"%s\", \"ns_min\": %.1f, "
      "\"ns_median\": %.1f, \"cpu_ns_min\": %.1f, \"runs\": %zu}\n",
      model, way, unit, 1e9 * found.front() / units, 1e9 * found[found.size() / 2] / units,
      1e9 * processor.front() / units, found.size());
  std::fflush(stdout);
}

}  // namespace peers
