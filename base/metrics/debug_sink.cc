#include "heddle/base/metrics/debug_sink.h"

#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

namespace heddle {
namespace {

struct Place {
  std::recursive_mutex mutex;  // a sink may itself print
  DebugSink sink;
};

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// A run of machine code is no place to throw through.
void tell_of_throw(std::string_view lines, const char* what) {
  write_to_stderr("heddle: the debug sink threw ");
  write_to_stderr(what);
  write_to_stderr("; it was given:\n");
  write_to_stderr(lines);
}

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
  if (!place().sink) return write_to_stderr(lines);
  const DebugSink sink = place().sink;  // it may be replaced while it runs
  try {
    sink(lines);
  } catch (const std::exception& error) {
    tell_of_throw(lines, error.what());
  } catch (...) {
    tell_of_throw(lines, "what is no std::exception");
  }
}

bool has_debug_sink() {
  const std::lock_guard lock(place().mutex);
  return static_cast<bool>(place().sink);
}

}  // namespace debug_internal
}  // namespace heddle
