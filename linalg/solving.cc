#include "heddle/linalg/solving.h"

#include <algorithm>
#include <cmath>

#include "heddle/linalg/factors.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/spectra.h"
#include "heddle/trace/error.h"
#include "heddle/trace/extremes.h"
#include "heddle/trace/matrices.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

// b of an equation with a[.., m, n]: a column where it has rank 1. errors: where its rows are not m
struct RightSide {
  Located b;
  bool is_vector;
};
RightSide right_side(std::string_view op, const Located& a, const Operand& operand) {
  const Located b = numbers_of(op, "b", operand, 1);
  check_same_dtype(op, a, b);
  const bool is_vector = b.tensor().rank() == 1;
  if (b.tensor().dim(is_vector ? 0 : -2) != rows(a)) {
    throw Error(
        trace_internal::invalid_argument(op, ": b is ", b.tensor().shape(), "; must have ", rows(a),
                                         " rows, as a, ", a.tensor().shape(), ", has"),
        a.at());
  }
  return {b, is_vector};
}
Located as_columns(const RightSide& side) { return side.is_vector ? column(side.b) : side.b; }

Located solved(const Lu& factors, const Located& a, const Located& b) {
  const Operand packed(factors.lu, a.at());
  const Located right = broadcast_batches(a, b).second;
  const Dimensions order_shape = with_axes(batch_of(right), {rows(a)});
  const Located order = a.with(broadcast_to(factors.permutation, order_shape, a.at()));
  const Tensor y = triangular_solve(packed, permuted_rows(right, order).operand(),
                                    {.left_side = true, .lower = true, .unit_diagonal = true});
  return a.with(triangular_solve(packed, {y, a.at()}, {.left_side = true}));
}

Located solution(const Located& a, const Located& b) { return solved(lu(a.operand()), a, b); }

// 1 or -1 for an even or odd number of exchanges, of a's dtype: [..].
Located parity(const Located& a, const Tensor& pivots) {
  const Located pivot = a.with(pivots);
  const Located step = a.with(iota(s32, pivot.dimensions(), pivots.rank() - 1, a.at()));
  const Located exchanged = (pivot != step).astype(s32);
  const Located count = a.with(sum(exchanged.operand(), {.axes = {-1}}));
  return (1 - 2 * (count % 2)).astype(a.dtype());
}

std::vector<Located> slogdet_of(const Located& a) {
  const Lu factors = lu(a.operand());
  const Located diagonal = a.with(heddle::diagonal({factors.lu, a.at()}));
  const Located direction = a.with(prod(sign(diagonal).operand(), {.axes = {-1}}));
  const Located logarithm = a.with(sum(log(abs(diagonal)).operand(), {.axes = {-1}}));
  const Located singular = a.with(any((diagonal == 0.0).operand(), {.axes = {-1}}));
  return {where(singular, 0.0, parity(a, factors.pivots) * direction),
          where(singular, -INFINITY, logarithm)};
}

// The greatest singular value, [.., 1]; where there is none, something.
Located greatest(const Located& s) {
  return s.with(trace_internal::max_or_least(s.operand(), {.axes = {-1}, .keep_dims = true}));
}

std::vector<Located> lstsq_of(const Located& a, const Located& b, double rcond) {
  const Svd factors = svd(a.operand(), false);
  const Located u = a.with(factors.u), s = a.with(factors.s), vh = a.with(factors.vh);
  const Located kept = (s > 0.0) & (s >= greatest(s) * rcond);
  const Located inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0).astype(a.dtype());
  const Located x = product(adjoint(vh), column(inverse) * product(adjoint(u), b));
  const Located error = abs(product(a, x) - b);
  const Located residuals = a.with(sum((error * error).operand(), {.axes = {-2}}));
  const Located rank = a.with(sum(kept.astype(s32).operand(), {.axes = {-1}}));
  return {x, residuals, rank, s};
}

Located pinv_of(const Located& a, double rtol) {
  const Svd factors = svd(a.operand(), false);
  const Located s = a.with(factors.s);
  const Located divisor = where(s > greatest(s) * rtol, s, INFINITY).astype(a.dtype());
  return product(adjoint(a.with(factors.vh)), adjoint(a.with(factors.u)) / column(divisor));
}

double default_tolerance(const Located& a) {
  return epsilon_of(a.dtype()) * static_cast<double>(std::max(rows(a), columns(a)));
}

}  // namespace

Tensor solve(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::solve", left.at());
  const Located a = square_of("linalg::solve", "a", left);
  const RightSide side = right_side("linalg::solve", a, right);
  return as_program("linalg::solve", a.at(), [&]() -> std::vector<Located> {
    const Located x = solution(a, as_columns(side));
    return {side.is_vector ? swept(x) : x};
  })[0];
}

