#include "heddle/trace/selecting.h"

#include <algorithm>
#include <cmath>

#include "heddle/trace/axes.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::Expr;
using trace_internal::PublicCall;

// x and the indices, stretched to each other's sizes in all axes but one.
struct Aligned {
  Tensor x, indices;
};
Aligned aligned(const Tensor& x, const Tensor& indices, int64_t axis) {
  auto without = [&](const Tensor& t) {
    Dimensions sizes = t.shape().dimensions();
    sizes[static_cast<size_t>(axis)] = 1;
    return Shape(t.dtype(), sizes);
  };
  const std::optional<Dimensions> both = common_dimensions(without(x), without(indices));
  if (!both)
    trace_internal::refuse("indices are ", indices.shape(), " and x ", x.shape(),
                           "; the sizes of all axes but ", axis, " must be equal or 1");
  const Dimensions& common = *both;
  auto stretched = [&](const Tensor& t) {
    Dimensions sizes = common;
    sizes[static_cast<size_t>(axis)] = t.dim(axis);
    return broadcast_to(t, sizes);
  };
  return {stretched(x), stretched(indices)};
}

// All axes but one are batches: each row of x is read at its own row of positions.
Tensor gather_rows(const Tensor& x, const Tensor& positions, int64_t axis) {
  GatherDims dims{.offset_dims = {},
                  .collapsed_slice_dims = {axis},
                  .start_index_map = {axis},
                  .index_vector_dim = x.rank()};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    dims.operand_batching_dims.push_back(i);
    dims.start_indices_batching_dims.push_back(i);
  }
  return gather(x, positions, dims, Dimensions(static_cast<size_t>(x.rank()), 1));
}

void check(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (!is_integer(indices.dtype()))
    trace_internal::refuse("indices are ", indices.shape(),
                           "; they must be integers, cast them with astype(s32)");
  if (indices.rank() != x.rank())
    trace_internal::refuse("indices are ", indices.shape(), "; x is ", x.shape(),
                           ", they must have its rank, or use take");
  if (x.dim(axis) == 0 && indices.size() > 0)
    trace_internal::refuse("axis ", axis, " of ", x.shape(),
                           " has size 0; there is nothing to take");
}

}  // namespace

Tensor take_along_axis(Operand operand, Operand which, base::Int axis, IndexMode mode) {
  const PublicCall call("take_along_axis", operand.at());
  Tensor x = as_tensor(operand);
  Tensor indices = as_tensor(which);
  int64_t along = axis_of(x.shape(), axis);
  check(x, indices, along);
  return trace_internal::one_program("take_along_axis", [&] {
    Aligned a = aligned(x, indices, along);
    int64_t size = x.dim(along);
    if (size == 0) return zeros(a.indices.shape().dimensions(), x.dtype());
    Expr position(bit_width(indices.dtype()) < 32 ? a.indices.astype(s32) : a.indices);
    if (is_signed(position.dtype())) position = where(position < 0, position + size, position);
    Tensor taken = gather_rows(a.x, position.tensor(), along);
    if (mode == IndexMode::kClip) return taken;
    Expr inside = (position >= 0) & (position < size);
    Expr out(taken);
    bool has_nan = is_floating(taken.dtype()) || is_complex(taken.dtype());
    return where(inside, out, has_nan ? out.like(NAN) : out.like(0)).tensor();
  });
}

TopK top_k(Operand operand, base::Int k, base::Int axis) {
  const PublicCall call("top_k", operand.at());
  Tensor x = as_tensor(operand);
  int64_t along = axis_of(x.shape(), axis);
  if (k < 0 || k > x.dim(along))
    trace_internal::refuse("k is ", k, "; axis ", axis, " of ", x.shape(), " has size ",
                           x.dim(along), ", k must be in 0 .. that");
  auto before = [](std::span<const Tensor> t) {
    const Expr a(t[0]), b(t[1]);
    const Expr greater_one = a > b;
    if (!is_floating(a.dtype())) return greater_one.tensor();
    return (greater_one | (is_nan(a) & ~is_nan(b))).tensor();
  };
  std::vector<Tensor> out = trace_internal::in_program("top_k", [&] {
    Tensor position = iota(s32, x.shape().dimensions(), along);
    std::vector<Tensor> sorted = sort_by({x, position}, before, along, true);
    for (Tensor& t : sorted) t = slice_in_dim(t, 0, k, 1, along);
    return sorted;
  });
  return {out[0], out[1]};
}

}  // namespace heddle
