// The sink for lines that programs write for people while they run: debug_print and progress bars.
#pragma once

#include <functional>
#include <string_view>

namespace heddle {

// Gets whole lines, each with its '\n', from one thread at a time.
using DebugSink = std::function<void(std::string_view lines)>;

// Lines go to `sink` from now on, or to stderr if it is empty. Returns the previous sink. Any
// thread may call this. A running program writes its next line to the new sink. A sink that throws
// stops no program: its lines go to stderr, behind a line that says so.
DebugSink set_debug_sink(DebugSink sink);

namespace debug_internal {

void write_lines(std::string_view lines);
bool has_debug_sink();

}  // namespace debug_internal
}  // namespace heddle
