#include "heddle/interpreter/ops/movement/permute.h"

#include <algorithm>
#include <cstring>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// One dimension of a copy: bytes between neighbours in the source.
struct Loop {
  int64_t size;
  int64_t stride;
};

template <size_t kWidth>
void copy_strided(std::byte* to, const std::byte* from, const Loop& loop) {
  for (int64_t i = 0; i < loop.size; ++i)
    std::memcpy(to + i * int64_t{kWidth}, from + i * loop.stride, kWidth);
}

void copy_strided(std::byte* to, const std::byte* from, const Loop& loop, int64_t width) {
  switch (width) {
    case 1: return copy_strided<1>(to, from, loop);
    case 2: return copy_strided<2>(to, from, loop);
    case 4: return copy_strided<4>(to, from, loop);
    case 8: return copy_strided<8>(to, from, loop);
    case 16: return copy_strided<16>(to, from, loop);
    default: break;
  }
  for (int64_t i = 0; i < loop.size; ++i) {
    std::memcpy(to + i * width, from + i * loop.stride, static_cast<size_t>(width));
  }
}

// Writes densely at `to`. Loops are from the outermost to the innermost; each copies runs of
// `width` bytes.
void copy(std::byte* to, const std::byte* from, std::span<const Loop> loops, int64_t width) {
  if (loops.empty()) {
    std::memcpy(to, from, static_cast<size_t>(width));
    return;
  }
  if (loops.size() == 1) return copy_strided(to, from, loops[0], width);
  int64_t step = width;
  for (const Loop& inner : loops.subspan(1)) step *= inner.size;
  for (int64_t i = 0; i < loops[0].size; ++i) {
    copy(to + i * step, from + i * loops[0].stride, loops.subspan(1), width);
  }
}

// The loops of a permutation without those of one step, neighbours that lie together joined.
std::vector<Loop> loops_of(const Shape& shape, std::span<const int64_t> order) {
  const std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  const int64_t width = storage_bytes(shape.dtype());
  std::vector<Loop> loops;
  for (int64_t d : order) {
    const Loop loop{shape.dimension(d), strides[static_cast<size_t>(d)] * width};
    if (loop.size == 1) continue;
    if (!loops.empty() && loops.back().stride == loop.size * loop.stride) {
      loops.back() = {loops.back().size * loop.size, loop.stride};
    } else {
      loops.push_back(loop);
    }
  }
  return loops;
}

}  // namespace

Literal permuted(const Literal& x, std::span<const int64_t> order) {
  std::vector<int64_t> sizes;
  for (int64_t d : order) sizes.push_back(x.shape().dimension(d));
  const Shape shape(x.shape().dtype(), std::move(sizes));
  int64_t width = storage_bytes(shape.dtype());
  if (x.element_count() == 0) return x.reshaped(shape);
  std::vector<Loop> loops = loops_of(x.shape(), order);
  if (!loops.empty() && loops.back().stride == width) {
    width *= loops.back().size;
    loops.pop_back();
  }
  if (loops.empty()) return x.reshaped(shape);
  Literal out = Literal::uninitialised(shape);
  copy(out.mutable_bytes(), x.bytes(), loops, width);
  return out;
}

std::vector<int64_t> inverse_of(std::span<const int64_t> order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace heddle::interpreter
