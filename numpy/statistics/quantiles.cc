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

// Of the elements before and behind a position, `rest` of the way from one to the other. `high` is
// `low` where the rest is 0.
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

// One of the values, as the sorted elements on either side of it and their parts in it. All are
// operands of the program, so that another q runs the same one.
struct Place {
  Operand below, above;     // positions
  Operand of_low, of_high;  // of the dtype of x, each rounded by itself
};

Place place_of(double part, int64_t n, QuantileMethod between) {
  const double position = part * static_cast<double>(n - 1);
  const double low = std::floor(position), high = std::ceil(position), rest = position - low;
  const auto at = [](double below, double above, double rest) {
    return Place{static_cast<int64_t>(below), static_cast<int64_t>(above), 1 - rest, rest};
  };
  switch (between) {
    case QuantileMethod::kLinear: return at(low, high, rest);
    case QuantileMethod::kLower: return at(low, low, 0);
    case QuantileMethod::kHigher: return at(high, high, 0);
    case QuantileMethod::kNearest: return rest <= 0.5 ? at(low, low, 0) : at(high, high, 0);
    case QuantileMethod::kMidpoint: return at(low, high, rest == 0 ? 0 : 0.5);
  }
  return at(low, low, 0);
}

// More levels are constants of the program: many operands take long to compile.
bool are_operands(const Request& how) { return how.parts.size() <= 8; }

Expr number_of(const Operand& x, DType dtype) {
  return x.is_tensor() ? x.tensor() : constant_like(x, dtype);
}

struct Elements {
  Expr x;             // of floats
  int64_t along = 0;  // the axis; of all elements without one
  int64_t n = 0;      // elements along it, one at least
};

Elements elements(const Operand& operand, const Request& how) {
  Elements out{.x = floating("x", operand)};
  const Shape& shape = out.x.tensor().shape();
  if (how.axis) out.along = axis_of(shape, *how.axis);
  out.n = how.axis ? shape.dimension(out.along) : shape.element_count();
  if (out.n == 0) trace_internal::refuse("x is ", shape, "; it must have elements");
  return out;
}

// `of` (sorted elements, some numbers) gives the value that the numbers are of; `numbers` has as
// many for each.
template <class Of>
Tensor quantiles(const Elements& given, const Request& how,
                 const std::vector<KnownOperand>& numbers, Of of) {
  const size_t values = how.parts.size(), each = numbers.size() / values;
  std::vector<Operand> constants;
  for (const KnownOperand& number : numbers) constants.push_back(*number.operand);
  const auto formula = [&](Operands in) {
    const Tensor x = how.axis ? in[0].tensor() : ravel(in[0]);
    const Expr sorted(sort(x, given.along));
    const Operands all = are_operands(how) ? in.subspan(1) : Operands(constants);
    std::vector<Tensor> out;
    for (size_t i = 0; i < values; ++i)
      out.push_back(of(sorted, all.subspan(i * each, each)).tensor());
    return std::vector<Tensor>{how.is_list ? stack(out, 0) : out[0]};
  };
  const KnownOptions options(how.axis, how.between, how.is_list, static_cast<int64_t>(values),
                             are_operands(how) ? std::vector<double>() : how.parts);
  const Operand x = given.x.operand();
  std::vector<KnownOperand> operands(1, x);
  if (are_operands(how)) operands.insert(operands.end(), numbers.begin(), numbers.end());
  return in_program(how.op, options, operands, formula)[0];
}

Tensor quantile_of(const Operand& operand, const Request& how) {
  const Elements given = elements(operand, how);
  const DType position = given.n > INT32_MAX ? s64 : s32, dtype = given.x.dtype();
  std::vector<Place> places;
  for (double part : how.parts) places.push_back(place_of(part, given.n, how.between));
  std::vector<KnownOperand> numbers;
  for (const Place& place : places) {
    for (const Operand* at : {&place.below, &place.above}) numbers.emplace_back(*at, position);
    for (const Operand* part : {&place.of_low, &place.of_high}) numbers.emplace_back(*part, dtype);
  }
  return quantiles(given, how, numbers, [&](const Expr& sorted, Operands place) {
    const auto row = [&](const Operand& at) {
      if (are_operands(how))
        return Expr(dynamic_index_in_dim(sorted.operand(), at, given.along, false));
      const auto i = static_cast<int64_t>(number_value(at).value());
      return Expr(squeeze(slice_in_dim(sorted.operand(), i, i + 1, 1, given.along), {given.along}));
    };
    const Expr low = row(place[0]), high = row(place[1]);
    const Expr of_low = number_of(place[2], dtype), of_high = number_of(place[3], dtype);
    // A part of 0 is left out: with infinities it would give NaN. A NaN sorts after every number.
    const Expr value =
        where(of_high == 0, low, where(of_low == 0, high, low * of_low + high * of_high));
    const Operand last = given.n - 1;
    return where(is_nan(row(last)), NAN, value);
  });
}

// The number of numbers is known only when the program runs; NaN sort behind them.
Tensor nan_quantile_of(const Operand& operand, const Request& how) {
  const Elements given = elements(operand, how);
  const DType counted = given.x.dtype() == f64 ? f64 : f32;
  const std::vector<Operand> parts(how.parts.begin(), how.parts.end());
  std::vector<KnownOperand> numbers;
  for (const Operand& part : parts) numbers.emplace_back(part, counted);
  return quantiles(given, how, numbers, [&](const Expr& sorted, Operands part) {
    const std::vector<int64_t> along{given.along};
    const Expr numbers = (~is_nan(sorted)).astype(counted);
    const Expr last = maximum(sum(numbers, {.axes = along, .keep_dims = true}) - 1, 0);
    const auto row = [&](const Expr& place) {
      return Expr(take_along_axis(sorted.operand(), place.astype(s32).operand(), given.along));
    };
    const Expr position = last * number_of(part[0], counted), low = floor(position);
    const Expr rest = (position - low).astype(sorted.dtype());
    const Expr value = between_of(row(low), row(ceil(position)), rest, how.between);
    return Expr(squeeze(value.operand(), along));
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
