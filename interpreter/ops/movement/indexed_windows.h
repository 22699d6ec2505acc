// What gather and scatter share: where in x, and where in the result of gather or the updates of
// scatter, the window of each index vector begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/literal/strides.h"

namespace heddle::interpreter {

using namespace hlo;

// The attributes of gather and scatter under one set of names. `batched` is the array whose
// dimensions are those of the window and those of the batch of index vectors: gather's result,
// scatter's updates.
struct WindowDims {
  std::span<const int64_t> window_dims;      // of batched, ascending
  std::span<const int64_t> dropped_dims;     // of x: not in the window, which is of size 1 there
  std::span<const int64_t> x_batching_dims;  // of x: not in the window either
  std::span<const int64_t> indices_batching_dims;
  std::span<const int64_t> index_map;  // component of the vector to dimension of x
  int64_t index_vector_dim;
};

// All offsets and strides count elements.
class IndexedWindows {
 public:
  // Reads `indices` for as long as it lives.
  IndexedWindows(const Shape& x, const Literal& indices, const Shape& batched,
                 const WindowDims& dims);

  [[nodiscard]] std::span<const int64_t> sizes() const { return {sizes_, window_rank_}; }
  [[nodiscard]] std::span<const int64_t> strides_in_x() const { return {in_x_, window_rank_}; }
  [[nodiscard]] std::span<const int64_t> strides_in_batched() const {
    return {in_batched_, window_rank_};
  }

  // The windows of neighbours in the batch are neighbours in batched: better walked across windows
  // than along each.
  [[nodiscard]] bool batch_is_densest() const {
    return batch_rank_ > 0 && batch_[batch_rank_ - 1].in_batched == 1 &&
           batch_[batch_rank_ - 1].size >= 8;
  }

  // Calls visit(offset in x, offset in batched) for every window, in row-major order of the batch:
  // with the starts clamped so that the window lies in x, or only for the windows that do.
  template <class Visit>
  void for_each_clamped(Visit&& visit) const {
    walk_any<true>(visit);
  }
  template <class Visit>
  void for_each_inside(Visit&& visit) const {
    walk_any<false>(visit);
  }

 private:
  struct Axis {  // of the batch
    int64_t size;
    int64_t in_batched;
    int64_t in_indices;
    int64_t in_x;  // of a batching dimension, else 0
  };
  struct Component {  // of an index vector
    int64_t in_indices;
    int64_t in_x;
    int64_t limit;  // the last start where the window lies in x
  };
  template <bool kClamp, class Visit>
  void walk_any(Visit&& visit) const {
    if (narrow_ != nullptr) return walk<kClamp>(narrow_, visit);
    walk<kClamp>(wide_, visit);
  }
  template <bool kClamp, class Int, class Visit>
  void walk(const Int* vector, Visit&& visit) const;
  template <bool kClamp, class Int>
  bool add_starts(const Int* vector, int64_t& offset) const;

  const int32_t* narrow_ = nullptr;  // the indices, of type s32; else
  const int64_t* wide_ = nullptr;    // of s64, or
  std::vector<int64_t> converted_;   // of another type, as s64
  size_t window_rank_ = 0;
  int batch_rank_ = 0;
  int components_ = 0;
  int64_t sizes_[Shape::kMaxRank];
  int64_t in_x_[Shape::kMaxRank];
  int64_t in_batched_[Shape::kMaxRank];
  Axis batch_[Shape::kMaxRank];
  Component starts_[Shape::kMaxRank];
};

template <bool kClamp, class Int>
inline bool IndexedWindows::add_starts(const Int* vector, int64_t& offset) const {
  for (int k = 0; k < components_; ++k) {
    const Component& c = starts_[k];
    int64_t start = vector[c.in_indices];
    if constexpr (kClamp) {
      start = std::clamp<int64_t>(start, 0, c.limit);
    } else {
      if (start < 0 || start > c.limit) return false;
    }
    offset += start * c.in_x;
  }
  return true;
}

template <bool kClamp, class Int, class Visit>
void IndexedWindows::walk(const Int* vector, Visit&& visit) const {
  for (int d = 0; d < batch_rank_; ++d) {
    if (batch_[d].size == 0) return;
  }
  const Axis one{1, 0, 0, 0};
  const Axis& inner = batch_rank_ == 0 ? one : batch_[batch_rank_ - 1];
  int64_t at[Shape::kMaxRank];
  std::fill_n(at, batch_rank_, 0);
  int64_t batched = 0;
  int64_t x = 0;
  for (;;) {
    for (int64_t i = 0; i < inner.size; ++i) {
      int64_t offset = x + i * inner.in_x;
      if (add_starts<kClamp>(vector + i * inner.in_indices, offset))
        visit(offset, batched + i * inner.in_batched);
    }
    int d = batch_rank_ - 2;
    for (; d >= 0; --d) {
      const Axis& axis = batch_[d];
      const int64_t steps = ++at[d] < axis.size ? 1 : 1 - axis.size;
      vector += steps * axis.in_indices;
      batched += steps * axis.in_batched;
      x += steps * axis.in_x;
      if (steps == 1) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace heddle::interpreter
