#include "heddle/numpy/statistics/statistics.h"

#include <algorithm>
#include <cmath>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/matrices.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::checked;

// x and the axis to work along. Without an axis x is flattened.
struct Along {
  Tensor x;
  int64_t axis;
};

Along along(std::string_view op, const Operand& operand, std::optional<int64_t> axis) {
  const PublicCall call(op, operand.at());
  Tensor x = as_tensor(operand);
  if (axis) return {x, axis_of(x.shape(), *axis)};
  return {ravel(x), 0};
}

}  // namespace

Tensor average(Operand operand, Operand weights, std::optional<base::Int> axis) {
  const PublicCall call("average", operand.at());
  Tensor x = as_tensor(operand), w = as_tensor(weights);
  trace_internal::require_inexact(operand);
  if (!weights.is_tensor())
    trace_internal::refuse(
        "the second argument is a number; it must be weights, or write mean(x, "
        "axis)");
  if (w.dtype() != x.dtype())
    trace_internal::refuse("weights are ", w.shape(), "; x is ", x.shape(),
                           ", cast them with astype(", to_string(x.dtype()), ")");
  const bool is_vector = w.rank() == 1 && axis && x.rank() != 1;
  if (!is_vector && w.shape().dimensions() != x.shape().dimensions())
    trace_internal::refuse("weights are ", w.shape(), "; they must have the shape ", x.shape(),
                           " of x, or be a vector along an axis that is given");
  return one_program("average", [&] {
    Along values = along("average", operand, axis);
    Tensor spread = w;
    if (is_vector) {
      if (w.size() != values.x.dim(values.axis))
        trace_internal::refuse("weights are ", w.shape(), "; axis ", *axis, " of x, ", x.shape(),
                               ", has another size");
      spread = broadcast_in_dim(w, values.x.shape().dimensions(), {values.axis});
    } else if (!axis) {
      spread = ravel(w);
    }
    const Expr v(trace_internal::wide_for_sums(values.x));
    const Expr s(trace_internal::wide_for_sums(spread));
    const Reduction over{.axes = {values.axis}};
    return (sum(v * s, over) / sum(s, over)).astype(x.dtype()).tensor();
  });
}

Tensor ptp(Operand x, const Reduction& given) {
  const PublicCall call("ptp", x.at());
  if (is_complex(as_tensor(x).dtype()))
    trace_internal::refuse("x is ", as_tensor(x).shape(),
                           "; complex numbers have no order, take abs(x) or real(x)");
  const Reduction over = checked(x, given);
  return one_program("ptp", [&] { return subtract(max(x, over), min(x, over)); });
}

Tensor count_nonzero(Operand x, const Reduction& given) {
  const PublicCall call("count_nonzero", x.at());
  const Reduction over = checked(x, given);
  return one_program("count_nonzero", [&] {
    Tensor value = as_tensor(x);
    Tensor is = value.dtype() == pred ? value : not_equal(x, 0);
    return sum(is.astype(s32), over);
  });
}

Tensor nan_sum(Operand x, const Reduction& given) {
  const PublicCall call("nan_sum", x.at());
  const Reduction over = checked(x, given);
  return one_program("nan_sum", [&] {
    if (!is_floating(as_tensor(x).dtype()) && !is_complex(as_tensor(x).dtype()))
      return sum(x, over);  // integers are numbers
    Expr v(as_tensor(x));
    return sum(where(is_nan(v), 0, v), over).tensor();
  });
}

Tensor nan_mean(Operand x, const Reduction& given) {
  const PublicCall call("nan_mean", x.at());
  trace_internal::require_inexact(x);
  const Reduction over = checked(x, given);
  return one_program("nan_mean", [&] {
    const Tensor given_x = as_tensor(x);
    const Expr v(trace_internal::wide_for_sums(given_x));
    Expr total = sum(where(is_nan(v), 0, v), over);
    const Expr numbers = sum((~is_nan(v)).astype(v.dtype()), over);
    return (total / numbers).astype(given_x.dtype()).tensor();
  });
}

Tensor cov(Operand operand, base::Int ddof) {
  const PublicCall call("cov", operand.at());
  const Tensor x = as_tensor(operand);
  trace_internal::require_inexact(operand);
  if (x.rank() != 1 && x.rank() != 2)
    trace_internal::refuse("x is ", x.shape(), "; it must be [variables, n], or [n] of one");
  return one_program("cov", [&] {
    const bool is_one = x.rank() == 1;
    Expr v(is_one ? expand_dims(x, 0) : x);
    Expr centred = v - mean(v, {.axes = {1}, .keep_dims = true});
    Expr products(inner(centred.operand(), conj(centred.operand())));
    products = products / static_cast<double>(std::max<int64_t>(x.dim(-1) - ddof, 0));
    return is_one ? reshape(products.operand(), {}) : products.tensor();
  });
}

Tensor corrcoef(Operand operand) {
  const PublicCall call("corrcoef", operand.at());
  return one_program("corrcoef", [&] {
    Expr c(cov(operand));
    if (c.dimensions().empty()) return (c / c).tensor();
    Tensor variances = diagonal(c.operand());
    if (is_complex(variances.dtype())) variances = real(variances);
    Expr deviation = sqrt(Expr(variances)).astype(c.dtype());
    Expr rows = expand_dims(deviation.operand(), 1);
    return (c / rows / deviation).tensor();
  });
}

Tensor bincount(Operand operand, base::Int length, std::optional<Operand> weights) {
  const PublicCall call("bincount", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  if (!is_integer(x.dtype()) || length < 0)
    trace_internal::refuse("x is ", x.shape(), " and length ", length,
                           "; x must be of integers and length 0 or more");
  return one_program("bincount", [&] {
    // It compares in 64 bits, which can hold the length. u64 stays u64, since its greatest values
    // are no s64.
    Expr given(ravel(x));
    Expr v = given.dtype() == u64 ? given : given.astype(s64);
    // An update outside is left out; a negative place would count from the end.
    Expr place = where((v >= 0) & (v < int64_t{length}), v.astype(s64), int64_t{length});
    Tensor each = weights ? as_tensor(*weights) : Tensor();
    if (weights && each.shape().dimensions() != x.shape().dimensions())
      trace_internal::refuse("weights are ", each.shape(), "; x is ", x.shape(),
                             ", they must have its shape");
    Tensor none = zeros({length}, weights ? each.dtype() : s32);
    At counting = heddle::at(none, {place.tensor()}, at);
    return weights ? counting.add(ravel(each)) : counting.add(1);
  });
}

Tensor histogram(Operand operand, base::Int bins, double low, double high) {
  const PublicCall call("histogram", operand.at());
  Tensor x = as_tensor(operand);
  if (is_integer(x.dtype())) x = x.astype(f64);
  if (bins < 1 || !(low < high) || !is_floating(x.dtype()))
    trace_internal::refuse("x is ", x.shape(), ", bins ", bins, " of ", low, " .. ", high,
                           "; x must be of real numbers, bins 1 or more, low less than high");
  return one_program("histogram", [&] {
    Expr v(x);
    Expr place = floor((v - low) * (static_cast<double>(bins) / (high - low)));
    Expr inside = (v >= low) & (v <= high);
    Expr bin = where(inside, minimum(place, static_cast<double>(bins - 1)), -1);
    return bincount(bin.astype(s32).tensor(), bins);
  });
}

}  // namespace heddle
