// Arrays that are not row-major in host memory.
#pragma once

#include <cstdint>
#include <span>

#include "heddle/hlo/literal/literal.h"

namespace heddle::runtime {

// Returns the elements in row-major order. `data` is the first one; a step along dimension i is
// byte_strides[i] bytes, which may be negative or 0.
[[nodiscard]] Literal gathered(const void* data, const Shape& shape,
                               std::span<const int64_t> byte_strides);

}  // namespace heddle::runtime
