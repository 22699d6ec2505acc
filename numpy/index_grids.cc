#include "heddle/numpy/index_grids.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/vectors.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// Which elements of a matrix tril keeps, or the others: known here, so they are a constant.
std::vector<Tensor> triangle(std::string_view op, int64_t rows, std::optional<base::Int> given,
                             int64_t k, bool lower) {
  const int64_t columns = trace_internal::count_or("columns", given, rows);
  if (rows < 0) trace_internal::refuse("rows is ", rows, "; it must be 0 or more");
  std::vector<int32_t> row, column;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (lower ? j - i > k : j - i < k) continue;
      row.push_back(static_cast<int32_t>(i));
      column.push_back(static_cast<int32_t>(j));
    }
  }
  return in_program(op, [&] { return std::vector<Tensor>{array(row), array(column)}; });
}

int64_t product_of(const Dimensions& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void require_floats(DType dtype) {
  if (is_floating(dtype)) return;
  trace_internal::refuse("dtype is ", to_string(dtype), "; it must be of floats");
}

// A dtype of 32 bits or more that can hold the count, if s64 can.
DType wide_enough(DType dtype, int64_t count) {
  const bool fits = bit_width(dtype) == 64 || count <= INT32_MAX ||
                    (dtype == u32 && count <= int64_t{UINT32_MAX});
  if (!fits) return s64;
  return bit_width(dtype) < 32 ? s32 : dtype;
}

// A window of the angles 2 pi i / (n - 1).
template <class Fn>
Tensor window(std::string_view op, int64_t n, DType dtype, SourceLocation at, Fn&& fn) {
  const PublicCall call(op, at);
  require_floats(dtype);
  if (n < 0) trace_internal::refuse("n is ", n, "; it must be 0 or more");
  return one_program(op, [&] {
    if (n <= 1) return ones({n}, dtype);
    const DType wide = dtype == f64 ? f64 : f32;
    Expr place(iota(wide, {n}, 0));
    Expr out = fn(place / static_cast<double>(n - 1));
    return out.astype(dtype).tensor();
  });
}

constexpr double kTurn = 2 * std::numbers::pi;

}  // namespace

Tensor tri(base::Int rows, std::optional<base::Int> given, base::Int k, DType dtype,
           SourceLocation at) {
  const PublicCall call("tri", at);
  const int64_t columns = trace_internal::count_or("columns", given, rows);
  return one_program("tri", [&] { return tril(ones({rows, columns}, dtype), k); });
}

std::vector<Tensor> tril_indices(base::Int rows, base::Int k, std::optional<base::Int> columns,
                                 SourceLocation at) {
  const PublicCall call("tril_indices", at);
  return triangle("tril_indices", rows, columns, k, /*lower=*/true);
}

std::vector<Tensor> triu_indices(base::Int rows, base::Int k, std::optional<base::Int> columns,
                                 SourceLocation at) {
  const PublicCall call("triu_indices", at);
  return triangle("triu_indices", rows, columns, k, /*lower=*/false);
}

std::vector<Tensor> diag_indices(base::Int n, base::Int axes, SourceLocation at) {
  const PublicCall call("diag_indices", at);
  if (n < 0 || axes < 1)
    trace_internal::refuse("n is ", n, " and axes ", axes,
                           "; n must be 0 or more and axes 1 or more");
  return std::vector<Tensor>(static_cast<size_t>(axes), arange_integers(0, n, 1, at));
}

Tensor indices(const base::Ints& shape, SourceLocation at) {
  const PublicCall call("indices", at);
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) return zeros({0}, s32);
  return one_program("indices", [&] {
    std::vector<Tensor> each;
    for (int64_t i = 0; i < rank; ++i) each.push_back(iota(s32, shape, i));
    return stack(each, 0);
  });
}

std::vector<Tensor> open_grid(const std::vector<Tensor>& vectors, SourceLocation at) {
  const PublicCall call("open_grid", at);
  if (vectors.empty()) return {};
  return in_program("open_grid", [&] {
    std::vector<Tensor> out;
    for (size_t i = 0; i < vectors.size(); ++i) {
      if (vectors[i].rank() != 1)
        trace_internal::refuse("vector ", i, " is ", vectors[i].shape(), "; it must have rank 1");
      Dimensions shape(vectors.size(), 1);
      shape[i] = vectors[i].size();
      out.push_back(reshape(vectors[i], shape));
    }
    return out;
  });
}

std::vector<Tensor> unravel_index(Operand flat, const base::Ints& shape) {
  const PublicCall call("unravel_index", flat.at());
  Expr position(as_tensor(flat));
  if (!is_integer(position.dtype()) || shape.empty())
    trace_internal::refuse("flat is ", position.tensor().shape(), " of an array of rank ",
                           shape.size(), "; it must be of integers, the rank 1 or more");
  const int64_t size = product_of(shape);
  return in_program("unravel_index", [&] {
    Expr left = position.astype(wide_enough(position.dtype(), size));
    if (is_signed(left.dtype())) {
      left = where(left < 0, left + size, left);
      left = maximum(left, 0);
    }
    left = minimum(left, std::max<int64_t>(size - 1, 0));
    std::vector<Tensor> out(shape.size());
    for (size_t i = shape.size(); i-- > 0;) {
      const int64_t n = std::max<int64_t>(shape[i], 1);
      out[i] = (left % n).tensor();
      left = left / n;
    }
    return out;
  });
}

