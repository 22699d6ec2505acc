// Bounds of the combine cache (scan/combine_cache.h says what it holds).
#pragma once

#include <cstddef>
#include <utility>

namespace heddle {

// Entries that each level of the combine cache may hold (default 4096). Whole scans outside traces,
// which hold programs, are at most as many, and never more than 1024.
size_t combine_cache_capacity();
// Sets it; the least recently used entries that are too many go.
void set_combine_cache_capacity(size_t entries);
// Entries held now, level 1 and level 2.
std::pair<size_t, size_t> combine_cache_size();
// Forgets all; captured tensors that named Functions kept are released.
void clear_combine_cache();

}  // namespace heddle
