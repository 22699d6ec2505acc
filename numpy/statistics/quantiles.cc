#include "heddle/numpy/statistics/quantiles.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axes_of;
using trace_internal::OnDeviceOf;

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
  std::vector<double> parts;   // 0 .. 1
  std::optional<Expr> levels;  // 0 .. whole, in place of the parts
  double whole = 1;            // the greatest level
  bool is_list = false;
  Reduction over;
  QuantileMethod between = QuantileMethod::kLinear;
};

Request request(std::string_view op, const QuantileLevels& q, double whole, const Reduction& over,
                QuantileMethod between) {
  Request out{.op = op, .whole = whole, .is_list = q.is_list(), .over = over, .between = between};
  if (q.tensor()) {
    const Shape& shape = q.tensor()->shape();
    if (!is_floating(shape.dtype()) || shape.rank() > 1)
      trace_internal::refuse("q is ", shape, "; it must be a float or a list of floats");
    out.levels = Expr(*q.tensor());
    out.is_list = shape.rank() == 1;
    return out;
  }
  if (q.values().empty()) trace_internal::refuse("q has no parts; give at least one");
  for (double each : q.values()) {
    if (!(each >= 0 && each <= whole))
      trace_internal::refuse("q is ", each, "; it must be in 0 .. ", whole);
    out.parts.push_back(each / whole);
  }
  return out;
}

// One of the values, as the sorted elements on either side of it and their parts in it.
struct Place {
  double below = 0, above = 0;     // positions
  double of_low = 0, of_high = 0;  // each is rounded to the dtype of x by itself
};

Place place_of(double part, int64_t n, QuantileMethod between) {
  const double position = part * static_cast<double>(n - 1);
  const double low = std::floor(position), high = std::ceil(position), rest = position - low;
  switch (between) {
    case QuantileMethod::kLinear: return {low, high, 1 - rest, rest};
    case QuantileMethod::kLower: return {low, low, 1, 0};
    case QuantileMethod::kHigher: return {high, high, 1, 0};
    case QuantileMethod::kNearest:
      return rest <= 0.5 ? Place{low, low, 1, 0} : Place{high, high, 1, 0};
    case QuantileMethod::kMidpoint:
      return rest == 0 ? Place{low, low, 1, 0} : Place{low, high, 0.5, 0.5};
  }
  return {low, low, 1, 0};
}

struct Elements {
  Expr x;                     // of floats
  std::vector<int64_t> axes;  // that it is over
  std::vector<int64_t> others;
  int64_t along = 0;  // the axis of merged() that it is over
  int64_t n = 0;      // elements along it, one at least

  // x with the axes as one, where they are not one or all: behind the others.
  [[nodiscard]] Tensor merged(const Operand& of) const {
    if (axes.size() == 1) return of.tensor();
    if (others.empty()) return ravel(of);
    std::vector<int64_t> order = others;
    order.insert(order.end(), axes.begin(), axes.end());
    std::vector<int64_t> sizes = sizes_of(others);
    sizes.push_back(n);
    return reshape(transpose(of, order), sizes);
  }
  [[nodiscard]] std::vector<int64_t> sizes_of(const std::vector<int64_t>& some) const {
    std::vector<int64_t> out;
    for (const int64_t axis : some) out.push_back(x.dimensions()[static_cast<size_t>(axis)]);
    return out;
  }
};

Elements elements(const Operand& operand, const Request& how) {
  Elements out{.x = floating("x", operand)};
  const Shape& shape = out.x.tensor().shape();
  out.axes = axes_of(shape, how.over.axes.of_rank(shape.rank()));
  out.others = other_dimensions(shape.rank(), out.axes);
  out.along = out.axes.size() == 1 ? out.axes[0] : std::ssize(out.others);
  out.n = 1;
  for (const int64_t size : out.sizes_of(out.axes)) out.n *= size;
  if (out.n == 0) trace_internal::refuse("x is ", shape, "; it must have elements");
  return out;
}

// The values with the axes that they are over, of size 1; a list of them stays in front.
Tensor with_kept_axes(const Tensor& values, const Elements& given, const Request& how) {
  std::vector<int64_t> sizes(given.axes.size() + given.others.size(), 1);
  for (const int64_t axis : given.others)
    sizes[static_cast<size_t>(axis)] = given.x.dimensions()[static_cast<size_t>(axis)];
  if (how.is_list) sizes.insert(sizes.begin(), values.shape().dimension(0));
  return reshape(values, sizes);
}

