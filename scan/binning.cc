#include "heddle/scan/binning.h"

#include <algorithm>
#include <cmath>

#include "heddle/scan/searching.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/floats.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/vectors.h"

namespace heddle {
namespace {

using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::vector_of;

// The bin of each element, those outside being -1 or n.
Located bin_of(std::string_view op, const Tensor& x, const Tensor& edges, SourceLocation at) {
  vector_of(op, "edges", {edges, at}, 2);
  Located place(searchsorted({edges, at}, {x, at}, SearchSide::kRight), at);
  Located last(reshape({slice_in_dim({edges, at}, edges.size() - 1, edges.size()), at}, {}), at);
  return where(Located(x, at) == last, edges.size() - 2, place - 1);
}

// Weights (1 without) added up in `bins` places; those outside are dropped.
Tensor counted(const Located& place, int64_t bins, const Tensor& like,
               const std::optional<Operand>& weights, std::string_view op) {
  SourceLocation at = place.at();
  Tensor each = weights ? as_tensor(*weights) : full_like(place.operand(), {1, at});
  if (each.shape().dimensions() != like.shape().dimensions())
    throw Error(trace_internal::invalid_argument(op, ": weights are ", each.shape(), "; x is ",
                                                 like.shape(), ", they must have its shape"),
                at);
  return scatter({zeros({bins}, each.dtype(), at), at},
                 {reshape(place.operand(), {like.size(), 1}), at},
                 {reshape({each, at}, {like.size()}), at},
                 {.update_window_dims = {},
                  .inserted_window_dims = {0},
                  .scatter_dims_to_operand_dims = {0},
                  .index_vector_dim = 1},
                 [at](const Tensor& a, const Tensor& b) {
                   return add({a, at}, {b, at});
                 });
}

// Points of one period, sorted, with the last one before them and the first one behind them.
struct Points {
  Located x, y;
};
Points repeated(const Points& points, double period) {
  SourceLocation at = points.x.at();
  const int64_t n = points.x.tensor().size();
  Located inside = points.x.with(mod(points.x.operand(), points.x.like(period).operand()));
  Tensor order = argsort(inside.operand(), 0);
  Located x = inside.with(take(inside.operand(), {order, at}));
  Located y = inside.with(take(points.y.operand(), {order, at}));
  auto first = [&](const Located& v) { return v.with(slice_in_dim(v.operand(), 0, 1)); };
  auto last = [&](const Located& v) { return v.with(slice_in_dim(v.operand(), n - 1, n)); };
  return {x.with(concat({(last(x) - period).tensor(), x.tensor(), (first(x) + period).tensor()}, 0,
                        at)),
          y.with(concat({last(y).tensor(), y.tensor(), first(y).tensor()}, 0, at))};
}

Located interpolated(const Located& x, const Points& points) {
  const int64_t n = points.x.tensor().size();
  Located place = x.with(searchsorted(points.x.operand(), x.operand(), SearchSide::kRight));
  Located above = minimum(maximum(place, std::min<int64_t>(1, n - 1)), n - 1);
  Located below = maximum(above - 1, 0);
  auto at_place = [&](const Located& v, const Located& i) {
    return v.with(take(v.operand(), i.operand()));
  };
  Located x0 = at_place(points.x, below), y0 = at_place(points.y, below);
  Located width = at_place(points.x, above) - x0, rise = at_place(points.y, above) - y0;
  Located is_step = width == 0;
  return where(is_step, y0, y0 + (x - x0) / where(is_step, 1, width) * rise);
}

// Element i, a scalar.
Located element(const Located& v, int64_t i) {
  return v.with(reshape({slice_in_dim(v.operand(), i, i + 1), v.at()}, {}));
}

void require_points(const Tensor& x, const Tensor& xp, const Tensor& fp, SourceLocation at) {
  vector_of("interp", "xp", {xp, at}, 1);
  if (fp.shape() != xp.shape() || !is_floating(x.dtype()))
    throw Error(trace_internal::invalid_argument(
                    "interp", ": x is ", x.shape(), ", xp ", xp.shape(), " and fp ", fp.shape(),
                    "; they must be of floats of one dtype, xp and fp vectors of one "
                    "length"),
                at);
}

}  // namespace

Tensor digitize(Operand operand, Operand edge_operand, bool right) {
  const PublicCall call("digitize", operand.at());
  SourceLocation at = operand.at();
  Tensor edges = as_tensor(edge_operand);
  Tensor x = trace_internal::like("digitize", "x", operand, edges.dtype(), at);
  vector_of("digitize", "edges", {edges, at});
  return one_program("digitize", at, [&] {
    const int64_t n = edges.size();
    const SearchSide side = right ? SearchSide::kLeft : SearchSide::kRight;
    Located rising(searchsorted({edges, at}, {x, at}, side), at);
    if (n < 2) return rising.tensor();
    Tensor turned = flip({edges, at});
    Located behind(searchsorted({turned, at}, {x, at}, side), at);
    Located all(edges, at);
    return where(element(all, n - 1) >= element(all, 0), rising, n - behind).tensor();
  });
}

Tensor histogram_at(Operand operand, Operand edge_operand, std::optional<Operand> weights) {
  const PublicCall call("histogram_at", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand), edges = as_tensor(edge_operand);
  return one_program("histogram_at", at, [&] {
    Located bin = bin_of("histogram_at", x, edges, at);
    return counted(bin, edges.size() - 1, x, weights, "histogram_at");
  });
}

Tensor histogram2d_at(Operand first, Operand second, Operand x_edges, Operand y_edges,
                      std::optional<Operand> weights) {
  const PublicCall call("histogram2d_at", first.at());
  SourceLocation at = first.at();
  Tensor x = as_tensor(first), y = as_tensor(second);
  if (x.shape().dimensions() != y.shape().dimensions())
    throw Error(trace_internal::invalid_argument("histogram2d_at", ": y is ", y.shape(), "; x is ",
                                                 x.shape(), ", they must have one shape"),
                at);
  return one_program("histogram2d_at", at, [&] {
    Tensor rows = as_tensor(x_edges), columns = as_tensor(y_edges);
    Located row = bin_of("histogram2d_at", x, rows, at);
    Located column = bin_of("histogram2d_at", y, columns, at);
    const int64_t m = rows.size() - 1, n = columns.size() - 1;
    Located inside = (row >= 0) & (row < m) & (column >= 0) & (column < n);
    Located place = where(inside, row * n + column, m * n);
    return reshape({counted(place, m * n, x, weights, "histogram2d_at"), at}, {m, n});
  });
}

Tensor histogram_bin_edges(Operand operand, base::Int bins) {
  const PublicCall call("histogram_bin_edges", operand.at());
  SourceLocation at = operand.at();
  Located x(as_tensor(operand), at);
  if (bins < 1 || !is_floating(x.dtype()) || x.tensor().size() == 0)
    throw Error(trace_internal::invalid_argument(
                    "histogram_bin_edges", ": x is ", x.tensor().shape(), ", bins ", bins,
                    "; x must be of floats, with elements, and bins 1 or more"),
                at);
  return one_program("histogram_bin_edges", at, [&] {
    Located low = x.with(min(x.operand())), high = x.with(max(x.operand()));
    Located wider = where(low == high, low.like(0.5), 0);
    Located from = low - wider, to = high + wider;
    Located part(linspace(0, 1, bins + 1, x.dtype() == f64 ? f64 : f32, at), at);
    Located step = part.astype(x.dtype());
    // Weighted from both ends, whose distance may be no number of the dtype.
    return where(step == 1, to, from * (1 - step) + to * step).tensor();
  });
}

Tensor interp(Operand operand, Operand places, Operand values, const Interp& beyond) {
  const PublicCall call("interp", operand.at());
  SourceLocation at = operand.at();
  const Tensor xp = as_tensor(places);
  const Tensor fp = trace_internal::like("interp", "fp", values, xp.dtype(), at);
  const Tensor x = trace_internal::like("interp", "x", operand, xp.dtype(), at);
  require_points(x, xp, fp, at);
  if (beyond.period && !(*beyond.period > 0))
    throw Error(trace_internal::invalid_argument("interp", ": period is ", *beyond.period,
                                                 "; it must be above 0"),
                at);
  return one_program("interp", at, [&] {
    Located wanted(x, at);
    Points points{{xp, at}, {fp, at}};
    if (beyond.period) {
      wanted = wanted.with(mod(wanted.operand(), wanted.like(*beyond.period).operand()));
      return interpolated(wanted, repeated(points, *beyond.period)).tensor();
    }
    const int64_t n = xp.size();
    Located left = beyond.left ? wanted.like(*beyond.left) : element(points.y, 0);
    Located right = beyond.right ? wanted.like(*beyond.right) : element(points.y, n - 1);
    Located between = interpolated(wanted, points);
    Located out = where(wanted < element(points.x, 0), left, between);
    return where(wanted > element(points.x, n - 1), right, out).tensor();
  });
}

}  // namespace heddle