Tensor lu_solve(const Lu& factors, Operand right) {
  const trace_internal::PublicCall call("linalg::lu_solve", right.at());
  if (!factors.lu.is_valid() || !factors.permutation.is_valid())
    throw Error(
        trace_internal::invalid_argument(
            "linalg::lu_solve", ": ", factors.lu.is_valid() ? "factors.permutation" : "factors.lu",
            " has no value; give what lu(a) returns"),
        right.at());
  const Located a = square_of("linalg::lu_solve", "factors.lu", {factors.lu, right.at()});
  const RightSide side = right_side("linalg::lu_solve", a, right);
  return as_program("linalg::lu_solve", a.at(), [&]() -> std::vector<Located> {
    const Located x = solved(factors, a, as_columns(side));
    return {side.is_vector ? swept(x) : x};
  })[0];
}

Tensor cho_solve(Operand factor, Operand right, bool lower) {
  const trace_internal::PublicCall call("linalg::cho_solve", factor.at());
  const Located a = square_of("linalg::cho_solve", "factor", factor);
  const RightSide side = right_side("linalg::cho_solve", a, right);
  return as_program("linalg::cho_solve", a.at(), [&]() -> std::vector<Located> {
    // L L^H x = b, or U^H U x = b: the conjugate transpose stands first or last.
    TriangularOptions first{.left_side = true, .lower = lower}, second = first;
    TriangularOptions& turned = lower ? second : first;
    turned.transpose_a = turned.conjugate_a = true;
    const Tensor y = triangular_solve(a.operand(), as_columns(side).operand(), first);
    const Located x = a.with(triangular_solve(a.operand(), {y, a.at()}, second));
    return {side.is_vector ? swept(x) : x};
  })[0];
}

Tensor solve_triangular(Operand left, Operand right, const SolveTriangular& how) {
  const trace_internal::PublicCall call("linalg::solve_triangular", left.at());
  const Located a = square_of("linalg::solve_triangular", "a", left);
  const RightSide side = right_side("linalg::solve_triangular", a, right);
  return as_program("linalg::solve_triangular", a.at(), [&]() -> std::vector<Located> {
    const Located x = a.with(triangular_solve(a.operand(), as_columns(side).operand(),
                                              {.left_side = true,
                                               .lower = how.lower,
                                               .transpose_a = how.transpose_a,
                                               .conjugate_a = how.conjugate_a,
                                               .unit_diagonal = how.unit_diagonal}));
    return {side.is_vector ? swept(x) : x};
  })[0];
}

Tensor inv(Operand operand) {
  const trace_internal::PublicCall call("linalg::inv", operand.at());
  const Located a = square_of("linalg::inv", "a", operand);
  return as_program("linalg::inv", a.at(), [&]() -> std::vector<Located> {
    return {solution(a, identity(a, batch_of(a), rows(a), rows(a)))};
  })[0];
}

Tensor det(Operand operand) {
  const trace_internal::PublicCall call("linalg::det", operand.at());
  const Located a = square_of("linalg::det", "a", operand);
  return as_program("linalg::det", a.at(), [&]() -> std::vector<Located> {
    const Lu factors = lu(a.operand());
    const Located diagonal = a.with(heddle::diagonal({factors.lu, a.at()}));
    return {a.with(prod(diagonal.operand(), {.axes = {-1}})) * parity(a, factors.pivots)};
  })[0];
}

Slogdet slogdet(Operand operand) {
  const trace_internal::PublicCall call("linalg::slogdet", operand.at());
  const Located a = square_of("linalg::slogdet", "a", operand);
  std::vector<Tensor> out = as_program("linalg::slogdet", a.at(), [&] { return slogdet_of(a); });
  return {out[0], out[1]};
}

Lstsq lstsq(Operand left, Operand right, std::optional<double> rcond) {
  const trace_internal::PublicCall call("linalg::lstsq", left.at());
  const Located a = matrices_of("linalg::lstsq", "a", left);
  const RightSide side = right_side("linalg::lstsq", a, right);
  std::vector<Tensor> out = as_program("linalg::lstsq", a.at(), [&] {
    auto [x, y] = broadcast_batches(a, as_columns(side));
    std::vector<Located> found = lstsq_of(x, y, rcond.value_or(default_tolerance(a)));
    if (side.is_vector) found[0] = swept(found[0]);
    return found;
  });
  return {out[0], out[1], out[2], out[3]};
}

Tensor pinv(Operand operand, std::optional<double> rtol) {
  const trace_internal::PublicCall call("linalg::pinv", operand.at());
  const Located a = matrices_of("linalg::pinv", "a", operand);
  return as_program("linalg::pinv", a.at(), [&]() -> std::vector<Located> {
    return {pinv_of(a, rtol.value_or(10 * default_tolerance(a)))};
  })[0];
}

Tensor matrix_rank(Operand operand, std::optional<double> rtol) {
  const trace_internal::PublicCall call("linalg::matrix_rank", operand.at());
  const Located a = matrices_of("linalg::matrix_rank", "a", operand);
  return as_program("linalg::matrix_rank", a.at(), [&]() -> std::vector<Located> {
    const Located s = a.with(svdvals(a.operand()));
    const Located kept = s > greatest(s) * rtol.value_or(default_tolerance(a));
    return {a.with(sum(kept.astype(s32).operand(), {.axes = {-1}}))};
  })[0];
}

}  // namespace heddle::linalg