Tensor ravel_multi_index(const std::vector<Tensor>& positions, const base::Ints& shape,
                         SourceLocation at) {
  const PublicCall call("ravel_multi_index", at);
  if (positions.empty() || positions.size() != shape.size())
    trace_internal::refuse("has ", positions.size(), " positions for ", shape.size(),
                           " axes; give one for each, one at least");
  return one_program("ravel_multi_index", [&] {
    const DType dtype = product_of(shape) > INT32_MAX ? s64 : s32;
    Expr out(zeros({}, dtype));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!is_integer(positions[i].dtype()))
        trace_internal::refuse("positions ", i, " are ", positions[i].shape(),
                               "; they must be integers, cast them with astype(s32)");
      // It is clamped before it is narrowed: a cast would bring a position outside back in.
      const Expr given(positions[i]);
      const Expr wide = given.astype(wide_enough(given.dtype(), shape[i]));
      const Expr each = minimum(maximum(wide, 0), std::max<int64_t>(shape[i] - 1, 0));
      out = out * shape[i] + each.astype(dtype);
    }
    return out.tensor();
  });
}

Tensor diagflat(Operand x, base::Int k) {
  return one_program("diagflat", x.at(), [&] { return diag(ravel(x), k); });
}

Tensor fill_diagonal(Operand operand, Operand value) {
  const PublicCall call("fill_diagonal", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  const Dimensions& shape = x.shape().dimensions();
  const bool is_cube =
      x.rank() == 2 || std::ranges::adjacent_find(shape, std::not_equal_to()) == shape.end();
  if (x.rank() < 2 || !is_cube)
    trace_internal::refuse("x is ", x.shape(),
                           "; it must be a matrix, or have more axes of one size");
  return one_program("fill_diagonal", [&] {
    Tensor given = trace_internal::like("value", value, x.dtype());
    const int64_t length = *std::ranges::min_element(shape);
    if (given.rank() > 1 || given.size() == 0)
      trace_internal::refuse("value is ", given.shape(),
                             "; it must be a number or a vector with elements");
    if (given.rank() == 1) {
      Tensor again = tile(given, {(length + given.size() - 1) / given.size()});
      given = slice_in_dim(again, 0, length);
    }
    Tensor places = iota(s32, {length}, 0);
    const std::vector<IndexEntry> diagonal(shape.size(), places);
    return heddle::at(x, diagonal, at).set(given);
  });
}

Tensor vander(Operand operand, std::optional<base::Int> columns, base::Flag increasing) {
  const PublicCall call("vander", operand.at());
  const Tensor x = trace_internal::vector_of("x", operand).tensor();
  const int64_t count = trace_internal::count_or("columns", columns, x.size());
  return one_program("vander", [&] {
    if (count == 0) return zeros({x.size(), 0}, x.dtype());
    constexpr int64_t kMostSteps = 64;
    if (count > kMostSteps) {
      const Tensor first = full({x.size(), 1}, 1, x.dtype());
      const Tensor rest = broadcast_to(expand_dims(x, 1), {x.size(), count - 1});
      const Tensor powers = cumprod(concat({first, rest}, 1), 1);
      return increasing ? powers : flip(powers, {1});
    }
    std::vector<Tensor> powers;
    Expr next = Expr(x).like(1);
    for (int64_t i = 0; i < count; ++i) {
      powers.push_back(next.tensor());
      if (i + 1 < count) next = next * Expr(x);
    }
    if (!increasing) std::ranges::reverse(powers);
    return stack(powers, 1);
  });
}

Tensor logspace(double start, double stop, base::Int count, double base, DType dtype,
                SourceLocation at) {
  const PublicCall call("logspace", at);
  require_floats(dtype);
  return one_program("logspace", [&] {
    Expr exponent(linspace(start, stop, count, dtype == f64 ? f64 : f32));
    return power(base, exponent).astype(dtype).tensor();
  });
}

Tensor geomspace(double start, double stop, base::Int count, DType dtype, SourceLocation at) {
  const PublicCall call("geomspace", at);
  require_floats(dtype);
  if (!((start > 0 && stop > 0) || (start < 0 && stop < 0)))  // the product may underflow
    trace_internal::refuse("reaches from ", start, " to ", stop,
                           "; both must be above 0 or both below");
  return one_program("geomspace", [&] {
    const DType wide = dtype == f64 ? f64 : f32;
    const double sign = start < 0 ? -1 : 1;
    Expr exponent(linspace(std::log(std::abs(start)), std::log(std::abs(stop)), count, wide));
    Expr out = exp(exponent) * sign;
    // The ends are the given numbers, not those from their logarithms.
    Expr place(iota(s32, {std::max<int64_t>(count, 0)}, 0));
    out = where(place == count - 1, stop, out);
    return where(place == 0, start, out).astype(dtype).tensor();
  });
}

Tensor bartlett(base::Int n, DType dtype, SourceLocation at) {
  return window("bartlett", n, dtype, at, [](const Expr& part) { return 1 - abs(part * 2 - 1); });
}

Tensor hamming(base::Int n, DType dtype, SourceLocation at) {
  return window("hamming", n, dtype, at,
                [](const Expr& part) { return 0.54 - 0.46 * cos(part * kTurn); });
}

Tensor hanning(base::Int n, DType dtype, SourceLocation at) {
  return window("hanning", n, dtype, at,
                [](const Expr& part) { return 0.5 - 0.5 * cos(part * kTurn); });
}

Tensor blackman(base::Int n, DType dtype, SourceLocation at) {
  return window("blackman", n, dtype, at, [](const Expr& part) {
    return 0.42 - 0.5 * cos(part * kTurn) + 0.08 * cos(part * (2 * kTurn));
  });
}

}  // namespace heddle
