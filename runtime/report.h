// report(): what the process did until now, in one place: counters, timers, devices and caches.
//
//   std::cout << report();
//   std::ofstream("report.json") << to_json(report());
//
// HEDDLE_REPORT=FILE writes it at the end of a process that used a device.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/metrics/timers.h"
#include "heddle/hlo/literal/array_memory.h"

namespace heddle {

// A device of a backend that was used.
struct DeviceReport {
  std::string name;
  int64_t live_bytes = 0;  // that buffers hold
  int64_t peak_bytes = 0;
  int64_t launches = 0;  // in flight
  int64_t peak_launches = 0;
  int64_t peak_flight_bytes = 0;
  int64_t waits = 0;  // for room (runtime/throttle.h)
  int64_t waited_ns = 0;
  static constexpr auto kFields = fields(
      field("name", &DeviceReport::name), field("live_bytes", &DeviceReport::live_bytes),
      field("peak_bytes", &DeviceReport::peak_bytes), field("launches", &DeviceReport::launches),
      field("peak_launches", &DeviceReport::peak_launches),
      field("peak_flight_bytes", &DeviceReport::peak_flight_bytes),
      field("waits", &DeviceReport::waits), field("waited_ns", &DeviceReport::waited_ns));
};

// The cache of compiled programs.
struct CacheReport {
  int64_t programs = 0;
  int64_t capacity = 0;
  static constexpr auto kFields =
      fields(field("programs", &CacheReport::programs), field("capacity", &CacheReport::capacity));
};

struct Report {
  Counters counters;
  std::vector<Timer> timers;
  CacheReport program_cache;
  ArrayMemory array_memory;
  std::vector<DeviceReport> devices;
};

// Returns what holds now. Safe from any thread.
[[nodiscard]] Report report();

// For people: a line each, without what is 0.
[[nodiscard]] std::string to_string(const Report& report);
std::ostream& operator<<(std::ostream& out, const Report& report);

// One object: counters, timers, program_cache, array_memory, devices.
[[nodiscard]] std::string to_json(const Report& report);

namespace runtime {

// For the registry: where HEDDLE_REPORT names a file, the report is written when the process ends.
void report_at_exit();

}  // namespace runtime
}  // namespace heddle
