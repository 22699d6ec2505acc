// Copies between arrays that lie in memory by strides: what broadcast, transpose, slice, pad,
// concatenate, reverse and gather are.
//
// Elements are moved by their width (1, 2, 4, 8 or 16 bytes), never by their type. Dimensions that
// lie one behind the other in both arrays are merged first, so that most copies become few long
// runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo {

// Elements as their width alone.
struct Wide {
  uint64_t half[2];
};

// Calls visit(T{}) with an unsigned T of this width.
template <class Visit>
void visit_width(int64_t bytes, Visit&& visit) {
  switch (bytes) {
    case 1: return visit(uint8_t{});
    case 2: return visit(uint16_t{});
    case 4: return visit(uint32_t{});
    case 8: return visit(uint64_t{});
    default: return visit(Wide{});
  }
}

// Places need not be aligned to T: runs of narrow elements are moved as one wide one.
template <class T>
T read_element(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void write_element(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Row-major strides of a shape, in elements. Holds kMaxRank of them: no allocation.
class Strides {
 public:
  explicit Strides(const Shape& shape);
  int64_t operator[](int64_t d) const { return strides_[d]; }
  int64_t& operator[](int64_t d) { return strides_[d]; }
  operator std::span<const int64_t>() const { return {strides_, static_cast<size_t>(rank_)}; }

 private:
  int64_t rank_;
  int64_t strides_[Shape::kMaxRank];
};

// A walk over pairs of elements, one of each array, with the dimensions merged; prepared once and
// run from any two places.
class StridedWalk {
 public:
  // Strides count elements, may be negative or 0, and are as many as `dims`. Elements of `to` must
  // be distinct.
  StridedWalk(std::span<const int64_t> dims, std::span<const int64_t> to_strides,
              std::span<const int64_t> from_strides, int64_t element_bytes);

  // One element, or none.
  [[nodiscard]] bool is_point() const { return rank_ == 0 || empty_; }

  // Calls run(to, to_stride, from, from_stride, count) for each row of the innermost dimension;
  // strides in bytes.
  template <class Run>
  void for_each_run(std::byte* to, const std::byte* from, Run&& run) const;

  struct Axis {
    int64_t size;
    int64_t to;  // bytes from one element to the next
    int64_t from;
  };

 protected:
  template <class Run>
  void outer_loops(int depth, std::byte* to, const std::byte* from, Run&& run) const;

  bool empty_ = false;
  int rank_ = 0;
  int64_t bytes_;               // of one element
  Axis axes_[Shape::kMaxRank];  // outermost first
};

// to[i..] = from[i..] for every index.
class StridedCopy : private StridedWalk {
 public:
  StridedCopy(std::span<const int64_t> dims, std::span<const int64_t> to_strides,
              std::span<const int64_t> from_strides, int64_t element_bytes);
  void run(std::byte* to, const std::byte* from) const;

 private:
  void fold_innermost();
  void find_tile();

  int64_t run_bytes_ = 0;  // of the innermost dimension, where it is one block in both arrays
  int tiled_ = -1;         // the axis that lies densest in `from`, where it is not the innermost
};

// A StridedCopy that is run once.
void copy_strided(std::byte* to, std::span<const int64_t> to_strides, const std::byte* from,
                  std::span<const int64_t> from_strides, std::span<const int64_t> dims,
                  int64_t element_bytes);

// count elements, each equal to the one at `value`.
void fill(std::byte* to, int64_t count, const std::byte* value, int64_t element_bytes);

template <class Run>
void StridedWalk::outer_loops(int depth, std::byte* to, const std::byte* from, Run&& run) const {
  if (empty_) return;
  if (depth == 0) return run(to, from);
  int64_t index[Shape::kMaxRank];
  std::fill_n(index, depth, 0);
  for (;;) {
    run(to, from);
    int d = depth - 1;
    for (; d >= 0; --d) {
      to += axes_[d].to;
      from += axes_[d].from;
      if (++index[d] < axes_[d].size) break;
      to -= axes_[d].to * axes_[d].size;
      from -= axes_[d].from * axes_[d].size;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

template <class Run>
void StridedWalk::for_each_run(std::byte* to, const std::byte* from, Run&& run) const {
  if (rank_ == 0) {
    if (!empty_) run(to, int64_t{0}, from, int64_t{0}, int64_t{1});
    return;
  }
  const Axis& inner = axes_[rank_ - 1];
  outer_loops(rank_ - 1, to, from, [&](std::byte* t, const std::byte* f) {
    run(t, inner.to, f, inner.from, inner.size);
  });
}

}  // namespace heddle::hlo
