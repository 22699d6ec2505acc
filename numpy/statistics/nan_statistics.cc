#include "heddle/numpy/statistics/nan_statistics.h"

#include <cmath>

#include "heddle/hlo/dimensions.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/sorting.h"
#include "heddle/numpy/statistics/statistics.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::checked;

// How many numbers there are, in x's dtype.
Expr count_of(const Expr& x, const Reduction& over) {
  return sum((~is_nan(x)).astype(x.dtype()), over);
}

bool has_nan(const Operand& x) {
  const DType dtype = as_tensor(x).dtype();
  return is_floating(dtype) || is_complex(dtype);
}

// x with the least (or greatest) value of its dtype in place of NaN, so that it never wins over a
// number.
Tensor without_nan(const Expr& x, bool lowest) {
  const Tensor worst = trace_internal::emit_constant(trace_internal::extreme(x.dtype(), lowest));
  return where(is_nan(x), Expr(worst), x).tensor();
}

// The extreme of the numbers; NaN where there are no numbers.
template <class Reduce>
Tensor nan_extreme(std::string_view op, const Operand& operand, const Reduction& given,
                   bool greatest, Reduce&& reduce) {
  const PublicCall call(op, operand.at());
  const Reduction over = checked(operand, given);
  if (!has_nan(operand)) return one_program(op, [&] { return reduce(operand, over); });
  Expr x = floating("x", operand);
  return one_program(op, [&] {
    const Tensor numbers = without_nan(x, greatest);
    Expr found = reduce(numbers, over);
    return where(Expr(all(is_nan(x).operand(), over)), NAN, found).tensor();
  });
}

Expr variance_of(const Expr& x, const Reduction& over, int64_t ddof) {
  const Reduction over_axes{.axes = over.axes, .keep_dims = true};
  Expr zeroed = where(is_nan(x), 0, x);
  Expr centre = sum(zeroed, over_axes) / count_of(x, over_axes);
  Expr squares = where(is_nan(x), 0, square(zeroed - centre));
  Expr left = count_of(x, over) - static_cast<double>(ddof);
  return where(left > 0, sum(squares, over) / left, NAN);
}

// The variance, or its root, rounded once to x's dtype.
Tensor nan_spread(std::string_view op, const Operand& operand, const Reduction& given, int64_t ddof,
                  bool root) {
  const PublicCall call(op, operand.at());
  const Expr x = floating("x", operand);
  const Reduction over = checked(operand, given);
  return one_program(op, [&] {
    const Expr wide = trace_internal::wide_for_sums(x.tensor());
    const Expr out = variance_of(wide, over, ddof);
    return (root ? sqrt(out) : out).astype(x.dtype()).tensor();
  });
}

Tensor nan_position(std::string_view op, const Operand& operand, int64_t axis, bool greatest,
                    Tensor (*find)(Operand, base::Int, base::Flag)) {
  const PublicCall call(op, operand.at());
  const int64_t along = axis_of(as_tensor(operand).shape(), axis);
  if (!has_nan(operand)) return one_program(op, [&] { return find(operand, along, false); });
  Expr x = floating("x", operand);
  return one_program(op, [&] {
    Expr none = all(is_nan(x).operand(), {.axes = {along}});
    const Tensor numbers = without_nan(x, greatest);
    Expr found = find(numbers, along, false);
    return where(none, -1, found).tensor();
  });
}

// The value of a segment without rows.
enum class Start : uint8_t { kZero, kOne, kLeast, kGreatest };

Tensor start_of(Start start, DType dtype) {
  if (start == Start::kZero || start == Start::kOne)
    return constant_like(start == Start::kOne ? 1 : 0, dtype);
  return trace_internal::emit_constant(trace_internal::extreme(dtype, start == Start::kLeast));
}

