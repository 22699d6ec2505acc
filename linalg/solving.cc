#include "heddle/linalg/solving.h"

#include <algorithm>
#include <cmath>

#include "heddle/linalg/factors.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/spectra.h"
#include "heddle/numpy/matrices.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

using Values = std::span<const Expr>;

// b of an equation with a[.., m, n]: a column if it has rank 1. errors: if it does not have m rows
struct RightSide {
  Expr b;
  bool is_vector;
};
RightSide right_side(const Expr& a, const Operand& operand) {
  const Expr b = numbers_of("b", operand, 1);
  check_same_dtype(a, b);
  const bool is_vector = b.tensor().rank() == 1;
  if (b.tensor().dim(is_vector ? 0 : -2) != rows(a)) {
    trace_internal::refuse("b is ", b.tensor().shape(), "; must have ", rows(a), " rows, as a, ",
                           a.tensor().shape(), ", has");
  }
  return {b, is_vector};
}
Expr as_columns(const RightSide& side) { return side.is_vector ? column(side.b) : side.b; }

Expr solved(const Lu& factors, const Expr& a, const Expr& b) {
  const Operand packed(factors.lu);
  const Expr right = broadcast_batches(a, b).second;
  const Dimensions order_shape = with_axes(batch_of(right), {rows(a)});
  const Expr order = broadcast_to(factors.permutation, order_shape);
  const Tensor y = triangular_solve(packed, permuted_rows(right, order).operand(),
                                    {.left_side = true, .lower = true, .unit_diagonal = true});
  return triangular_solve(packed, y, {.left_side = true});
}

Expr solution(const Expr& a, const Expr& b) { return solved(lu(a.operand()), a, b); }

// 1 or -1 for an even or odd number of exchanges, of a's dtype: [..].
Expr parity(const Expr& a, const Tensor& pivots) {
  const Expr pivot = pivots;
  const Expr step = iota(s32, pivot.dimensions(), pivots.rank() - 1);
  const Expr exchanged = (pivot != step).astype(s32);
  const Expr count = sum(exchanged.operand(), {.axes = {-1}});
  return (1 - 2 * (count % 2)).astype(a.dtype());
}

std::vector<Expr> slogdet_of(const Expr& a) {
  const Lu factors = lu(a.operand());
  const Expr diagonal = heddle::diagonal(factors.lu, 0, -2, -1);
  const Expr direction = prod(sign(diagonal).operand(), {.axes = {-1}});
  const Expr logarithm = sum(log(abs(diagonal)).operand(), {.axes = {-1}});
  const Expr singular = any((diagonal == 0.0).operand(), {.axes = {-1}});
  return {where(singular, 0.0, parity(a, factors.pivots) * direction),
          where(singular, -INFINITY, logarithm)};
}

// The greatest singular value, [.., 1]; any value if there is none.
Expr greatest(const Expr& s) {
  return trace_internal::max_or_least(s.operand(), {.axes = {-1}, .keep_dims = true});
}

std::vector<Expr> lstsq_of(const Expr& a, const Expr& b, double rcond) {
  const Svd factors = svd(a.operand(), false);
  const Expr u = Expr(factors.u), s = Expr(factors.s), vh = Expr(factors.vh);
  const Expr is_large = (s > 0.0) & (s >= greatest(s) * rcond);
  const Expr inverse = where(is_large, 1.0 / where(is_large, s, 1.0), 0.0).astype(a.dtype());
  const Expr x = product(adjoint(vh), column(inverse) * product(adjoint(u), b));
  const Expr error = abs(product(a, x) - b);
  const Expr residuals = sum((error * error).operand(), {.axes = {-2}});
  const Expr rank = sum(is_large.astype(s32).operand(), {.axes = {-1}});
  return {x, residuals, rank, s};
}

Expr pinv_of(const Expr& a, double rtol) {
  const Svd factors = svd(a.operand(), false);
  const Expr s = factors.s;
  const Expr divisor = where(s > greatest(s) * rtol, s, INFINITY).astype(a.dtype());
  return product(adjoint(Expr(factors.vh)), adjoint(Expr(factors.u)) / column(divisor));
}

double default_tolerance(const Expr& a) {
  return epsilon_of(a.dtype()) * static_cast<double>(std::max(rows(a), columns(a)));
}

}  // namespace

Tensor solve(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::solve", left.at());
  const Expr a = square_of("a", left);
  const RightSide side = right_side(a, right);
  const auto of = [&](Values in) -> std::vector<Expr> {
    const Expr x = solution(in[0], as_columns({in[1], side.is_vector}));
    return {side.is_vector ? swept(x) : x};
  };
  return as_program("linalg::solve", KnownOptions(), {a, side.b}, of)[0];
}

Tensor lu_solve(const Lu& factors, Operand right) {
  const trace_internal::PublicCall call("linalg::lu_solve", right.at());
  if (!factors.lu.is_valid() || !factors.permutation.is_valid())
    trace_internal::refuse(factors.lu.is_valid() ? "factors.permutation" : "factors.lu",
                           " has no value; give what lu(a) returns");
  const Expr a = square_of("factors.lu", factors.lu);
  const RightSide side = right_side(a, right);
  const auto of = [&](Values in) -> std::vector<Expr> {
    const Lu given{.lu = in[0].tensor(), .pivots = {}, .permutation = in[1].tensor()};
    const Expr x = solved(given, in[0], as_columns({in[2], side.is_vector}));
    return {side.is_vector ? swept(x) : x};
  };
  const Expr permutation(factors.permutation);
  return as_program("linalg::lu_solve", KnownOptions(), {a, permutation, side.b}, of)[0];
}

