#include "heddle/base/metrics/debug_sink.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace heddle {
namespace {

struct Place {
  std::recursive_mutex mutex;  // a sink may itself print
  DebugSink sink;
};

Place& place() {
  static Place* const kPlace = new Place;  // never destroyed: threads may outlive main
  return *kPlace;
}

}  // namespace

DebugSink set_debug_sink(DebugSink sink) {
  const std::lock_guard lock(place().mutex);
  return std::exchange(place().sink, std::move(sink));
}

namespace debug_internal {

void write_lines(std::string_view lines) {
  const std::lock_guard lock(place().mutex);
  if (!place().sink) {
    std::fwrite(lines.data(), 1, lines.size(), stderr);
    std::fflush(stderr);
    return;
  }
  const DebugSink sink = place().sink;  // it may be replaced while it runs
  try {
    sink(lines);
  } catch (...) {  // a run of machine code is no place to throw through
  }
}

bool has_debug_sink() {
  const std::lock_guard lock(place().mutex);
  return static_cast<bool>(place().sink);
}

}  // namespace debug_internal
}  // namespace heddle
