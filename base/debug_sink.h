// Where lines for people go that programs write while they run: debug_print and progress bars.
#pragma once

#include <functional>
#include <string_view>

namespace heddle {

// Gets whole lines, each with its '\n'; of one thread at a time.
using DebugSink = std::function<void(std::string_view lines)>;

// Lines go to `sink` from now on; to stderr, where it is empty. Returns the sink before. Any thread
// may. What runs already writes its next line to the new one.
DebugSink set_debug_sink(DebugSink sink);

namespace debug_internal {

// What a sink throws goes no further.
void write_lines(std::string_view lines);
bool has_debug_sink();

}  // namespace debug_internal
}  // namespace heddle
