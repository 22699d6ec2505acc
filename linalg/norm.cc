// Norms of vectors and matrices: reductions of |x|, or of singular values.
#include <algorithm>
#include <cmath>

#include "heddle/linalg/functions.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/spectra.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

[[noreturn]] void throw_order(const Expr& x, std::string_view what, std::string_view orders) {
  trace_internal::refuse("order is of no norm of ", what, " of x, ", x.tensor().shape(),
                         "; must be ", orders);
}

// sqrt(sum |x|^2). A complex number's |x|^2 needs no root.
Expr euclidean(const Expr& x, const Reduction& over) {
  const auto squares = [](const Expr& part) { return square(part); };
  const Expr total = is_complex(x.dtype())
                         ? squares(Expr(real(x.operand()))) + squares(Expr(imag(x.operand())))
                         : squares(x);
  return sqrt(Expr(sum(total.operand(), over)));
}

// The greatest of sizes (0 if there are none), or the least. errors: for the least of none
Expr extreme_of(const Expr& sizes, bool greatest, const Reduction& over) {
  const bool is_empty = std::ranges::any_of(
      over.axes.list(), [&](int64_t axis) { return sizes.tensor().dim(axis) == 0; });
  if (!is_empty) return Expr(greatest ? max(sizes.operand(), over) : min(sizes.operand(), over));
  if (greatest) return Expr(sum(sizes.operand(), over));
  trace_internal::refuse("order is that of a least size, of no elements of x, ",
                         sizes.tensor().shape(), "; x must have elements along its axes");
}

Expr vector_norm(const Expr& x, double order, const Reduction& over) {
  if (order == 2) return euclidean(x, over);
  const Expr size = abs(x);
  if (std::isinf(order)) return extreme_of(size, order > 0, over);
  if (order == 1) return sum(size.operand(), over);
  if (order == 0) return sum((x != 0.0).astype(size.dtype()).operand(), over);
  return power(Expr(sum(power(size, order).operand(), over)), 1 / order);
}

// Sums of |x| along one of the axes, and the greatest (or least) along the other.
Expr sums_norm(const Expr& x, int64_t along, int64_t across, bool greatest, bool keep) {
  const Expr sums = sum(abs(x).operand(), {.axes = {along}, .keep_dims = true});
  const Reduction other{.axes = {across}, .keep_dims = true};
  const Expr out = extreme_of(sums, greatest, other);
  return keep ? out : Expr(squeeze(out.operand(), {along, across}));
}

// Singular values of the matrices in the two axes, which move to the end.
Expr values_of(const Expr& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < x.tensor().rank(); ++i) {
    if (std::ranges::count(axes, i) == 0) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  return svdvals(transpose(x.operand(), order));
}

// `reduced`, [..], with the axes of size 1 again.
Expr restored(const Expr& reduced, const Expr& x, const Reduction& over) {
  if (!over.keep_dims) return reduced;
  Dimensions shape = x.dimensions();
  for (int64_t axis : over.axes.list()) shape[static_cast<size_t>(axis)] = 1;
  return reshape(reduced.operand(), shape);
}

Expr matrix_norm(const Expr& x, const NormOrder& order, const Reduction& over) {
  const int64_t row = over.axes.list()[0], column = over.axes.list()[1];
  if (const auto* name = std::get_if<MatrixNorm>(&order.value())) {
    if (*name == MatrixNorm::kFrobenius) return euclidean(x, over);
    return restored(Expr(sum(values_of(x, over.axes.list()).operand(), {.axes = {-1}})), x, over);
  }
  const double number = std::get<double>(order.value());
  const bool greatest = number > 0;
  if (std::abs(number) == 1) return sums_norm(x, row, column, greatest, over.keep_dims);
  if (std::isinf(number)) return sums_norm(x, column, row, greatest, over.keep_dims);
  if (std::abs(number) != 2)
    throw_order(x, "matrices", "1, -1, 2, -2, INFINITY, -INFINITY, kFrobenius or kNuclear");
  const Expr values = values_of(x, over.axes.list());
  const Reduction last{.axes = {values.tensor().rank() - 1}};
  return restored(extreme_of(values, greatest, last), x, over);
}

Expr norm_of(const Expr& x, const NormOptions& options, const Reduction& over) {
  if (!options.order) return euclidean(x, over);
  if (over.axes.list().size() == 2) return matrix_norm(x, *options.order, over);
  const auto* number = std::get_if<double>(&options.order->value());
  if (over.axes.list().size() != 1) {
    trace_internal::refuse("x is ", x.tensor().shape(), " and ", over.axes.list().size(),
                           " axes are reduced; an order takes one, of vectors, or two, of "
                           "matrices, give them as axes");
  }
  if (number == nullptr || std::isnan(*number)) throw_order(x, "vectors", "a number");
  return vector_norm(x, *number, over);
}

}  // namespace

Tensor norm(Operand operand, const NormOptions& options) {
  const trace_internal::PublicCall call("linalg::norm", operand.at());
  const Expr x = numbers_of("x", operand, 0);
  const Shape& shape = x.tensor().shape();
  const Reduction over{.axes = trace_internal::axes_of(shape, options.axes.of_rank(shape.rank())),
                       .keep_dims = options.keep_dims};
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    return {norm_of(in[0], options, over)};
  };
  const auto* name = options.order ? std::get_if<MatrixNorm>(&options.order->value()) : nullptr;
  const auto* number = options.order ? std::get_if<double>(&options.order->value()) : nullptr;
  const KnownOptions known(over.axes.list(), options.keep_dims, options.order.has_value(),
                           name ? std::optional(*name) : std::nullopt,
                           FixedNumber{number ? *number : 0});
  return as_program("linalg::norm", known, {x}, of)[0];
}

}  // namespace heddle::linalg
