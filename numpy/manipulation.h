// Putting arrays together and taking them apart in more ways than trace/ops/movement/shaping.h has.
// Names are those of jax.numpy; negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// x, with an axis of size 1 if it has none: a number is [1].
Tensor atleast_1d(Operand x);
Tensor atleast_2d(Operand x);  // x, with axes of size 1 until there are 2: a vector is [1, n]
// x, with axes of size 1 until there are 3: a vector is [1, n, 1], a matrix [m, n, 1].
Tensor atleast_3d(Operand x);

// One above the other: along axis 0, vectors as rows.
Tensor vstack(const std::vector<Tensor>& parts, SourceLocation at = SourceLocation::here());
// Side by side: along axis 1, vectors along their own.
Tensor hstack(const std::vector<Tensor>& parts, SourceLocation at = SourceLocation::here());
// Behind each other: along axis 2, vectors and matrices as [1, n, 1] and [m, n, 1].
Tensor dstack(const std::vector<Tensor>& parts, SourceLocation at = SourceLocation::here());
// Side by side, vectors as columns.
Tensor column_stack(const std::vector<Tensor>& parts, SourceLocation at = SourceLocation::here());
// Rows of blocks: those of a row are joined along the last axis, the rows along the one before. The
// result has rank 2 or more.
Tensor block_matrix(const std::vector<std::vector<Tensor>>& rows,
                    SourceLocation at = SourceLocation::here());

// Splits an axis into `count` parts whose sizes differ by 1 at most, the greater ones first.
std::vector<Tensor> array_split(Operand x, base::Int count, base::Int axis = 0);
// Splits axis 1 (or a vector's only axis) into `count` equal parts; split_at splits at positions.
std::vector<Tensor> hsplit(Operand x, base::Int count);
std::vector<Tensor> vsplit(Operand x, base::Int count);  // Splits axis 0 into `count` parts
std::vector<Tensor> dsplit(Operand x, base::Int count);  // Splits axis 2 into `count` parts
// Each position of an axis, without it.
std::vector<Tensor> unstack(Operand x, base::Int axis = 0);

namespace trace_internal {
void unstack_to(Operand x, base::Int axis, Tensor* out, int64_t count);
}  // namespace trace_internal

// The N positions of an axis: auto [x, y, z] = unstack<3>(points, 1).
template <size_t N>
std::array<Tensor, N> unstack(Operand x, base::Int axis = 0) {
  std::array<Tensor, N> parts;
  trace_internal::unstack_to(x, axis, parts.data(), static_cast<int64_t>(N));
  return parts;
}

// All in the shape that they broadcast to.
std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& xs,
                                     SourceLocation at = SourceLocation::here());

// values, which broadcast to one position of the axis, put before `position` of it; without an axis
// into the flattened array.
Tensor insert(Operand x, base::Int position, Operand values, std::optional<base::Int> axis = {});
// Without the positions listed, of an axis or of the flattened array; in numpy `delete`, a word of
// C++.
Tensor without(Operand x, const base::Ints& positions, std::optional<base::Int> axis = {});
// x's elements in order, again and again until the shape is full; of nothing zeros.
Tensor resize(Operand x, const base::Ints& shape);

Tensor fliplr(Operand x);  // axis 1 reversed
Tensor flipud(Operand x);  // axis 0 reversed
// Turned by so many right angles, from the first of two axes toward the second.
Tensor rot90(Operand x, base::Int times = 1, base::Int from = 0, base::Int toward = 1);
// An axis moved back until it stands before `start`.
Tensor rollaxis(Operand x, base::Int axis, base::Int start = 0);
Tensor matrix_transpose(Operand x);  // the last two axes change places

// What stands outside of x: kEdge, its last element; kReflect, its elements backwards from the last
// but one; kSymmetric, backwards from the last; kWrap, from the other end.
enum class PadMode : uint8_t { kEdge, kReflect, kSymmetric, kWrap };
// Elements of x around it, `low` and `high` of each axis (interior must be 0), again and again
// where they are more than it has; one axis after the other. errors: also of an axis without
// elements
Tensor pad_with(Operand x, PadMode mode, const std::vector<Padding>& padding);

// Element i of an axis counts[i] times, for `counts` [size] of integers, 0 or more. Shapes cannot
// depend on values, so `total` places are filled: what is more is dropped, and places left over
// repeat the last element. cost: a cumsum of the counts, and a loop of log2(size) gathers
Tensor repeat_each(Operand x, Operand counts, base::Int total, base::Int axis = 0);

}  // namespace heddle
