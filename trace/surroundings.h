// What stands around a trace and is part of what it records.
#pragma once

#include <string>

namespace heddle::trace_internal {

// Appends the shard_map and the named vmaps around, with the sizes of their axes, and the bucket of
// rows (trace/rows.h): two traces of one function at the same types are the same only where this
// is. Nothing where there are none.
void append_surroundings(std::string& text);

}  // namespace heddle::trace_internal
