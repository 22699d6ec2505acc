// Memory of arrays in host memory: values on `cpu` and the interpreter, the scratch of their
// programs, literals.
//
// The first touch of fresh memory costs more than most programs do with it, so that blocks of more
// than 32 KiB wait in a cache for the next array of about their size when they are freed.
// HEDDLE_MEMORY_CACHE_BYTES is the most that wait together. Smaller ones come from malloc, which is
// as fast; values of at most 64 bytes lie in what refers to them, and are not counted here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/base/containers/fields.h"

namespace heddle {

// A snapshot. Blocks count with what rounding adds to them, at most an eighth.
struct ArrayMemory {
  int64_t live_bytes = 0;    // of blocks in use
  int64_t peak_bytes = 0;    // the most that they ever were
  int64_t cached_bytes = 0;  // of freed blocks that wait for the next use
  int64_t allocations = 0;   // blocks that were asked for
  int64_t cache_hits = 0;    // those of them that had waited
  int64_t in_place = 0;      // results of eager ops in the memory of an operand that died
  static constexpr auto kFields = fields(field("live_bytes", &ArrayMemory::live_bytes),
                                         field("peak_bytes", &ArrayMemory::peak_bytes),
                                         field("cached_bytes", &ArrayMemory::cached_bytes),
                                         field("allocations", &ArrayMemory::allocations),
                                         field("cache_hits", &ArrayMemory::cache_hits),
                                         field("in_place", &ArrayMemory::in_place));
};

// Returns what holds now. Safe from any thread.
[[nodiscard]] ArrayMemory array_memory();

// Gives the blocks that wait back to the system, and returns their bytes. What arrays use stays.
int64_t empty_cache();

// The most bytes that may wait: HEDDLE_MEMORY_CACHE_BYTES until it is set. With 0 none do. The
// oldest ones of more go at once. Builds with the address sanitizer keep none, so that a use after
// free is found.
[[nodiscard]] int64_t memory_cache_capacity();
void set_memory_cache_capacity(int64_t bytes);

// For Heddle's own code. errors: throws std::bad_alloc
void* allocate_block(size_t bytes);
// `bytes`: as it was allocated.
void free_block(void* block, size_t bytes) noexcept;
void count_in_place();

}  // namespace heddle
