#include "heddle/numpy/sequences.h"

#include <algorithm>

#include "heddle/numpy/index_grids.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/statistics/statistics.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/windows/windows.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// All but the first element along an axis, and all but the last.
struct Neighbours {
  Expr after, before;
};

Neighbours neighbours(const Expr& x, int64_t axis) {
  const int64_t n = x.dimensions()[static_cast<size_t>(axis)];
  return {Expr(slice_in_dim(x.operand(), std::min<int64_t>(n, 1), n, 1, axis)),
          Expr(slice_in_dim(x.operand(), 0, std::max<int64_t>(n - 1, 0), 1, axis))};
}

// Elements first .. limit of an axis.
Expr part_of(const Expr& x, int64_t first, int64_t limit, int64_t axis) {
  return slice_in_dim(x.operand(), first, limit, 1, axis);
}

void require_slope(const Expr& y, int64_t axis) {
  const Tensor& t = y.tensor();
  if ((is_floating(t.dtype()) || is_complex(t.dtype())) && t.dim(axis) >= 2) return;
  trace_internal::refuse("y is ", t.shape(),
                         "; it must be of floats or complex numbers, with 2 elements or more "
                         "along axis ",
                         axis);
}

// A vector along an axis of an array of `rank`.
Expr spread(const Expr& x, int64_t rank, int64_t axis) {
  Dimensions shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = -1;
  return reshape(x.operand(), shape);
}

// At both ends the slopes between neighbours; between the ends the slope of the parabola through
// three points, where the slope on each side has the width of the other side as its weight.
Tensor slopes(const Expr& y, const Expr& widths, int64_t axis) {
  Neighbours pair = neighbours(y, axis);
  const Expr slope = (pair.after - pair.before) / widths;
  const int64_t n = slope.tensor().dim(axis);
  std::vector<Tensor> parts = {part_of(slope, 0, 1, axis).tensor()};
  if (n > 1) {
    const Neighbours sides = neighbours(slope, axis), width = neighbours(widths, axis);
    const Expr between =
        (sides.before * width.after + sides.after * width.before) / (width.before + width.after);
    parts.push_back(between.tensor());
  }
  parts.push_back(part_of(slope, n - 1, n, axis).tensor());
  return concat(parts, axis);
}

// Sum of the means of neighbours, times the widths between them.
template <class Widths>
Tensor trapezoid_of(const Expr& y, int64_t axis, const Widths& widths) {
  Neighbours pair = neighbours(y, axis);
  return sum((pair.after + pair.before) * widths * 0.5, {.axes = {axis}}).tensor();
}

// Checks x as the places of y's elements along an axis.
void require_places(const Tensor& x, const Expr& y, int64_t axis) {
  const int64_t size = y.tensor().dim(axis);
  if (x.rank() == 1 && x.size() == size) return;
  trace_internal::refuse("x is ", x.shape(), "; it must be a vector of ", size,
                         " elements, as axis ", axis, " of y, ", y.tensor().shape());
}

void require_vectors(const Tensor& x, const Tensor& y) {
  if (x.rank() == 1 && y.rank() == 1 && x.dtype() == y.dtype() && x.dtype() != pred &&
      x.size() > 0 && y.size() > 0)
    return;
  trace_internal::refuse("operands are ", x.shape(), " and ", y.shape(),
                         "; they must be vectors of numbers of one dtype, with elements");
}

// sum over j of x[i + j] y[j] at each place i where `overlap` has one; y is the shorter one.
Tensor sliding_dot(const Tensor& x, const Tensor& y, ConvolveMode overlap) {
  const int64_t m = y.size();
  EdgePadding edges{.low = m - 1, .high = m - 1};
  if (overlap == ConvolveMode::kSame) edges = {.low = m / 2, .high = (m - 1) / 2};
  if (overlap == ConvolveMode::kValid) edges = {};
  Tensor row = reshape(x, {1, x.size(), 1});
  Tensor window = reshape(y, {m, 1, 1});
  Convolution how{.padding = WindowPadding({edges})};
  return ravel(conv(row, window, how));
}

// dd moved by multiples of the period to the value nearest to 0. Half a period keeps dd's sign.
Expr nearest(const Expr& dd, double period) {
  const double half = period / 2;
  Expr shifted = dd + half;
  Expr moved = Expr(mod(shifted.operand(), dd.like(period).operand())) - half;
  return where((moved == -half) & (dd > 0), half, moved);
}

}  // namespace

Tensor diff(Operand operand, base::Int order, base::Int axis) {
  const PublicCall call("diff", operand.at());
  Expr x(as_tensor(operand));
  const int64_t along = axis_of(x.tensor().shape(), axis);
  if (order < 0) trace_internal::refuse("order is ", order, "; it must be 0 or more");
  return one_program("diff", [&] {
    Expr result = x;
    for (int64_t i = 0; i < order && result.tensor().dim(along) > 0; ++i) {
      Neighbours pair = neighbours(result, along);
      result = x.dtype() == pred ? pair.after != pair.before : pair.after - pair.before;
    }
    return result.tensor();
  });
}

