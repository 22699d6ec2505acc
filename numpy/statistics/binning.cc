#include "heddle/numpy/statistics/binning.h"

#include <algorithm>
#include <cmath>

#include "heddle/numpy/float_limits.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/searching.h"
#include "heddle/numpy/vectors.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::vector_of;

// The bin of each element; -1 or n for an element outside.
Expr bin_of(const Tensor& x, const Tensor& edges) {
  vector_of("edges", edges, 2);
  Expr place(searchsorted(edges, x, SearchSide::kRight));
  Expr last(reshape(slice_in_dim(edges, edges.size() - 1, edges.size()), {}));
  return where(Expr(x) == last, edges.size() - 2, place - 1);
}

// The sums of weights (1 by default) in `bins` places, without places outside.
Tensor counted(const Expr& place, int64_t bins, const Tensor& like,
               const std::optional<Operand>& weights) {
  Tensor each = weights ? as_tensor(*weights) : full_like(place.operand(), 1);
  if (each.shape().dimensions() != like.shape().dimensions())
    trace_internal::refuse("weights are ", each.shape(), "; x is ", like.shape(),
                           ", they must have its shape");
  return scatter(zeros({bins}, each.dtype()), reshape(place.operand(), {like.size(), 1}),
                 reshape(each, {like.size()}),
                 {.update_window_dims = {},
                  .inserted_window_dims = {0},
                  .scatter_dims_to_operand_dims = {0},
                  .index_vector_dim = 1},
                 [](const Tensor& a, const Tensor& b) { return add(a, b); });
}

// The sorted points of one period, with the last one also in front and the first one also at the
// end.
struct Points {
  Expr x, y;
};
Points repeated(const Points& points, double period) {
  const int64_t n = points.x.tensor().size();
  Expr inside = mod(points.x.operand(), points.x.like(period).operand());
  Tensor order = argsort(inside.operand(), 0);
  Expr x = take(inside.operand(), order);
  Expr y = take(points.y.operand(), order);
  auto first = [&](const Expr& v) { return Expr(slice_in_dim(v.operand(), 0, 1)); };
  auto last = [&](const Expr& v) { return Expr(slice_in_dim(v.operand(), n - 1, n)); };
  return {Expr(concat({(last(x) - period).tensor(), x.tensor(), (first(x) + period).tensor()}, 0)),
          Expr(concat({last(y).tensor(), y.tensor(), first(y).tensor()}, 0))};
}

Expr interpolated(const Expr& x, const Points& points) {
  const int64_t n = points.x.tensor().size();
  Expr place = searchsorted(points.x.operand(), x.operand(), SearchSide::kRight);
  Expr above = minimum(maximum(place, std::min<int64_t>(1, n - 1)), n - 1);
  Expr below = maximum(above - 1, 0);
  auto at_place = [&](const Expr& v, const Expr& i) {
    return Expr(take(v.operand(), i.operand()));
  };
  Expr x0 = at_place(points.x, below), y0 = at_place(points.y, below);
  Expr width = at_place(points.x, above) - x0, rise = at_place(points.y, above) - y0;
  Expr is_step = width == 0;
  return where(is_step, y0, y0 + (x - x0) / where(is_step, 1, width) * rise);
}

// Element i, a scalar.
Expr element(const Expr& v, int64_t i) { return reshape(slice_in_dim(v.operand(), i, i + 1), {}); }

void require_points(const Tensor& x, const Tensor& xp, const Tensor& fp) {
  vector_of("xp", xp, 1);
  if (fp.shape() != xp.shape() || !is_floating(x.dtype()))
    trace_internal::refuse("x is ", x.shape(), ", xp ", xp.shape(), " and fp ", fp.shape(),
                           "; they must be of floats of one dtype, xp and fp vectors of one "
                           "length");
}

}  // namespace

Tensor digitize(Operand operand, Operand edge_operand, base::Flag right) {
  const PublicCall call("digitize", operand.at());
  Tensor edges = as_tensor(edge_operand);
  Tensor x = trace_internal::like("x", operand, edges.dtype());
  vector_of("edges", edges);
  return one_program("digitize", [&] {
    const int64_t n = edges.size();
    const SearchSide side = right ? SearchSide::kLeft : SearchSide::kRight;
    Expr rising(searchsorted(edges, x, side));
    if (n < 2) return rising.tensor();
    Tensor turned = flip(edges);
    Expr behind(searchsorted(turned, x, side));
    Expr all(edges);
    return where(element(all, n - 1) >= element(all, 0), rising, n - behind).tensor();
  });
}

