// Memory of arrays.
//
// The first touch of fresh memory costs more than most programs do with it, so that large blocks
// lie on huge pages, and wait for the next array of their size when they are freed.
#pragma once

#include <cstddef>

namespace heddle {

// errors: throws std::bad_alloc
void* allocate_block(size_t bytes);
// `bytes`: as it was allocated.
void free_block(void* block, size_t bytes) noexcept;

}  // namespace heddle