Tensor ediff1d(Operand operand, const std::vector<Tensor>& behind,
               const std::vector<Tensor>& before) {
  const PublicCall call("ediff1d", operand.at());
  return one_program("ediff1d", [&] {
    std::vector<Tensor> parts = before;
    parts.push_back(diff(ravel(operand)));
    parts.insert(parts.end(), behind.begin(), behind.end());
    return parts.size() == 1 ? parts[0] : concat(parts, 0);
  });
}

Tensor gradient(Operand operand, double step, base::Int axis) {
  const PublicCall call("gradient", operand.at());
  Expr y(as_tensor(operand));
  const int64_t along = axis_of(y.tensor().shape(), axis);
  require_slope(y, along);
  return one_program("gradient", [&] {
    const int64_t n = y.tensor().dim(along);
    const Expr first = part_of(y, 1, 2, along) - part_of(y, 0, 1, along);
    const Expr last = part_of(y, n - 1, n, along) - part_of(y, n - 2, n - 1, along);
    std::vector<Tensor> parts = {(first / step).tensor()};
    if (n > 2) {
      const Expr across = part_of(y, 2, n, along) - part_of(y, 0, n - 2, along);
      parts.push_back((across / (2 * step)).tensor());
    }
    parts.push_back((last / step).tensor());
    return concat(parts, along);
  });
}

Tensor gradient(Operand operand, double step) {
  const PublicCall call("gradient", operand.at());
  const Tensor y = as_tensor(operand);
  if (y.rank() == 0) trace_internal::refuse("y is ", y.shape(), "; a scalar has no axis");
  if (y.rank() != 1)
    trace_internal::refuse("y is ", y.shape(), "; without an axis it must be a vector. Name one, ",
                           "gradient(y, step, axis), or take all: auto [..] = gradient<", y.rank(),
                           ">(y)");
  return gradient(y, step, 0);
}

void trace_internal::gradients_to(Operand operand, double step, Tensor* out, int64_t count) {
  const PublicCall call("gradient", operand.at());
  const Tensor y = as_tensor(operand);
  if (y.rank() == 0) trace_internal::refuse("y is ", y.shape(), "; a scalar has no axis");
  if (y.rank() != count)
    trace_internal::refuse("y is ", y.shape(), ", of rank ", y.rank(), "; gradient<", count,
                           ">(y) gives a derivative for each of ", count, " axes");
  for (int64_t axis = 0; axis < count; ++axis) out[axis] = gradient(y, step, axis);
}

Tensor gradient_at(Operand operand, Operand places, base::Int axis) {
  const PublicCall call("gradient_at", operand.at());
  Expr y(as_tensor(operand));
  Tensor x = as_tensor(places);
  const int64_t along = axis_of(y.tensor().shape(), axis);
  require_slope(y, along);
  require_places(x, y, axis);
  (void)trace_internal::like("places", x, y.dtype());
  return one_program("gradient_at", [&] {
    return slopes(y, spread(Expr(diff(x)), y.tensor().rank(), along), along);
  });
}

Tensor trapezoid(Operand operand, double step, base::Int axis) {
  const PublicCall call("trapezoid", operand.at());
  Expr y(as_tensor(operand));
  const int64_t along = axis_of(y.tensor().shape(), axis);
  trace_internal::require_inexact(operand);
  return one_program("trapezoid", [&] { return trapezoid_of(y, along, step); });
}

Tensor trapezoid_at(Operand operand, Operand places, base::Int axis) {
  const PublicCall call("trapezoid_at", operand.at());
  Expr y(as_tensor(operand));
  Tensor x = as_tensor(places);
  const int64_t along = axis_of(y.tensor().shape(), axis);
  trace_internal::require_inexact(operand);
  require_places(x, y, axis);
  return one_program("trapezoid_at", [&] {
    return trapezoid_of(y, along, spread(Expr(diff(x)), y.tensor().rank(), along));
  });
}

