#include "heddle/trace/grids.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/matrices.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/vectors.h"

namespace heddle {
namespace {

using trace_internal::in_program;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// Which elements of a matrix tril keeps, or the others: known here, so they are a constant.
std::vector<Tensor> triangle(std::string_view op, int64_t rows, std::optional<base::Int> given,
                             int64_t k, bool lower, SourceLocation at) {
  const int64_t columns = trace_internal::count_or(op, "columns", given, rows, at);
  if (rows < 0)
    throw Error(trace_internal::invalid_argument(op, ": rows is ", rows, "; it must be 0 or more"),
                at);
  std::vector<int32_t> row, column;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (lower ? j - i > k : j - i < k) continue;
      row.push_back(static_cast<int32_t>(i));
      column.push_back(static_cast<int32_t>(j));
    }
  }
  return in_program(op, at, [&] { return std::vector<Tensor>{array(row, at), array(column, at)}; });
}

int64_t product_of(const Dimensions& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void require_floats(std::string_view op, DType dtype, SourceLocation at) {
  if (is_floating(dtype)) return;
  throw Error(trace_internal::invalid_argument(op, ": dtype is ", to_string(dtype),
                                               "; it must be of floats"),
              at);
}

// A dtype of 32 bits or more that holds the count as well, where s64 does.
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
  require_floats(op, dtype, at);
  if (n < 0)
    throw Error(trace_internal::invalid_argument(op, ": n is ", n, "; it must be 0 or more"), at);
  return one_program(op, at, [&] {
    if (n <= 1) return ones({n}, dtype, at);
    const DType wide = dtype == f64 ? f64 : f32;
    Located place(iota(wide, {n}, 0, at), at);
    Located out = fn(place / static_cast<double>(n - 1));
    return out.astype(dtype).tensor();
  });
}

constexpr double kTurn = 2 * std::numbers::pi;

}  // namespace

Tensor tri(base::Int rows, std::optional<base::Int> given, base::Int k, DType dtype,
           SourceLocation at) {
  const PublicCall call("tri", at);
  const int64_t columns = trace_internal::count_or("tri", "columns", given, rows, at);
  return one_program("tri", at, [&] { return tril({ones({rows, columns}, dtype, at), at}, k); });
}

std::vector<Tensor> tril_indices(base::Int rows, base::Int k, std::optional<base::Int> columns,
                                 SourceLocation at) {
  return triangle("tril_indices", rows, columns, k, /*lower=*/true, at);
}

std::vector<Tensor> triu_indices(base::Int rows, base::Int k, std::optional<base::Int> columns,
                                 SourceLocation at) {
  return triangle("triu_indices", rows, columns, k, /*lower=*/false, at);
}

std::vector<Tensor> diag_indices(base::Int n, base::Int axes, SourceLocation at) {
  const PublicCall call("diag_indices", at);
  if (n < 0 || axes < 1)
    throw Error(trace_internal::invalid_argument("diag_indices", ": n is ", n, " and axes ", axes,
                                                 "; n must be 0 or more and axes 1 or more"),
                at);
  return std::vector<Tensor>(static_cast<size_t>(axes), arange_integers(0, n, 1, at));
}

Tensor indices(const Dimensions& shape, SourceLocation at) {
  const PublicCall call("indices", at);
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) return zeros({0}, s32, at);
  return one_program("indices", at, [&] {
    std::vector<Tensor> each;
    for (int64_t i = 0; i < rank; ++i) each.push_back(iota(s32, shape, i, at));
    return stack(each, 0, at);
  });
}

std::vector<Tensor> open_grid(const std::vector<Tensor>& vectors, SourceLocation at) {
  const PublicCall call("open_grid", at);
  if (vectors.empty()) return {};
  return in_program("open_grid", at, [&] {
    std::vector<Tensor> out;
    for (size_t i = 0; i < vectors.size(); ++i) {
      if (vectors[i].rank() != 1)
        throw Error(trace_internal::invalid_argument("open_grid", ": vector ", i, " is ",
                                                     vectors[i].shape(), "; it must have rank 1"),
                    at);
      Dimensions shape(vectors.size(), 1);
      shape[i] = vectors[i].size();
      out.push_back(reshape({vectors[i], at}, shape));
    }
    return out;
  });
}

