#include "heddle/numpy/statistics/quantiles.h"

#include <algorithm>
#include <cmath>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// Of the elements before and behind a position, `rest` of the way from one to the other.
Expr between_of(const Expr& low, const Expr& high, double rest, QuantileMethod between) {
  switch (between) {
    // Weights of 0 are left out: with infinities they would give NaN.
    case QuantileMethod::kLinear: return rest == 0 ? low : low * (1 - rest) + high * rest;
    case QuantileMethod::kLower: return low;
    case QuantileMethod::kHigher: return rest == 0 ? low : high;
    case QuantileMethod::kNearest: return rest <= 0.5 ? low : high;
    case QuantileMethod::kMidpoint: return rest == 0 ? low : (low + high) * 0.5;
  }
  return low;
}

// The same for a rest that is a tensor; `high` is `low` if the rest is 0.
Expr between_of(const Expr& low, const Expr& high, const Expr& rest, QuantileMethod between) {
  switch (between) {
    case QuantileMethod::kLinear: return where(rest == 0, low, low * (1 - rest) + high * rest);
    case QuantileMethod::kLower: return low;
    case QuantileMethod::kHigher: return high;
    case QuantileMethod::kNearest: return where(rest <= 0.5, low, high);
    case QuantileMethod::kMidpoint: return where(rest == 0, low, (low + high) * 0.5);
  }
  return low;
}

struct Request {
  std::string_view op;
  std::vector<double> parts;  // 0 .. 1
  bool is_list = false;
  std::optional<int64_t> axis;
  QuantileMethod between = QuantileMethod::kLinear;
};

// `whole` is the greatest q.
Request request(std::string_view op, const QuantileLevels& q, double whole,
                std::optional<int64_t> axis, QuantileMethod between) {
  Request out{.op = op, .is_list = q.is_list(), .axis = axis, .between = between};
  if (q.values().empty()) trace_internal::refuse("q has no parts; give at least one");
  for (double each : q.values()) {
    if (!(each >= 0 && each <= whole))
      trace_internal::refuse("q is ", each, "; it must be in 0 .. ", whole);
    out.parts.push_back(each / whole);
  }
  return out;
}

// `of` (elements, axis) gives a function from a quantile's level to its value, without that axis.
template <class Of>
Tensor quantiles(const Operand& operand, const Request& how, Of of) {
  const Expr given = floating("x", operand);
  const int64_t along = how.axis ? axis_of(given.tensor().shape(), *how.axis) : 0;
  const auto formula = [&](Operands in) {
    const Expr x = how.axis ? in[0].tensor() : ravel(in[0]);
    if (x.tensor().dim(along) == 0)
      trace_internal::refuse("x is ", given.tensor().shape(), "; it must have elements");
    const auto value_of = of(Expr(sort(x.operand(), along)), along);
    std::vector<Tensor> values;
    for (double q : how.parts) values.push_back(value_of(q).tensor());
    return how.is_list ? stack(values, 0) : values[0];
  };
  const KnownOptions options(how.axis, how.between, how.is_list, how.parts);
  return one_program(how.op, options, {given.operand()}, formula);
}

Tensor quantile_of(const Operand& operand, const Request& how) {
  return quantiles(operand, how, [&](const Expr& sorted, int64_t along) {
    const int64_t n = sorted.tensor().dim(along);
    auto row = [=](int64_t i) {
      const Tensor part = slice_in_dim(sorted.operand(), i, i + 1, 1, along);
      return Expr(squeeze(part, {along}));
    };
    return [=, between = how.between](double q) {
      const double position = q * static_cast<double>(n - 1);
      const auto low = static_cast<int64_t>(std::floor(position));
      const double rest = position - static_cast<double>(low);
      const Expr below = row(low), above = rest == 0 ? below : row(low + 1);
      // A NaN sorts after every number.
      return where(is_nan(row(n - 1)), NAN, between_of(below, above, rest, between));
    };
  });
}

// The number of numbers is known only when the program runs; NaN sort behind them.
Tensor nan_quantile_of(const Operand& operand, const Request& how) {
  return quantiles(operand, how, [&](const Expr& sorted, int64_t along) {
    const Expr numbers = (~is_nan(sorted)).astype(sorted.dtype() == f64 ? f64 : f32);
    const Expr last = maximum(sum(numbers, {.axes = {along}, .keep_dims = true}) - 1, 0);
    auto row = [=](const Expr& place) {
      return Expr(take_along_axis(sorted.operand(), place.astype(s32).operand(), along));
    };
    return [=, between = how.between](double q) {
      const Expr position = last * q, low = floor(position);
      const Expr rest = (position - low).astype(sorted.dtype());
      const Expr value = between_of(row(low), row(ceil(position)), rest, between);
      return Expr(squeeze(value.operand(), {along}));
    };
  });
}

}  // namespace

Tensor quantile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis,
                QuantileMethod between) {
  const PublicCall call("quantile", x.at());
  return quantile_of(x, request("quantile", q, 1, axis, between));
}

Tensor median(Operand x, std::optional<base::Int> axis) {
  const PublicCall call("median", x.at());
  return quantile_of(x, request("median", 0.5, 1, axis, QuantileMethod::kLinear));
}

Tensor nan_quantile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis,
                    QuantileMethod between) {
  const PublicCall call("nan_quantile", x.at());
  return nan_quantile_of(x, request("nan_quantile", q, 1, axis, between));
}

Tensor nan_median(Operand x, std::optional<base::Int> axis) {
  const PublicCall call("nan_median", x.at());
  return nan_quantile_of(x, request("nan_median", 0.5, 1, axis, QuantileMethod::kLinear));
}

Tensor percentile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis,
                  QuantileMethod between) {
  const PublicCall call("percentile", x.at());
  return quantile_of(x, request("percentile", q, 100, axis, between));
}

Tensor nan_percentile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis,
                      QuantileMethod between) {
  const PublicCall call("nan_percentile", x.at());
  return nan_quantile_of(x, request("nan_percentile", q, 100, axis, between));
}

}  // namespace heddle