Tensor histogram_at(Operand operand, Operand edge_operand, std::optional<Operand> weights) {
  const PublicCall call("histogram_at", operand.at());
  Tensor x = as_tensor(operand), edges = as_tensor(edge_operand);
  return one_program("histogram_at", [&] {
    Expr bin = bin_of(x, edges);
    return counted(bin, edges.size() - 1, x, weights);
  });
}

Tensor histogram2d_at(Operand first, Operand second, Operand x_edges, Operand y_edges,
                      std::optional<Operand> weights) {
  const PublicCall call("histogram2d_at", first.at());
  Tensor x = as_tensor(first), y = as_tensor(second);
  if (x.shape().dimensions() != y.shape().dimensions())
    trace_internal::refuse("y is ", y.shape(), "; x is ", x.shape(), ", they must have one shape");
  return one_program("histogram2d_at", [&] {
    Tensor rows = as_tensor(x_edges), columns = as_tensor(y_edges);
    Expr row = bin_of(x, rows);
    Expr column = bin_of(y, columns);
    const int64_t m = rows.size() - 1, n = columns.size() - 1;
    Expr inside = (row >= 0) & (row < m) & (column >= 0) & (column < n);
    Expr place = where(inside, row * n + column, m * n);
    return reshape(counted(place, m * n, x, weights), {m, n});
  });
}

Tensor histogram_bin_edges(Operand operand, base::Int bins) {
  const PublicCall call("histogram_bin_edges", operand.at());
  Expr x(as_tensor(operand));
  if (bins < 1 || !is_floating(x.dtype()) || x.tensor().size() == 0)
    trace_internal::refuse("x is ", x.tensor().shape(), ", bins ", bins,
                           "; x must be of floats, with elements, and bins 1 or more");
  return one_program("histogram_bin_edges", [&] {
    Expr low = Expr(min(x.operand())), high = Expr(max(x.operand()));
    Expr wider = where(low == high, low.like(0.5), 0);
    Expr from = low - wider, to = high + wider;
    Expr part(linspace(0, 1, bins + 1, x.dtype() == f64 ? f64 : f32));
    Expr step = part.astype(x.dtype());
    // It is weighted from both ends, since their distance may overflow the dtype.
    return where(step == 1, to, from * (1 - step) + to * step).tensor();
  });
}

Tensor histogram(Operand operand, base::Int bins) {
  const PublicCall call("histogram", operand.at());
  Tensor x = as_tensor(operand);
  if (is_integer(x.dtype())) x = x.astype(f64);
  return one_program("histogram", [&] { return histogram_at(x, histogram_bin_edges(x, bins)); });
}

Tensor interp(Operand operand, Operand places, Operand values, const Interp& beyond) {
  const PublicCall call("interp", operand.at());
  const Tensor xp = as_tensor(places);
  const Tensor fp = trace_internal::like("fp", values, xp.dtype());
  const Tensor x = trace_internal::like("x", operand, xp.dtype());
  require_points(x, xp, fp);
  if (beyond.period && !(*beyond.period > 0))
    trace_internal::refuse("period is ", *beyond.period, "; it must be above 0");
  const auto formula = [&](Operands in) {
    Expr wanted(in[0].tensor());
    Points points{in[1].tensor(), in[2].tensor()};
    if (beyond.period) {
      wanted = Expr(mod(wanted.operand(), wanted.like(*beyond.period).operand()));
      return interpolated(wanted, repeated(points, *beyond.period)).tensor();
    }
    const int64_t n = xp.size();
    Expr left = beyond.left ? wanted.like(*beyond.left) : element(points.y, 0);
    Expr right = beyond.right ? wanted.like(*beyond.right) : element(points.y, n - 1);
    Expr between = interpolated(wanted, points);
    Expr out = where(wanted < element(points.x, 0), left, between);
    return where(wanted > element(points.x, n - 1), right, out).tensor();
  };
  const auto number = [](std::optional<double> given) { return FixedNumber{given.value_or(0)}; };
  const KnownOptions options(beyond.period.has_value(), number(beyond.period),
                             beyond.left.has_value(), number(beyond.left), beyond.right.has_value(),
                             number(beyond.right));
  return one_program("interp", options, {{x}, {xp}, {fp}}, formula);
}

}  // namespace heddle