// Numbers of the program: one, or a list. They are operands, so that others run the same program.
class Numbers {
 public:
  Numbers(const Tensor& given) : dtype_(given.dtype()), array_(given) {}
  Numbers(const std::vector<double>& values, bool is_list, DType dtype)
      : dtype_(dtype), is_list_(is_list) {
    if (values.size() <= kMostScalars) {
      values_ = values;
      return;
    }
    const auto count = static_cast<int64_t>(values.size());
    Literal literal = Literal::uninitialised(Shape(dtype, {count}));
    store(dtype, values.data(), count, literal.mutable_bytes());
    array_ = array(literal);
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  // They refer to the array.
  [[nodiscard]] std::vector<Operand> operands() const {
    if (array_) return {Operand(*array_)};
    std::vector<Operand> out;
    for (double value : values_)
      out.push_back(is_integer(dtype_) ? Operand(static_cast<int64_t>(value)) : Operand(value));
    return out;
  }
  // Takes them from the front of the program's operands.
  Expr taken(Operands& in) const {
    const size_t count = array_ ? 1 : values_.size();
    std::vector<Tensor> each;
    for (const Operand& x : in.first(count))
      each.push_back(x.is_tensor() ? x.tensor() : constant_like(x, dtype_));
    in = in.subspan(count);
    return Expr(is_list_ && !array_ ? stack(each, 0) : each[0]);
  }

 private:
  // As numbers they are not moved to the device; more would take long to compile.
  static constexpr size_t kMostScalars = 8;

  DType dtype_;
  bool is_list_ = false;
  std::vector<double> values_;
  std::optional<Tensor> array_;  // of many numbers, or as it was given
};

// A list of numbers along one axis of an array of some rank.
Expr along_axis(const Expr& numbers, int64_t axis, int64_t rank) {
  if (numbers.tensor().shape().rank() == 0) return numbers;
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(axis)] = numbers.dimensions()[0];
  return Expr(reshape(numbers.operand(), sizes));
}

// The elements at a position along the axis; at a list of them, along a new axis in front.
Expr at_positions(const Expr& x, const Expr& positions, int64_t along) {
  if (positions.tensor().shape().rank() == 0)
    return Expr(dynamic_index_in_dim(x.operand(), positions.operand(), along, false));
  return Expr(moveaxis(take(x.operand(), positions.operand(), along), along, 0));
}

using Of = base::FunctionRef<Expr(const Expr& sorted, std::span<const Expr> numbers)>;

// The program of the elements and the numbers, which are the levels of the request if it has some.
Tensor quantiles(const Elements& given, const Request& how, std::vector<Numbers> numbers, Of of) {
  if (how.levels) numbers.emplace_back(how.levels->tensor());
  const auto formula = [&](Operands in) {
    const Tensor x = given.merged(in[0]);
    Operands rest = in.subspan(1);
    std::vector<Expr> each;
    for (const Numbers& one : numbers) each.push_back(one.taken(rest));
    const Tensor values = of(Expr(sort(x, given.along)), each).tensor();
    return std::vector<Tensor>{how.over.keep_dims ? with_kept_axes(values, given, how) : values};
  };
  std::vector<Operand> values(1, given.x.operand());
  std::vector<DType> dtypes(1, given.x.dtype());
  for (const Numbers& one : numbers) {
    const std::vector<Operand> all = one.operands();
    values.insert(values.end(), all.begin(), all.end());
    dtypes.resize(values.size(), one.dtype());
  }
  std::vector<KnownOperand> operands;
  for (size_t i = 0; i < values.size(); ++i) operands.emplace_back(values[i], dtypes[i]);
  const KnownOptions options(given.axes, how.over.keep_dims, how.between, how.is_list,
                             how.levels.has_value());
  return in_program(how.op, options, operands, formula)[0];
}

// The parts of levels; NaN for those that are out of range.
Expr parts_of(const Expr& levels, const Request& how) {
  return where((levels >= 0) & (levels <= how.whole), levels / how.whole, NAN);
}

// The positions of levels are only known when the program runs.
Expr value_of_levels(const Expr& sorted, const Expr& levels, const Elements& given,
                     const Request& how, DType position) {
  const Expr parts = parts_of(levels, how), exact = parts * static_cast<double>(given.n - 1);
  const Expr low = floor(exact), rest = (exact - low).astype(sorted.dtype());
  const auto row = [&](const Expr& at) {
    return at_positions(sorted, where(is_nan(at), 0, at).astype(position), given.along);
  };
  const Expr below = row(low), rank = below.like(0);
  const int64_t axes = below.tensor().shape().rank();
  const Expr value = between_of(below, row(ceil(exact)), along_axis(rest, 0, axes), how.between);
  return where(is_nan(along_axis(parts, 0, axes)), NAN, value);
}

