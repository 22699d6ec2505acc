// Bounds of the combine cache (see scan/combine_cache.h).
#pragma once

#include <cstddef>
#include <utility>

#include "heddle/base/int.h"

namespace heddle {

// The most entries of each level of the combine cache (default 4096). Whole scans outside traces,
// which have programs, are at most as many, and never more than 1024.
size_t combine_cache_capacity();
// Sets the capacity; the least recently used entries over it go. errors: Error for less than 0
void set_combine_cache_capacity(base::Int entries);
// The current number of entries, level 1 and level 2.
std::pair<size_t, size_t> combine_cache_size();
// Forgets all entries, and releases the tensors that named Functions captured.
void clear_combine_cache();

}  // namespace heddle