Tensor segments_of(std::string_view op, const Operand& operand, const Operand& which, int64_t count,
                   Start start, Tensor (*combine)(Operand, Operand)) {
  const PublicCall call(op, operand.at());
  Tensor x = as_tensor(operand), ids = as_tensor(which);
  if (x.rank() == 0)
    trace_internal::refuse("x is ", x.shape(), "; it must have rows to sort into segments");
  if (!is_integer(ids.dtype()))
    trace_internal::refuse("ids are ", ids.shape(), "; they must be integers: cast them");
  if (ids.rank() != 1 || ids.size() != x.dim(0))
    trace_internal::refuse("ids are ", ids.shape(), "; they must be ", ids.dtype(), "[", x.dim(0),
                           "], one for each row of x, which is ", x.shape());
  if (count < 0) trace_internal::refuse("segments is ", count, "; it must be 0 or more");
  return one_program(op, [&] {
    Dimensions shape = x.shape().dimensions();
    shape[0] = count;
    ScatterDims dims{.update_window_dims = consecutive_dimensions(x.rank() - 1, 1),
                     .inserted_window_dims = {0},
                     .scatter_dims_to_operand_dims = {0},
                     .index_vector_dim = 1};
    Tensor wide = bit_width(ids.dtype()) < 32 ? ids.astype(s32) : ids;
    Tensor none = broadcast_to(start_of(start, x.dtype()), shape);
    return scatter(none, wide, x, dims,
                   [&](const Tensor& a, const Tensor& b) { return combine(a, b); });
  });
}

// x with a number in place of NaN. Integers have no NaN.
Tensor with_identity(const Operand& operand, int64_t identity) {
  const Expr x(as_tensor(operand));
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) return x.tensor();
  return where(is_nan(x), identity, x).tensor();
}

}  // namespace

Tensor nan_prod(Operand operand, const Reduction& given) {
  const PublicCall call("nan_prod", operand.at());
  const Reduction over = checked(operand, given);
  return one_program("nan_prod", [&] {
    if (!has_nan(operand)) return prod(operand, over);
    const Expr x(as_tensor(operand));
    return prod(where(is_nan(x), 1, x).operand(), over);
  });
}

Tensor nan_max(Operand x, const Reduction& over) {
  return nan_extreme("nan_max", x, over, true,
                     [](const Operand& v, const Reduction& r) { return max(v, r); });
}

Tensor nan_min(Operand x, const Reduction& over) {
  return nan_extreme("nan_min", x, over, false,
                     [](const Operand& v, const Reduction& r) { return min(v, r); });
}

Tensor nan_var(Operand operand, const Reduction& given, base::Int ddof) {
  return nan_spread("nan_var", operand, given, ddof, /*root=*/false);
}

Tensor nan_std(Operand operand, const Reduction& given, base::Int ddof) {
  return nan_spread("nan_std", operand, given, ddof, /*root=*/true);
}

Tensor nan_argmax(Operand x, base::Int axis) {
  return nan_position("nan_argmax", x, axis, true, argmax);
}

Tensor nan_argmax(Operand x) {
  const PublicCall call("nan_argmax", x.at());
  return nan_argmax(ravel(x), 0);
}

Tensor nan_argmin(Operand x) {
  const PublicCall call("nan_argmin", x.at());
  return nan_argmin(ravel(x), 0);
}

Tensor nan_argmin(Operand x, base::Int axis) {
  return nan_position("nan_argmin", x, axis, false, argmin);
}

Tensor segment_sum(Operand x, Operand ids, base::Int segments) {
  return segments_of("segment_sum", x, ids, segments, Start::kZero, add);
}

Tensor segment_prod(Operand x, Operand ids, base::Int segments) {
  return segments_of("segment_prod", x, ids, segments, Start::kOne, multiply);
}

Tensor segment_max(Operand x, Operand ids, base::Int segments) {
  return segments_of("segment_max", x, ids, segments, Start::kLeast, maximum);
}

Tensor segment_min(Operand x, Operand ids, base::Int segments) {
  return segments_of("segment_min", x, ids, segments, Start::kGreatest, minimum);
}

Tensor nan_cumsum(Operand operand, base::Int axis) {
  return one_program("nan_cumsum", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 0);
    return cumsum(numbers, axis);
  });
}

Tensor nan_cumprod(Operand operand, base::Int axis) {
  return one_program("nan_cumprod", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 1);
    return cumprod(numbers, axis);
  });
}

Tensor nancumsum(Operand x, base::Int axis) {
  const PublicCall call("nancumsum", x.at());
  return nan_cumsum(x, axis);
}
Tensor nancumprod(Operand x, base::Int axis) {
  const PublicCall call("nancumprod", x.at());
  return nan_cumprod(x, axis);
}

}  // namespace heddle
