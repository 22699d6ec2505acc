#include "heddle/trace/ordering.h"

#include "heddle/trace/axes.h"
#include "heddle/trace/comparing.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/positions.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::comes_before;
using trace_internal::Expr;
using trace_internal::is_level;
using trace_internal::one_program;
using trace_internal::PublicCall;

// By the last key, then by those before it. t: a0, b0, a1, b1, ..
Tensor by_keys(std::span<const Tensor> t, size_t keys) {
  Expr out(comes_before(t[0], t[1], false));
  for (size_t i = 1; i < keys; ++i) {
    const Tensor &a = t[2 * i], &b = t[2 * i + 1];
    out = Expr(comes_before(a, b, false)) | (Expr(is_level(a, b)) & out);
  }
  return out.tensor();
}

void require_position(const Tensor& x, int64_t k, int64_t axis) {
  const int64_t size = x.dim(axis_of(x.shape(), axis));
  if (k >= -size && k < size) return;
  trace_internal::refuse("k is ", k, "; axis ", axis, " of ", x.shape(), " has size ", size,
                         ", k must be in ", -size, " .. ", size - 1);
}

}  // namespace

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
  trace_internal::require_integers(indices);
  Dimensions expected = x.shape().dimensions();
  if (indices.rank() == x.rank()) expected[static_cast<size_t>(along)] = indices.dim(along);
  if (indices.shape().dimensions() != expected)
    trace_internal::refuse("indices are ", indices.shape(), "; x is ", x.shape(),
                           ", they must have its sizes but for axis ", axis);
  return one_program("put_along_axis", [&] {
    Tensor update = trace_internal::like("value", values, x.dtype());
    Tensor place = trace_internal::from_start(trace_internal::widened(indices), x.dim(along));
    ScatterDims dims{.update_window_dims = {},
                     .inserted_window_dims = {along},
                     .scatter_dims_to_operand_dims = {along},
                     .index_vector_dim = x.rank()};
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i == along) continue;
      dims.input_batching_dims.push_back(i);
      dims.scatter_indices_batching_dims.push_back(i);
    }
    Tensor spread = trace_internal::stretched(update, indices.shape().dimensions());
    return scatter(x, place, spread, dims,
                   [](const Tensor&, const Tensor& value) { return value; });
  });
}

}  // namespace heddle
