#include "heddle/hlo/literal/strides.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace heddle::hlo {
namespace {

bool is_width(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// The first block by elements, the rest by copies of it: as fast as the memory, whatever the
// compiler makes of the loop.
template <class T>
void fill_row(std::byte* to, T value, int64_t count) {
  constexpr int64_t kFirst = 256 / sizeof(T);
  constexpr int64_t kBlock = 4096;
  const int64_t total = count * static_cast<int64_t>(sizeof(T));
  const int64_t first = std::min(count, kFirst);
  for (int64_t i = 0; i < first; ++i)
    write_element(to + i * static_cast<int64_t>(sizeof(T)), value);
  for (int64_t done = first * static_cast<int64_t>(sizeof(T)); done < total;) {
    const int64_t block = std::min({done, kBlock, total - done});
    std::memcpy(to + done, to, static_cast<size_t>(block));
    done += block;
  }
}

template <class T>
void copy_row(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
              int64_t count) {
  constexpr int64_t kWidth = sizeof(T);
  if (from_stride == 0 && to_stride == kWidth) {
    fill_row(to, read_element<T>(from), count);
  } else if (to_stride == kWidth) {
    for (int64_t i = 0; i < count; ++i)
      write_element(to + i * kWidth, read_element<T>(from + i * from_stride));
  } else {
    for (int64_t i = 0; i < count; ++i)
      write_element(to + i * to_stride, read_element<T>(from + i * from_stride));
  }
}

// Rows of `a` are dense in `to`, rows of `b` in `from`: in squares that fit the cache, each line is
// fetched once.
template <class T>
void copy_tiled(std::byte* to, const std::byte* from, const StridedWalk::Axis& a,
                const StridedWalk::Axis& b) {
  constexpr int64_t kSide = sizeof(T) <= 4 ? 32 : 16;
  for (int64_t i = 0; i < b.size; i += kSide) {
    const int64_t rows = std::min(kSide, b.size - i);
    for (int64_t j = 0; j < a.size; j += kSide) {
      const int64_t columns = std::min(kSide, a.size - j);
      for (int64_t r = i; r < i + rows; ++r) {
        copy_row<T>(to + r * b.to + j * a.to, a.to, from + r * b.from + j * a.from, a.from,
                    columns);
      }
    }
  }
}

}  // namespace

Strides::Strides(const Shape& shape) : rank_(shape.rank()) {
  int64_t stride = 1;
  for (int64_t d = rank_; d-- > 0;) {
    strides_[d] = stride;
    stride *= shape.dimension(d);
  }
}

StridedWalk::StridedWalk(std::span<const int64_t> dims, std::span<const int64_t> to_strides,
                         std::span<const int64_t> from_strides, int64_t element_bytes)
    : bytes_(element_bytes) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) empty_ = true;
    if (dims[d] != 1) axes_[rank_++] = {dims[d], to_strides[d] * bytes_, from_strides[d] * bytes_};
  }
  auto denser = [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); };
  if (!std::is_sorted(axes_, axes_ + rank_, denser)) std::stable_sort(axes_, axes_ + rank_, denser);
  int kept = 0;
  for (int d = 0; d < rank_; ++d) {
    Axis axis = axes_[d];
    if (kept > 0) {
      const Axis& outer = axes_[kept - 1];
      if (outer.to == axis.size * axis.to && outer.from == axis.size * axis.from) {
        axis.size *= outer.size;
        --kept;
      }
    }
    axes_[kept++] = axis;
  }
  rank_ = kept;
}

StridedCopy::StridedCopy(std::span<const int64_t> dims, std::span<const int64_t> to_strides,
                         std::span<const int64_t> from_strides, int64_t element_bytes)
    : StridedWalk(dims, to_strides, from_strides, element_bytes) {
  fold_innermost();
  find_tile();
}

// An innermost block that is as wide as an element becomes one; any other is moved by memcpy.
void StridedCopy::fold_innermost() {
  if (rank_ == 0) return;
  const Axis& inner = axes_[rank_ - 1];
  if (inner.to != bytes_ || inner.from != bytes_) return;
  int64_t block = inner.size * bytes_;
  --rank_;
  if (is_width(block)) {
    bytes_ = block;
  } else {
    run_bytes_ = block;
  }
}

void StridedCopy::find_tile() {
  if (run_bytes_ != 0 || rank_ < 2) return;
  const Axis& inner = axes_[rank_ - 1];
  int densest = rank_ - 1;
  for (int d = 0; d < rank_ - 1; ++d) {
    if (axes_[d].from != 0 && std::abs(axes_[d].from) < std::abs(axes_[densest].from)) densest = d;
  }
  constexpr int64_t kLine = 64;  // bytes: rows that are nearer than this share their lines anyway
  if (densest == rank_ - 1 || std::abs(inner.from) < kLine || axes_[densest].size < 4) return;
  // It becomes the second innermost, whose rows and columns are walked in squares.
  std::rotate(axes_ + densest, axes_ + densest + 1, axes_ + rank_ - 1);
  tiled_ = rank_ - 2;
}

void StridedCopy::run(std::byte* to, const std::byte* from) const {
  if (empty_) return;
  if (run_bytes_ != 0) {
    if (rank_ == 0) {
      std::memcpy(to, from, static_cast<size_t>(run_bytes_));
      return;
    }
    return outer_loops(rank_, to, from, [&](std::byte* t, const std::byte* f) {
      std::memcpy(t, f, static_cast<size_t>(run_bytes_));
    });
  }
  visit_width(bytes_, [&]<class T>(T) {
    if (rank_ == 0) return write_element(to, read_element<T>(from));
    if (tiled_ >= 0) {
      return outer_loops(tiled_, to, from, [&](std::byte* t, const std::byte* f) {
        copy_tiled<T>(t, f, axes_[rank_ - 1], axes_[rank_ - 2]);
      });
    }
    for_each_run(to, from, copy_row<T>);
  });
}

void copy_strided(std::byte* to, std::span<const int64_t> to_strides, const std::byte* from,
                  std::span<const int64_t> from_strides, std::span<const int64_t> dims,
                  int64_t element_bytes) {
  StridedCopy(dims, to_strides, from_strides, element_bytes).run(to, from);
}

void fill(std::byte* to, int64_t count, const std::byte* value, int64_t element_bytes) {
  visit_width(element_bytes, [&]<class T>(T) { fill_row(to, read_element<T>(value), count); });
}

}  // namespace heddle::hlo