std::vector<Tensor> unravel_index(Operand flat, const Dimensions& shape) {
  const PublicCall call("unravel_index", flat.at());
  SourceLocation at = flat.at();
  Located position(as_tensor(flat), at);
  if (!is_integer(position.dtype()) || shape.empty())
    throw Error(
        trace_internal::invalid_argument("unravel_index", ": flat is ", position.tensor().shape(),
                                         " of an array of rank ", shape.size(),
                                         "; it must be of integers, the rank 1 or more"),
        at);
  const int64_t size = product_of(shape);
  return in_program("unravel_index", at, [&] {
    Located left = position.astype(wide_enough(position.dtype(), size));
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

Tensor ravel_multi_index(const std::vector<Tensor>& positions, const Dimensions& shape,
                         SourceLocation at) {
  const PublicCall call("ravel_multi_index", at);
  if (positions.empty() || positions.size() != shape.size())
    throw Error(trace_internal::invalid_argument("ravel_multi_index", ": has ", positions.size(),
                                                 " positions for ", shape.size(),
                                                 " axes; give one for each, one at least"),
                at);
  return one_program("ravel_multi_index", at, [&] {
    const DType dtype = product_of(shape) > INT32_MAX ? s64 : s32;
    Located out(zeros({}, dtype, at), at);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!is_integer(positions[i].dtype()))
        throw Error(trace_internal::invalid_argument(
                        "ravel_multi_index", ": positions ", i, " are ", positions[i].shape(),
                        "; they must be integers, cast them with astype(s32)"),
                    at);
      // Clamped before it is narrowed: a cast would bring what is outside back in.
      const Located given(positions[i], at);
      const Located wide = given.astype(wide_enough(given.dtype(), shape[i]));
      const Located each = minimum(maximum(wide, 0), std::max<int64_t>(shape[i] - 1, 0));
      out = out * shape[i] + each.astype(dtype);
    }
    return out.tensor();
  });
}

Tensor diagflat(Operand x, base::Int k) {
  return one_program("diagflat", x.at(), [&] { return diag({ravel(x), x.at()}, k); });
}

Tensor fill_diagonal(Operand operand, Operand value) {
  const PublicCall call("fill_diagonal", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  const Dimensions& shape = x.shape().dimensions();
  const bool is_cube =
      x.rank() == 2 || std::ranges::adjacent_find(shape, std::not_equal_to()) == shape.end();
  if (x.rank() < 2 || !is_cube)
    throw Error(
        trace_internal::invalid_argument("fill_diagonal", ": x is ", x.shape(),
                                         "; it must be a matrix, or have more axes of one size"),
        at);
  return one_program("fill_diagonal", at, [&] {
    Tensor given = trace_internal::like("fill_diagonal", "value", value, x.dtype(), at);
    const int64_t length = *std::ranges::min_element(shape);
    if (given.rank() > 1 || given.size() == 0)
      throw Error(
          trace_internal::invalid_argument("fill_diagonal", ": value is ", given.shape(),
                                           "; it must be a number or a vector with elements"),
          at);
    if (given.rank() == 1) {
      Tensor again = tile({given, at}, {(length + given.size() - 1) / given.size()});
      given = slice_in_dim({again, at}, 0, length);
    }
    Tensor places = iota(s32, {length}, 0, at);
    const std::vector<IndexEntry> diagonal(shape.size(), {places, at});
    return heddle::at(x, diagonal, at).set({given, at});
  });
}

Tensor vander(Operand operand, std::optional<base::Int> columns, bool increasing) {
  const PublicCall call("vander", operand.at());
  SourceLocation at = operand.at();
  const Tensor x = trace_internal::vector_of("vander", "x", operand).tensor();
  const int64_t count = trace_internal::count_or("vander", "columns", columns, x.size(), at);
  return one_program("vander", at, [&] {
    if (count == 0) return zeros({x.size(), 0}, x.dtype(), at);
    std::vector<Tensor> powers;
    Located next = Located(x, at).like(1);
    for (int64_t i = 0; i < count; ++i) {
      powers.push_back(next.tensor());
      if (i + 1 < count) next = next * Located(x, at);
    }
    if (!increasing) std::ranges::reverse(powers);
    return stack(powers, 1, at);
  });
}

Tensor logspace(double start, double stop, base::Int count, double base, DType dtype,
                SourceLocation at) {
  const PublicCall call("logspace", at);
  require_floats("logspace", dtype, at);
  return one_program("logspace", at, [&] {
    Located exponent(linspace(start, stop, count, dtype == f64 ? f64 : f32, at), at);
    return power(base, exponent).astype(dtype).tensor();
  });
}

Tensor geomspace(double start, double stop, base::Int count, DType dtype, SourceLocation at) {
  const PublicCall call("geomspace", at);
  require_floats("geomspace", dtype, at);
  if (!((start > 0 && stop > 0) || (start < 0 && stop < 0)))  // the product may underflow
    throw Error(trace_internal::invalid_argument("geomspace", ": reaches from ", start, " to ",
                                                 stop, "; both must be above 0 or both below"),
                at);
  return one_program("geomspace", at, [&] {
    const DType wide = dtype == f64 ? f64 : f32;
    const double sign = start < 0 ? -1 : 1;
    Located exponent(linspace(std::log(std::abs(start)), std::log(std::abs(stop)), count, wide, at),
                     at);
    Located out = exp(exponent) * sign;
    // The ends are what was asked for, not what their logarithms come to.
    Located place(iota(s32, {std::max<int64_t>(count, 0)}, 0, at), at);
    out = where(place == count - 1, stop, out);
    return where(place == 0, start, out).astype(dtype).tensor();
  });
}

Tensor bartlett(base::Int n, DType dtype, SourceLocation at) {
  return window("bartlett", n, dtype, at,
                [](const Located& part) { return 1 - abs(part * 2 - 1); });
}

Tensor hamming(base::Int n, DType dtype, SourceLocation at) {
  return window("hamming", n, dtype, at,
                [](const Located& part) { return 0.54 - 0.46 * cos(part * kTurn); });
}

Tensor hanning(base::Int n, DType dtype, SourceLocation at) {
  return window("hanning", n, dtype, at,
                [](const Located& part) { return 0.5 - 0.5 * cos(part * kTurn); });
}

Tensor blackman(base::Int n, DType dtype, SourceLocation at) {
  return window("blackman", n, dtype, at, [](const Located& part) {
    return 0.42 - 0.5 * cos(part * kTurn) + 0.08 * cos(part * (2 * kTurn));
  });
}

}  // namespace heddle
