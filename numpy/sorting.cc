#include "heddle/numpy/sorting.h"

#include <algorithm>
#include <cmath>

#include "heddle/numpy/float_limits.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/comparing.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/positions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::comes_before;
using trace_internal::is_level;

// x and the indices, broadcast to each other in all axes but one.
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

void check(const Tensor& x, const Tensor& indices) {
  if (!is_integer(indices.dtype()))
    trace_internal::refuse("indices are ", indices.shape(),
                           "; they must be integers, cast them with astype(s32)");
  if (indices.rank() != x.rank())
    trace_internal::refuse("indices are ", indices.shape(), "; x is ", x.shape(),
                           ", they must have its rank, or use take");
}

// Orders by the last key, then by those before it. t: a0, b0, a1, b1, ..
Tensor by_keys(std::span<const Tensor> t, size_t keys) {
  Expr out(comes_before(t[0], t[1], false));
  for (size_t i = 1; i < keys; ++i) {
    const Tensor &a = t[2 * i], &b = t[2 * i + 1];
    out = Expr(comes_before(a, b, false)) | (Expr(is_level(a, b)) & out);
  }
  return out.tensor();
}

// A sort of so many elements takes longer than to look for the first ones.
bool is_much_more(int64_t size, int64_t count) { return size > 128 && size >= 4 * count; }

// Whether the op for it has the order that a sort has. Some floats of 8 bits have their NaN in the
// place of -0.
bool has_order_of_bits(DType dtype) {
  return !is_complex(dtype) && (!is_floating(dtype) || has_float_limits(dtype));
}

// The values and the positions of the k greatest elements along an axis, by the op for it. It puts
// 0 behind -0, and a NaN by its sign.
std::vector<Tensor> first_of_many(const Tensor& x, int64_t k, int64_t axis) {
  Expr key(moveaxis(x, axis, -1));
  if (is_floating(key.dtype())) key = where(is_nan(key), NAN, where(key == 0, 0, key));
  const std::vector<Tensor> first = trace_internal::emit_many(
      {.opcode = hlo::Opcode::kTopK, .operands = {key.tensor()}, .attrs = hlo::TopKAttrs{.k = k}});
  const Tensor positions = moveaxis(first[1], -1, axis);
  return {take_along_axis(x, positions, axis, IndexMode::kClip), positions};
}

void require_position(const Tensor& x, int64_t k, int64_t axis) {
  const int64_t size = x.dim(axis_of(x.shape(), axis));
  if (k >= -size && k < size) return;
  trace_internal::refuse("k is ", k, "; axis ", axis, " of ", x.shape(), " has size ", size,
                         ", k must be in ", -size, " .. ", size - 1);
}

}  // namespace

Tensor take_along_axis(Operand operand, Operand which, base::Int axis, IndexMode mode) {
  constexpr std::string_view kName = "take_along_axis";
  const PublicCall call(kName, operand.at());
  Tensor x = as_tensor(operand);
  Tensor indices = as_tensor(which);
  int64_t along = axis_of(x.shape(), axis);
  check(x, indices);
  return trace_internal::one_program(kName, [&] {
    Aligned a = aligned(x, indices, along);
    int64_t size = x.dim(along);
    if (a.indices.size() == 0) return zeros(a.indices.shape().dimensions(), x.dtype());
    if (size == 0) throw Error(trace_internal::nothing_to_take(kName, x.shape(), along), {});
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
  const Operand x_operand(x, operand.at());
  auto before = [](std::span<const Tensor> t) {
    const Expr a(t[0]), b(t[1]);
    const Expr greater_one = a > b;
    if (!is_floating(a.dtype())) return greater_one.tensor();
    return (greater_one | (is_nan(a) & ~is_nan(b))).tensor();
  };
  const auto formula = [&](Operands in) {
    const Tensor& given = in[0].tensor();
    if (has_order_of_bits(given.dtype()) && is_much_more(given.dim(along), k))
      return first_of_many(given, k, along);
    Tensor position = iota(s32, given.shape().dimensions(), along);
    std::vector<Tensor> sorted = sort_by({given, position}, before, along, true);
    for (Tensor& t : sorted) t = slice_in_dim(t, 0, k, 1, along);
    return sorted;
  };
  const KnownOperand operands[] = {x_operand};
  std::vector<Tensor> out =
      trace_internal::in_program("top_k", KnownOptions(k, along), operands, formula);
  return {out[0], out[1]};
}

Tensor lexsort(const std::vector<Tensor>& keys, base::Int axis, SourceLocation at) {
  const PublicCall call("lexsort", at);
  if (keys.empty()) trace_internal::refuse("has no keys; give at least one");
  for (const Tensor& key : keys) {
    if (key.shape().dimensions() == keys[0].shape().dimensions()) continue;
    trace_internal::refuse("keys are ", keys[0].shape(), " and ", key.shape(),
                           "; they must have one shape");
  }
  const int64_t along = axis_of(keys[0].shape(), axis);
  return one_program("lexsort", [&] {
    std::vector<Tensor> operands = keys;
    operands.push_back(iota(s32, keys[0].shape().dimensions(), along));
    auto before = [&](std::span<const Tensor> t) { return by_keys(t, keys.size()); };
    return sort_by(operands, before, along, true).back();
  });
}

Tensor partition(Operand x, base::Int k, base::Int axis) {
  const PublicCall call("partition", x.at());
  require_position(as_tensor(x), k, axis);
  return one_program("partition", [&] { return sort(x, axis); });
}

Tensor argpartition(Operand x, base::Int k, base::Int axis) {
  const PublicCall call("argpartition", x.at());
  require_position(as_tensor(x), k, axis);
  return one_program("argpartition", [&] { return argsort(x, axis); });
}

Tensor sort_complex(Operand operand, base::Int axis) {
  const PublicCall call("sort_complex", operand.at());
  Tensor x = as_tensor(operand);
  if (!is_complex(x.dtype()))
    trace_internal::refuse("x is ", x.shape(), "; it must be of complex numbers, use sort");
  const int64_t along = axis_of(x.shape(), axis);
  return one_program("sort_complex", [&] { return sort(x, along); });
}

Tensor put_along_axis(Operand operand, Operand which, Operand values, base::Int axis) {
  const PublicCall call("put_along_axis", operand.at());
  Tensor x = as_tensor(operand), indices = as_tensor(which);
  const int64_t along = axis_of(x.shape(), axis);
  check(x, indices);
  return one_program("put_along_axis", [&] {
    Tensor update = trace_internal::like("value", values, x.dtype());
    const Tensor places = trace_internal::widened(aligned(x, indices, along).indices);
    Tensor place = trace_internal::from_start(places, x.dim(along));
    const Dimensions shape = place.shape().dimensions();
    ScatterDims dims{.update_window_dims = {},
                     .scatter_dims_to_operand_dims = {along},
                     .index_vector_dim = x.rank()};
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i == along || x.dim(i) != shape[static_cast<size_t>(i)]) {  // one row for all indices
        dims.inserted_window_dims.push_back(i);
        continue;
      }
      dims.input_batching_dims.push_back(i);
      dims.scatter_indices_batching_dims.push_back(i);
    }
    Tensor spread = trace_internal::stretched(update, shape);
    return scatter(x, place, spread, dims,
                   [](const Tensor&, const Tensor& value) { return value; });
  });
}

}  // namespace heddle
