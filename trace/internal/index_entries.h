// The entries of x[{..}] and x.at({..}), taken apart. Private to Heddle's op functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heddle/trace/ops/movement/indexing.h"

namespace heddle::trace_internal {

// A tensor of indices of rank 1 or more, or null.
const Tensor* array_of(const IndexEntry& entry);
int64_t count_arrays(const std::vector<IndexEntry>& entries);

// errors: throws Error where a tensor among them has no value
void require_values(const std::vector<IndexEntry>& entries);

// x with its new axes, and one entry for each axis: a position, a slice or a tensor. `apart`:
// something else stands between tensors or positions, so the tensors' axes go to the front.
struct Entries {
  Tensor x;
  std::vector<IndexEntry> each;
  bool apart;
};
// errors: throws Error for more entries than axes, for two ellipses and for masks
Entries entries_of(const Tensor& x, const std::vector<IndexEntry>& given);

// Where start .. stop of a slice lie in an axis of `size`, as numpy has it: the elements are start,
// start + step, .. as many as `count`.
struct Range {
  int64_t start, stop, count;
};
Range range_of(const Slice& slice, int64_t size);

// Tensors of indices that go together, along axes of one array.
class Together {
 public:
  void add(const Tensor& indices, int64_t axis);
  // dtype() holds the positions of this one too.
  void widen(DType dtype);
  [[nodiscard]] const std::vector<int64_t>& axes() const { return axes_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  // The shape that they broadcast to.
  [[nodiscard]] Dimensions shape() const;
  // Array i, from the start of its axis of x, in one dtype; those outside stay outside.
  [[nodiscard]] Tensor positions(size_t i, const Tensor& x) const;
  // The slices of x that they pick; the axes of shape() stand at `place` of the result. errors:
  // throws Error for positions in an axis of size 0
  [[nodiscard]] Tensor gathered(const Tensor& x, int64_t place) const;

 private:
  [[nodiscard]] Dimensions picked_shape(const Tensor& x, const Dimensions& common,
                                        int64_t place) const;

  std::vector<Tensor> arrays_;
  std::vector<int64_t> axes_;
  DType dtype_ = s32;
};

// x[{..}] taken apart: a static slice with strides, then positions that are values, then arrays of
// indices: one by take(), several by one gather. Refers to x and the entries.
class Indexing {
 public:
  Indexing(const Tensor& x, const Entries& entries)
      : x_(x), entries_(entries.each), apart_(entries.apart) {}

  [[nodiscard]] Tensor get() const;
  // The shape of get() where no entry is an array, with nothing recorded.
  [[nodiscard]] Dimensions block_shape() const;
  // The flat positions of the elements that get() picks, in its shape: what scatter needs, whatever
  // the entries are.
  [[nodiscard]] Tensor positions() const;
  // A position from the start. errors: throws Error where it is outside the axis
  static int64_t checked(int64_t position, int64_t axis, const Shape& shape);

 private:
  void check_positions() const;
  // Each returns how many axes of the result the entry leaves behind.
  int64_t apply(int64_t position, int64_t axis, Tensor& out) const;
  int64_t apply(const Slice& slice, int64_t axis, Tensor& out) const;
  int64_t apply(const Tensor& indices, int64_t axis, Tensor& out) const;
  // entries_of() has taken these away.
  static int64_t apply(NewAxis, int64_t, Tensor&) { return 1; }
  static int64_t apply(Ellipsis, int64_t, Tensor&) { return 1; }

  const Tensor& x_;
  const std::vector<IndexEntry>& entries_;
  bool apart_;
};

// x[{..}]. `op`: the function that the user called.
Tensor picked(std::string_view op, const Tensor& x, const std::vector<IndexEntry>& entries,
              SourceLocation at);

}  // namespace heddle::trace_internal
