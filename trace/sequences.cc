#include "heddle/trace/sequences.h"

#include <algorithm>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/statistics.h"
#include "heddle/trace/windows.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::Located;
using trace_internal::one_program;

// All but the first element along an axis, and all but the last.
struct Neighbours {
  Located after, before;
};

Neighbours neighbours(const Located& x, int64_t axis) {
  const int64_t n = x.dimensions()[static_cast<size_t>(axis)];
  return {x.with(slice_in_dim(x.operand(), std::min<int64_t>(n, 1), n, 1, axis)),
          x.with(slice_in_dim(x.operand(), 0, std::max<int64_t>(n - 1, 0), 1, axis))};
}

// Sum of the means of neighbours, times the widths between them.
template <class Widths>
Tensor trapezoid_of(const Located& y, int64_t axis, const Widths& widths) {
  Neighbours pair = neighbours(y, axis);
  return sum((pair.after + pair.before) * widths * 0.5, {.axes = {axis}}).tensor();
}

void require_vectors(std::string_view op, const Tensor& x, const Tensor& y, SourceLocation at) {
  const bool numbers = is_floating(x.dtype()) || is_complex(x.dtype());
  if (x.rank() == 1 && y.rank() == 1 && x.dtype() == y.dtype() && numbers && x.size() > 0 &&
      y.size() > 0)
    return;
  throw Error(invalid_argument(op, ": operands are ", x.shape(), " and ", y.shape(),
                               "; they must be vectors of one dtype, of floats or complex numbers, "
                               "with elements"),
              at);
}

// sum over j of x[i + j] y[j] at `count` places from `first`; y is the shorter one.
Tensor sliding_dot(const Tensor& x, const Tensor& y, Overlap overlap, SourceLocation at) {
  const int64_t m = y.size();
  EdgePadding edges{.low = m - 1, .high = m - 1};
  if (overlap == Overlap::kSame) edges = {.low = m / 2, .high = (m - 1) / 2};
  if (overlap == Overlap::kValid) edges = {};
  Tensor row = reshape({x, at}, {1, x.size(), 1});
  Tensor window = reshape({y, at}, {m, 1, 1});
  Convolution how{.padding = WindowPadding({edges})};
  return ravel({conv({row, at}, {window, at}, how), at});
}

}  // namespace

Tensor diff(Operand operand, int64_t order, int64_t axis) {
  SourceLocation at = operand.at();
  Located x(as_tensor(operand), at);
  const int64_t along = axis_of("diff", x.tensor().shape(), axis, at);
  if (order < 0)
    throw Error(invalid_argument("diff: order is ", order, "; it must be 0 or more"), at);
  return one_program("diff", at, [&] {
    Located result = x;
    for (int64_t i = 0; i < order; ++i) {
      Neighbours pair = neighbours(result, along);
      result = x.dtype() == pred ? pair.after != pair.before : pair.after - pair.before;
    }
    return result.tensor();
  });
}

Tensor trapezoid(Operand operand, double step, int64_t axis) {
  SourceLocation at = operand.at();
  Located y(as_tensor(operand), at);
  const int64_t along = axis_of("trapezoid", y.tensor().shape(), axis, at);
  trace_internal::require_inexact("trapezoid", operand);
  return one_program("trapezoid", at, [&] { return trapezoid_of(y, along, step); });
}

Tensor trapezoid_at(Operand operand, Operand places, int64_t axis) {
  SourceLocation at = operand.at();
  Located y(as_tensor(operand), at);
  Tensor x = as_tensor(places);
  const int64_t along = axis_of("trapezoid_at", y.tensor().shape(), axis, at);
  trace_internal::require_inexact("trapezoid_at", operand);
  if (x.rank() != 1 || x.size() != y.tensor().dim(along))
    throw Error(invalid_argument("trapezoid_at: x is ", x.shape(), "; it must be a vector of ",
                                 y.tensor().dim(along), " elements, as axis ", axis, " of y, ",
                                 y.tensor().shape()),
                at);
  return one_program("trapezoid_at", at, [&] {
    Dimensions shape(static_cast<size_t>(y.tensor().rank()), 1);
    shape[static_cast<size_t>(along)] = -1;
    Located widths(reshape({diff({x, at}), at}, shape), at);
    return trapezoid_of(y, along, widths);
  });
}

Tensor convolve(Operand left, Operand right, Overlap overlap) {
  Tensor x = as_tensor(left), y = as_tensor(right);
  SourceLocation at = left.at();
  require_vectors("convolve", x, y, at);
  if (x.size() < y.size()) std::swap(x, y);
  return one_program("convolve", at, [&] { return sliding_dot(x, flip({y, at}), overlap, at); });
}

Tensor correlate(Operand left, Operand right, Overlap overlap) {
  Tensor x = as_tensor(left), y = as_tensor(right);
  SourceLocation at = left.at();
  require_vectors("correlate", x, y, at);
  return one_program("correlate", at, [&] {
    // The longer one stays; the other way round the result is too.
    const bool swap = x.size() < y.size();
    const Tensor &stays = swap ? y : x, &moves = swap ? x : y;
    Tensor result = sliding_dot(stays, conj({moves, at}), overlap, at);
    return swap ? flip({conj({result, at}), at}) : result;
  });
}

Tensor nonzero(Operand operand, int64_t size, int64_t fill) {
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  if (x.rank() != 1 || size < 0)
    throw Error(invalid_argument("nonzero: x is ", x.shape(), " and size ", size,
                                 "; x must be a vector and size 0 or more"),
                at);
  return one_program("nonzero", at, [&] {
    Tensor is = x.dtype() == pred ? x : not_equal({x, at}, {0, at});
    // Stable: those that are keep their order, before those that are not.
    Tensor order = argsort({logical_not({is, at}).astype(s32, at), at});
    const int64_t room = std::max<int64_t>(size - x.size(), 0);
    Tensor padded = pad({order, at}, {0, at}, {{0, room}});
    Tensor first = slice_in_dim({padded, at}, 0, size);
    Tensor found = less({iota(s32, {size}, 0, at), at}, {count_nonzero({is, at}), at});
    return where({found, at}, {first, at}, {fill, at});
  });
}

}  // namespace heddle
