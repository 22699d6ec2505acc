// For tests of ops that move elements: arrays of random bytes, read and made index by index.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter::index_testing {

using Index = std::vector<int64_t>;

// One type for each width of storage, and one that has fewer bits than a byte.
inline const std::vector<DType> kWidths = {s4, u8, bf16, f32, c64, c128};

inline int64_t position(const std::vector<int64_t>& dims, const Index& at) {
  int64_t position = 0;
  for (size_t d = 0; d < dims.size(); ++d) position = position * dims[d] + at[d];
  return position;
}

// The bytes of one element.
inline std::string at(const Literal& x, const Index& index) {
  const auto width = static_cast<size_t>(storage_bytes(x.shape().dtype()));
  const auto* bytes = reinterpret_cast<const char*>(x.bytes());
  return {bytes + static_cast<size_t>(position(x.shape().dimensions(), index)) * width, width};
}

inline void set(Literal& x, const Index& index, const std::string& element) {
  const int64_t offset =
      position(x.shape().dimensions(), index) * static_cast<int64_t>(element.size());
  std::memcpy(x.mutable_bytes() + offset, element.data(), element.size());
}

// Calls visit(index) for every index of an array of these dimensions, in row-major order.
template <class Visit>
void for_each_index(const std::vector<int64_t>& dims, Visit&& visit) {
  for (int64_t size : dims) {
    if (size == 0) return;
  }
  Index index(dims.size());
  for (;;) {
    visit(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The array whose element at each index is make(index).
template <class Make>
Literal build(const Shape& shape, Make&& make) {
  Literal out(shape);
  for_each_index(shape.dimensions(), [&](const Index& index) { set(out, index, make(index)); });
  return out;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool coin() { return in(0, 1) == 1; }

  // Up to `max_rank` dimensions of up to `max_size`; now and then one is empty.
  std::vector<int64_t> dims(int64_t max_rank, int64_t max_size) {
    std::vector<int64_t> out(static_cast<size_t>(in(0, max_rank)));
    for (int64_t& size : out) size = in(0, 15) == 0 ? 0 : in(1, max_size);
    return out;
  }
  std::vector<int64_t> permutation(size_t n) {
    std::vector<int64_t> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(i);
    std::shuffle(out.begin(), out.end(), engine_);
    return out;
  }
  DType width() {
    return kWidths[static_cast<size_t>(in(0, static_cast<int64_t>(kWidths.size()) - 1))];
  }
  Literal array(const Shape& shape) {
    Literal out(shape);
    auto* bytes = reinterpret_cast<uint8_t*>(out.mutable_bytes());
    for (int64_t i = 0; i < out.byte_size(); ++i) bytes[i] = static_cast<uint8_t>(engine_());
    return out;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace heddle::interpreter::index_testing