Tensor convolve(Operand left, Operand right, ConvolveMode overlap) {
  const PublicCall call("convolve", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  require_vectors(x, y);
  if (x.size() < y.size()) std::swap(x, y);
  return one_program("convolve", [&] { return sliding_dot(x, flip(y), overlap); });
}

Tensor correlate(Operand left, Operand right, ConvolveMode overlap) {
  const PublicCall call("correlate", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  require_vectors(x, y);
  return one_program("correlate", [&] {
    // The longer one stays. If they are exchanged, so is the result.
    const bool swap = x.size() < y.size();
    const Tensor &stays = swap ? y : x, &moves = swap ? x : y;
    Tensor result = sliding_dot(stays, conj(moves), overlap);
    return swap ? flip(conj(result)) : result;
  });
}

Tensor nonzero(Operand operand, base::Int size, base::Int fill) {
  const PublicCall call("nonzero", operand.at());
  Tensor x = as_tensor(operand);
  if (x.rank() != 1)
    trace_internal::refuse("x is ", x.shape(),
                           "; it must be a vector: use ravel(x), or argwhere(x)");
  if (size < 0) trace_internal::refuse("size is ", size, "; it must be 0 or more");
  return one_program("nonzero", [&] {
    Tensor is = x.dtype() == pred ? x : not_equal(x, 0);
    // Each one says where its position goes; those that are outside are left out.
    Tensor place = where(is, subtract(cumsum(is), 1), int64_t{size});
    return full({size}, int64_t{fill}, s32).at({place}).set(iota(s32, {x.size()}, 0));
  });
}

Tensor flatnonzero(Operand x, base::Int size, base::Int fill) {
  return one_program("flatnonzero", x.at(), [&] { return nonzero(ravel(x), size, fill); });
}

Tensor argwhere(Operand operand, base::Int size) {
  const PublicCall call("argwhere", operand.at());
  Tensor x = as_tensor(operand);
  if (x.rank() == 0 || size < 0)
    trace_internal::refuse("x is ", x.shape(), " and size ", size,
                           "; x must have rank 1 or more and size be 0 or more");
  return one_program("argwhere", [&] {
    if (x.size() == 0) return zeros({size, x.rank()}, s32);
    Tensor flat = nonzero(ravel(x), size);
    return stack(unravel_index(flat, x.shape().dimensions()), 1);
  });
}

namespace {

// The places of an axis where the condition is true, then `fill`.
Tensor compressed(const Tensor& condition, const Tensor& x, int64_t size, int64_t axis,
                  const Operand& fill) {
  if (size < 0) trace_internal::refuse("size is ", size, "; it must be 0 or more");
  Dimensions shape = x.shape().dimensions();
  shape[static_cast<size_t>(axis)] = size;
  Tensor filler = trace_internal::like("fill", fill, x.dtype());
  if (x.dim(axis) == 0) return broadcast_to(filler, shape);
  Tensor taken = take(x, nonzero(condition, size), axis);
  Tensor place = iota(s32, shape, axis);
  return where(less(place, count_nonzero(condition)), taken, filler);
}

}  // namespace

Tensor compress(Operand condition, Operand operand, base::Int size, std::optional<base::Int> axis,
                Operand fill) {
  const PublicCall call("compress", condition.at());
  Tensor is = as_tensor(condition), x = as_tensor(operand);
  const int64_t along = axis ? axis_of(x.shape(), *axis) : 0;
  const int64_t count = axis ? x.dim(along) : x.size();
  if (is.rank() != 1 || is.size() > count)
    trace_internal::refuse("condition is ", is.shape(), "; x is ", x.shape(),
                           ", it must be a vector of at most ", count, " elements, as ",
                           axis ? base::cat("axis ", *axis) : "x flattened", " has");
  return one_program("compress",
                     [&] { return compressed(is, axis ? x : ravel(x), size, along, fill); });
}

Tensor extract(Operand condition, Operand operand, base::Int size, Operand fill) {
  const PublicCall call("extract", condition.at());
  Tensor is = as_tensor(condition), x = as_tensor(operand);
  if (is.shape().dimensions() != x.shape().dimensions())
    trace_internal::refuse("condition is ", is.shape(), "; x is ", x.shape(),
                           ", it must have its shape");
  return one_program("extract", [&] { return compressed(ravel(is), ravel(x), size, 0, fill); });
}

Tensor unwrap(Operand operand, const Unwrap& how) {
  const PublicCall call("unwrap", operand.at());
  Expr x = floating("x", operand);
  const int64_t along = axis_of(x.tensor().shape(), how.axis);
  if (!(how.period > 0)) trace_internal::refuse("period is ", how.period, "; it must be above 0");
  const int64_t n = x.tensor().dim(along);
  if (n < 2) return x.tensor();
  return one_program("unwrap", [&] {
    Expr rest = slice_in_dim(x.operand(), 1, n, 1, along);
    Expr dd = rest - Expr(slice_in_dim(x.operand(), 0, n - 1, 1, along));
    Expr stays = abs(dd) < how.jump.value_or(how.period / 2);
    Expr moves = where(stays, 0, nearest(dd, how.period) - dd);
    Expr moved = rest + Expr(cumsum(moves.operand(), along));
    Tensor first = slice_in_dim(x.operand(), 0, 1, 1, along);
    return concat({first, moved.tensor()}, along);
  });
}

}  // namespace heddle