Expr value_of_place(const Expr& sorted, std::span<const Expr> place, int64_t along) {
  const Expr low = at_positions(sorted, place[0], along);
  const Expr high = at_positions(sorted, place[1], along);
  const int64_t rank = low.tensor().shape().rank();
  const Expr of_low = along_axis(place[2], 0, rank), of_high = along_axis(place[3], 0, rank);
  // A part of 0 is left out: with infinities it would give NaN.
  return where(of_high == 0, low, where(of_low == 0, high, low * of_low + high * of_high));
}

Tensor quantile_of(const Operand& operand, const Request& how) {
  const OnDeviceOf device(operand);
  const Elements given = elements(operand, how);
  const DType position = given.n > INT32_MAX ? s64 : s32, dtype = given.x.dtype();
  std::vector<double> below, above, of_low, of_high;
  for (double part : how.parts) {
    const Place place = place_of(part, given.n, how.between);
    below.push_back(place.below);
    above.push_back(place.above);
    of_low.push_back(place.of_low);
    of_high.push_back(place.of_high);
  }
  std::vector<Numbers> numbers;
  if (!how.levels) {
    for (const auto& [values, type] :
         {std::pair(&below, position), {&above, position}, {&of_low, dtype}, {&of_high, dtype}})
      numbers.emplace_back(*values, how.is_list, type);
  }
  return quantiles(given, how, std::move(numbers), [&](const Expr& sorted, auto in) {
    const Expr value = how.levels ? value_of_levels(sorted, in[0], given, how, position)
                                  : value_of_place(sorted, in, given.along);
    const Operand last = given.n - 1;  // where a NaN is
    return where(is_nan(dynamic_index_in_dim(sorted.operand(), last, given.along, false)), NAN,
                 value);
  });
}

// The number of numbers is known only when the program runs; NaN sort behind them.
Tensor nan_quantile_of(const Operand& operand, const Request& how) {
  const OnDeviceOf device(operand);
  const Elements given = elements(operand, how);
  const DType counted = given.x.dtype() == f64 ? f64 : f32;
  std::vector<Numbers> numbers;
  if (!how.levels) numbers.emplace_back(how.parts, how.is_list, counted);
  return quantiles(given, how, std::move(numbers), [&](const Expr& sorted, auto in) {
    const std::vector<int64_t> along{given.along};
    const Expr count = sum((~is_nan(sorted)).astype(counted), {.axes = along, .keep_dims = true});
    const Expr last = maximum(count - 1, 0);
    const Expr given_part = (how.levels ? parts_of(in[0], how) : in[0]).astype(counted);
    const Expr part = along_axis(given_part, given.along, sorted.tensor().shape().rank());
    const auto row = [&](const Expr& place) {
      const Expr at = where(is_nan(place), 0, place).astype(s32);
      return Expr(take_along_axis(sorted.operand(), at.operand(), given.along));
    };
    const Expr position = last * part, low = floor(position);
    const Expr rest = (position - low).astype(sorted.dtype());
    const Expr value = between_of(row(low), row(ceil(position)), rest, how.between);
    const Expr known = where(is_nan(part), NAN, value);
    return Expr(how.is_list ? moveaxis(known.operand(), given.along, 0)
                            : squeeze(known.operand(), along));
  });
}

}  // namespace

Tensor quantile(Operand x, const QuantileLevels& q, const Reduction& over, QuantileMethod between) {
  const PublicCall call("quantile", x.at());
  return quantile_of(x, request("quantile", q, 1, over, between));
}

Tensor median(Operand x, const Reduction& over) {
  const PublicCall call("median", x.at());
  return quantile_of(x, request("median", 0.5, 1, over, QuantileMethod::kLinear));
}

Tensor nan_quantile(Operand x, const QuantileLevels& q, const Reduction& over,
                    QuantileMethod between) {
  const PublicCall call("nan_quantile", x.at());
  return nan_quantile_of(x, request("nan_quantile", q, 1, over, between));
}

Tensor nan_median(Operand x, const Reduction& over) {
  const PublicCall call("nan_median", x.at());
  return nan_quantile_of(x, request("nan_median", 0.5, 1, over, QuantileMethod::kLinear));
}

Tensor percentile(Operand x, const QuantileLevels& q, const Reduction& over,
                  QuantileMethod between) {
  const PublicCall call("percentile", x.at());
  return quantile_of(x, request("percentile", q, 100, over, between));
}

Tensor nan_percentile(Operand x, const QuantileLevels& q, const Reduction& over,
                      QuantileMethod between) {
  const PublicCall call("nan_percentile", x.at());
  return nan_quantile_of(x, request("nan_percentile", q, 100, over, between));
}

}  // namespace heddle
