#include "heddle/runtime/internal/strided.h"

#include <cstring>

namespace heddle::runtime {
namespace {

// Copies the elements below one position of the dimensions before `dimension`; returns where the
// next ones go.
std::byte* gather(const std::byte* from, std::span<const int64_t> sizes,
                  std::span<const int64_t> strides, size_t width, std::byte* to) {
  if (sizes.empty()) {
    std::memcpy(to, from, width);
    return to + width;
  }
  const bool dense = sizes.size() == 1 && strides[0] == static_cast<int64_t>(width);
  if (dense) {
    const size_t bytes = static_cast<size_t>(sizes[0]) * width;
    std::memcpy(to, from, bytes);
    return to + bytes;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    to = gather(from + i * strides[0], sizes.subspan(1), strides.subspan(1), width, to);
  return to;
}

}  // namespace

Literal gathered(const void* data, const Shape& shape, std::span<const int64_t> byte_strides) {
  Literal out = Literal::uninitialised(shape);
  if (shape.byte_size() > 0) {
    gather(static_cast<const std::byte*>(data), shape.dimensions(), byte_strides,
           static_cast<size_t>(storage_bytes(shape.dtype())), out.mutable_bytes());
  }
  return out;
}

}  // namespace heddle::runtime
