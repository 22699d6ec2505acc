#include "heddle/runtime/report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <type_traits>

#include "heddle/base/containers/span.h"
#include "heddle/base/settings.h"
#include "heddle/base/text/json.h"
#include "heddle/base/text/strings.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/registry.h"

namespace heddle {
namespace {

DeviceReport report_of(const runtime::Device& device) {
  const runtime::Throttle::Load load = device.throttle().load();
  return {.name = device.name(),
          .live_bytes = device.live_bytes(),
          .peak_bytes = device.peak_bytes(),
          .launches = load.launches,
          .peak_launches = load.peak_launches,
          .peak_flight_bytes = load.peak_bytes,
          .waits = load.waits,
          .waited_ns = load.waited_ns};
}

std::string milliseconds(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g ms", static_cast<double>(ns) * 1e-6);
  return text;
}

// "name 1, name 2" of what is not 0.
template <class Struct>
std::string fields_text(const Struct& value) {
  std::string out;
  for_each_field(value, [&](std::string_view name, const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, int64_t>) {
      if (field != 0) base::append(out, out.empty() ? "" : ", ", name, " ", field);
    }
  });
  return out;
}

template <class Struct>
std::string fields_json(const Struct& value) {
  std::string out;
  for_each_field(value, [&](std::string_view name, const auto& field) {
    base::append(out, out.empty() ? "{" : ", ", base::json_text(name), ": ");
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, int64_t>)
      base::append(out, field);
    else
      out += base::json_text(field);
  });
  return out + "}";
}

void write_report(const std::string& path) {
  const Report now = report();
  if (path == "-") {
    std::fputs(to_string(now).c_str(), stderr);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << (path.ends_with(".json") ? to_json(now) : to_string(now));
  if (!out.flush())
    std::fprintf(stderr, "heddle: HEDDLE_REPORT: %s cannot be written\n", path.c_str());
}

}  // namespace

Report report() {
  Report now{.counters = counters(),
             .timers = timers(),
             .program_cache = {},
             .array_memory = array_memory(),
             .devices = {}};
  const runtime::ProgramCache& cache = runtime::program_cache();
  now.program_cache = {static_cast<int64_t>(cache.size()), static_cast<int64_t>(cache.capacity())};
  for (const runtime::Backend* backend : runtime::used_backends())
    for (const auto& device : backend->devices()) now.devices.push_back(report_of(*device));
  return now;
}

std::string to_string(const Report& report) {
  std::string out = base::cat("counters: ", fields_text(report.counters), "\n");
  for (const Timer& timer : report.timers) {
    if (timer.count == 0) continue;
    base::append(out, "time of ", timer.activity, ": ", timer.count, " times, ",
                 milliseconds(timer.total_ns), ", ", milliseconds(timer.own_ns), " of its own\n");
  }
  base::append(out, "program cache: ", report.program_cache.programs, " of at most ",
               report.program_cache.capacity, " programs\n");
  base::append(out, "array memory: ", fields_text(report.array_memory), "\n");
  for (const DeviceReport& device : report.devices)
    base::append(out, "device ", device.name, ": ", fields_text(device), "\n");
  return out;
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
  return out << to_string(report);
}

std::string to_json(const Report& report) {
  std::string timers, devices;
  for (const Timer& timer : report.timers) {
    base::append(timers, timers.empty() ? "" : ",\n    ", base::json_text(timer.activity),
                 ": {\"count\": ", timer.count, ", \"total_ns\": ", timer.total_ns,
                 ", \"own_ns\": ", timer.own_ns, "}");
  }
  for (const DeviceReport& device : report.devices)
    base::append(devices, devices.empty() ? "" : ",\n    ", fields_json(device));
  return base::cat("{\n  \"counters\": ", fields_json(report.counters), ",\n  \"timers\": {\n    ",
                   timers, "},\n  \"program_cache\": ", fields_json(report.program_cache),
                   ",\n  \"array_memory\": ", fields_json(report.array_memory),
                   ",\n  \"devices\": [", devices, "]\n}\n");
}

void runtime::report_at_exit() {
  static const std::string& path = *new std::string(setting<Setting::kReport>());
  if (path.empty()) return;
  (void)base::is_observed();  // so that timers run
  static const pid_t process = getpid();
  std::atexit([] {
    if (getpid() == process) write_report(path);  // else a child that was forked ends
  });
}

}  // namespace heddle
