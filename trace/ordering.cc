#include "heddle/trace/ordering.h"

#include "heddle/trace/axes.h"
#include "heddle/trace/comparing.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/located.h"
#include "heddle/trace/positions.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::comes_before;
using trace_internal::is_level;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// By the last key, then by those before it. t: a0, b0, a1, b1, ..
Tensor by_keys(std::span<const Tensor> t, size_t keys, SourceLocation at) {
  Located out(comes_before(t[0], t[1], false, at), at);
  for (size_t i = 1; i < keys; ++i) {
    const Tensor &a = t[2 * i], &b = t[2 * i + 1];
    out = out.with(comes_before(a, b, false, at)) | (out.with(is_level(a, b, at)) & out);
  }
  return out.tensor();
}

void require_position(std::string_view op, const Tensor& x, int64_t k, int64_t axis,
                      SourceLocation at) {
  const int64_t size = x.dim(axis_of(op, x.shape(), axis, at));
  if (k >= -size && k < size) return;
  throw Error(trace_internal::invalid_argument(op, ": k is ", k, "; axis ", axis, " of ", x.shape(),
                                               " has size ", size, ", k must be in ", -size, " .. ",
                                               size - 1),
              at);
}

}  // namespace

Tensor lexsort(const std::vector<Tensor>& keys, base::Int axis, SourceLocation at) {
  const PublicCall call("lexsort", at);
  if (keys.empty())
    throw Error(trace_internal::invalid_argument("lexsort", ": has no keys; give at least one"),
                at);
  for (const Tensor& key : keys) {
    if (key.shape().dimensions() == keys[0].shape().dimensions()) continue;
    throw Error(trace_internal::invalid_argument("lexsort", ": keys are ", keys[0].shape(), " and ",
                                                 key.shape(), "; they must have one shape"),
                at);
  }
  const int64_t along = axis_of("lexsort", keys[0].shape(), axis, at);
  return one_program("lexsort", at, [&] {
    std::vector<Tensor> operands = keys;
    operands.push_back(iota(s32, keys[0].shape().dimensions(), along, at));
    auto before = [&](std::span<const Tensor> t) { return by_keys(t, keys.size(), at); };
    return sort_by(operands, before, along, true, at).back();
  });
}

Tensor partition(Operand x, base::Int k, base::Int axis) {
  const PublicCall call("partition", x.at());
  require_position("partition", as_tensor(x), k, axis, x.at());
  return one_program("partition", x.at(), [&] { return sort(x, axis); });
}

Tensor argpartition(Operand x, base::Int k, base::Int axis) {
  const PublicCall call("argpartition", x.at());
  require_position("argpartition", as_tensor(x), k, axis, x.at());
  return one_program("argpartition", x.at(), [&] { return argsort(x, axis); });
}

Tensor sort_complex(Operand operand, base::Int axis) {
  const PublicCall call("sort_complex", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  if (!is_complex(x.dtype()))
    throw Error(trace_internal::invalid_argument("sort_complex", ": x is ", x.shape(),
                                                 "; it must be of complex numbers, use sort"),
                at);
  const int64_t along = axis_of("sort_complex", x.shape(), axis, at);
  return one_program("sort_complex", at, [&] { return sort({x, at}, along); });
}

Tensor put_along_axis(Operand operand, Operand which, Operand values, base::Int axis) {
  const PublicCall call("put_along_axis", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand), indices = as_tensor(which);
  const int64_t along = axis_of("put_along_axis", x.shape(), axis, at);
  trace_internal::require_integers("put_along_axis", indices, at);
  Dimensions expected = x.shape().dimensions();
  if (indices.rank() == x.rank()) expected[static_cast<size_t>(along)] = indices.dim(along);
  if (indices.shape().dimensions() != expected)
    throw Error(trace_internal::invalid_argument("put_along_axis", ": indices are ",
                                                 indices.shape(), "; x is ", x.shape(),
                                                 ", they must have its sizes but for axis ", axis),
                at);
  return one_program("put_along_axis", at, [&] {
    Tensor update = trace_internal::like("put_along_axis", "value", values, x.dtype(), at);
    Tensor place =
        trace_internal::from_start(trace_internal::widened(indices, at), x.dim(along), at);
    ScatterDims dims{.update_window_dims = {},
                     .inserted_window_dims = {along},
                     .scatter_dims_to_operand_dims = {along},
                     .index_vector_dim = x.rank()};
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i == along) continue;
      dims.input_batching_dims.push_back(i);
      dims.scatter_indices_batching_dims.push_back(i);
    }
    Tensor spread =
        trace_internal::stretched("put_along_axis", update, indices.shape().dimensions(), at);
    return scatter({x, at}, {place, at}, {spread, at}, dims,
                   [](const Tensor&, const Tensor& value) { return value; });
  });
}

}  // namespace heddle