Tensor cho_solve(Operand factor, Operand right, base::Flag lower) {
  const trace_internal::PublicCall call("linalg::cho_solve", factor.at());
  const Expr a = square_of("factor", factor);
  const RightSide side = right_side(a, right);
  const auto of = [&](Values in) -> std::vector<Expr> {
    // L L^H x = b, or U^H U x = b: the conjugate transpose comes first or last.
    TriangularOptions first{.left_side = true, .lower = lower}, second = first;
    TriangularOptions& turned = lower ? second : first;
    turned.transpose_a = turned.conjugate_a = true;
    const Expr columns = as_columns({in[1], side.is_vector});
    const Tensor y = triangular_solve(in[0].operand(), columns.operand(), first);
    const Expr x = triangular_solve(in[0].operand(), y, second);
    return {side.is_vector ? swept(x) : x};
  };
  return as_program("linalg::cho_solve", KnownOptions(lower), {a, side.b}, of)[0];
}

Tensor solve_triangular(Operand left, Operand right, const SolveTriangular& how) {
  const trace_internal::PublicCall call("linalg::solve_triangular", left.at());
  const Expr a = square_of("a", left);
  const RightSide side = right_side(a, right);
  const auto of = [&](Values in) -> std::vector<Expr> {
    const Expr x = triangular_solve(in[0].operand(), as_columns({in[1], side.is_vector}).operand(),
                                    {.left_side = true,
                                     .lower = how.lower,
                                     .transpose_a = how.transpose_a,
                                     .conjugate_a = how.conjugate_a,
                                     .unit_diagonal = how.unit_diagonal});
    return {side.is_vector ? swept(x) : x};
  };
  const KnownOptions options(how.lower, how.transpose_a, how.conjugate_a, how.unit_diagonal);
  return as_program("linalg::solve_triangular", options, {a, side.b}, of)[0];
}

Tensor inv(Operand operand) {
  const trace_internal::PublicCall call("linalg::inv", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [](Values in) -> std::vector<Expr> {
    const Expr& x = in[0];
    return {solution(x, identity(x, batch_of(x), rows(x), rows(x)))};
  };
  return as_program("linalg::inv", KnownOptions(), {a}, of)[0];
}

Tensor det(Operand operand) {
  const trace_internal::PublicCall call("linalg::det", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [](Values in) -> std::vector<Expr> {
    return {with_derivative("det", in[0], [](const Expr& x) -> std::vector<Expr> {
      const Lu factors = lu(x.operand());
      const Expr diagonal = heddle::diagonal(factors.lu, 0, -2, -1),
                 sign = parity(x, factors.pivots);
      return {Expr(prod(diagonal.operand(), {.axes = {-1}})) * sign, Expr(factors.lu),
              Expr(factors.pivots) + 1, sign};
    })[0]};
  };
  return as_program("linalg::det", KnownOptions(), {a}, of)[0];
}

Slogdet slogdet(Operand operand) {
  const trace_internal::PublicCall call("linalg::slogdet", operand.at());
  const Expr a = square_of("a", operand);
  std::vector<Tensor> out = as_program("linalg::slogdet", KnownOptions(), {a},
                                       [](Values in) { return slogdet_of(in[0]); });
  return {out[0], out[1]};
}

Lstsq lstsq(Operand left, Operand right, std::optional<double> rcond) {
  const trace_internal::PublicCall call("linalg::lstsq", left.at());
  const Expr a = matrices_of("a", left);
  const RightSide side = right_side(a, right);
  const double least = rcond.value_or(default_tolerance(a));
  const auto of = [&](Values in) {
    auto [x, y] = broadcast_batches(in[0], as_columns({in[1], side.is_vector}));
    std::vector<Expr> found = lstsq_of(x, y, least);
    if (side.is_vector) found[0] = swept(found[0]);
    return found;
  };
  const KnownOptions options(FixedNumber{least});
  std::vector<Tensor> out = as_program("linalg::lstsq", options, {a, side.b}, of);
  return {out[0], out[1], out[2], out[3]};
}

Tensor pinv(Operand operand, std::optional<double> rtol) {
  const trace_internal::PublicCall call("linalg::pinv", operand.at());
  const Expr a = matrices_of("a", operand);
  const double least = rtol.value_or(10 * default_tolerance(a));
  const auto of = [&](Values in) -> std::vector<Expr> {
    return with_derivative("pinv", in[0],
                           [&](const Expr& x) -> std::vector<Expr> { return {pinv_of(x, least)}; });
  };
  return as_program("linalg::pinv", KnownOptions(FixedNumber{least}), {a}, of)[0];
}

Tensor matrix_rank(Operand operand, std::optional<double> rtol) {
  const trace_internal::PublicCall call("linalg::matrix_rank", operand.at());
  const Expr a = matrices_of("a", operand);
  const double least = rtol.value_or(default_tolerance(a));
  const auto of = [&](Values in) -> std::vector<Expr> {
    const Expr s = svdvals(in[0].operand());
    const Expr is_large = s > greatest(s) * least;
    return {Expr(sum(is_large.astype(s32).operand(), {.axes = {-1}}))};
  };
  return as_program("linalg::matrix_rank", KnownOptions(FixedNumber{least}), {a}, of)[0];
}

}  // namespace heddle::linalg
