#include "heddle/linalg/factors.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/sorting.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder
using trace_internal::emit;
using trace_internal::PublicCall;

Expr solved(const Expr& a, const Expr& b, const TriangularOptions& options) {
  hlo::TriangularSolveAttrs attrs{.left_side = options.left_side,
                                  .lower = options.lower,
                                  .unit_diagonal = options.unit_diagonal,
                                  .transpose_a = hlo::TransposeA::kNoTranspose};
  const bool conjugates = options.conjugate_a && is_complex(a.dtype());
  if (options.transpose_a)
    attrs.transpose_a = conjugates ? hlo::TransposeA::kAdjoint : hlo::TransposeA::kTranspose;
  const Expr matrix = conjugates && !options.transpose_a ? Expr(conj(a.operand())) : a;
  return emit({.opcode = hlo::Opcode::kTriangularSolve,
               .operands = {matrix.tensor(), b.tensor()},
               .attrs = attrs,
               .declared = b.tensor().shape()});
}

// The vector as the column (left_side) or the row of the op.
Expr as_matrix(const Expr& vector, bool is_column) {
  return expand_dims(vector.operand(), is_column ? -1 : -2);
}

Expr permutation_of(const Expr& pivots, int64_t size) {
  const int64_t steps = columns(pivots);
  const Dimensions shape = with_axes(batch_of(pivots, 1), {size});
  const Expr row = iota(s32, shape, static_cast<int64_t>(shape.size()) - 1);
  if (steps == 0 || row.tensor().size() == 0) return row;
  const auto exchange = [&](const Tensor& i, const Tensor& order) {
    const Expr step = Expr(i), now = Expr(order);
    const Expr other = dynamic_index_in_dim(pivots.operand(), step.operand(), -1);
    const Expr here = dynamic_index_in_dim(now.operand(), step.operand(), -1);
    const Expr there = take_along_axis(now.operand(), other.operand(), -1);
    return where(row == step, there, where(row == other, here, now)).tensor();
  };
  return Expr(fori_loop(0, steps, exchange, row.tensor()));
}

std::vector<Expr> lu_of(const Expr& a) {
  const int64_t m = rows(a), least = std::min(m, columns(a));
  const Dimensions batch = batch_of(a);
  const Shape pivot_shape(s32, with_axes(batch, {least}));
  if (a.tensor().size() == 0) {
    const Expr none = zeros(pivot_shape.dimensions(), s32);
    return {a, none, permutation_of(none, m)};
  }
  const std::vector<Expr> out =
      lapack("getrf", {a}, {a.tensor().shape(), pivot_shape, Shape(s32, batch)}, "{}");
  const Expr pivots = out[1] - 1;
  return {out[0], pivots, permutation_of(pivots, m)};
}

std::vector<Expr> qr_of(const Expr& a, bool full) {
  const int64_t m = rows(a), n = columns(a), least = std::min(m, n), k = full ? m : least;
  const Dimensions batch = batch_of(a);
  if (a.tensor().size() == 0)
    return {identity(a, batch, m, k), Expr(zeros(with_axes(batch, {k, n}), a.dtype()))};
  const Shape tau(a.dtype(), with_axes(batch, {least}));
  const std::vector<Expr> factors = lapack("geqrf", {a}, {a.tensor().shape(), tau}, "{}");
  Expr reflectors = corner(factors[0], m, least);
  if (k > least) {
    const Tensor more = zeros(with_axes(batch, {m, k - least}), a.dtype());
    reflectors = Expr(concat({reflectors.tensor(), more}, -1));
  }
  const Shape q_shape(a.dtype(), with_axes(batch, {m, k}));
  const Expr q = lapack("orgqr", {reflectors, factors[1]}, {q_shape}, "{}")[0];
  return {q, Expr(triu(corner(factors[0], k, n).operand()))};
}

}  // namespace

Tensor cholesky(Operand operand, const CholeskyOptions& options) {
  const PublicCall call("linalg::cholesky", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    const Expr given = options.symmetrize_input ? hermitian_part(in[0]) : in[0];
    const Expr factor = emit({.opcode = hlo::Opcode::kCholesky,
                              .operands = {given.tensor()},
                              .attrs = hlo::CholeskyAttrs{.lower = true},
                              .declared = a.tensor().shape()});
    // Backends differ in the upper triangle, and in what a pivot of 0 leaves below it.
    const Expr pivots = real(diagonal(factor.operand(), 0, -2, -1));
    const Expr is_positive = all((pivots > 0).operand(), {.axes = {-1}});
    const Expr chosen = expand_dims(is_positive.operand(), {-2, -1});
    const Expr lower = tril(where(chosen, factor, factor.like(NAN)).operand());
    return {options.upper ? adjoint(lower) : lower};
  };
  const KnownOptions known(options.symmetrize_input, options.upper);
  return as_program("linalg::cholesky", known, {a}, of)[0];
}

Tensor triangular_solve(Operand left, Operand right, const TriangularOptions& options) {
  const PublicCall call("linalg::triangular_solve", left.at());
  const Expr a = square_of("a", left);
  const Expr b = numbers_of("b", right, 1);
  check_same_dtype(a, b);
  const bool is_vector = b.tensor().rank() == 1;
  const int64_t length = b.tensor().dim(is_vector || !options.left_side ? -1 : -2);
  if (length != rows(a)) {
    trace_internal::refuse("b is ", b.tensor().shape(), "; must have ", rows(a),
                           options.left_side ? " rows" : " columns", ", as a, ", a.tensor().shape(),
                           ", has");
  }
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    const int64_t axis = options.left_side ? -1 : -2;
    const Expr matrix = is_vector ? as_matrix(in[1], options.left_side) : in[1];
    auto [x, y] = broadcast_batches(in[0], matrix);
    const Expr found = solved(x, y, options);
    return {is_vector ? Expr(squeeze(found.operand(), {axis})) : found};
  };
  const KnownOptions known(options.left_side, options.lower, options.transpose_a,
                           options.conjugate_a, options.unit_diagonal);
  return as_program("linalg::triangular_solve", known, {a, b}, of)[0];
}

Lu lu(Operand operand) {
  const PublicCall call("linalg::lu", operand.at());
  const Expr a = matrices_of("a", operand);
  std::vector<Tensor> out = as_program("linalg::lu", KnownOptions(), {a},
                                       [](std::span<const Expr> in) { return lu_of(in[0]); });
  return {out[0], out[1], out[2]};
}

Tensor lu_pivots_to_permutation(Operand operand, base::Int size) {
  const PublicCall call("linalg::lu_pivots_to_permutation", operand.at());
  const Expr pivots(as_tensor(operand));
  const Shape& shape = pivots.tensor().shape();
  if (shape.dtype() != s32 || shape.rank() < 1 || columns(pivots) > size) {
    trace_internal::refuse("pivots are ", shape, "; must be s32[.., k] with k at most size, ",
                           size);
  }
  return as_program("linalg::lu_pivots_to_permutation",
                    [&]() -> std::vector<Expr> { return {permutation_of(pivots, size)}; })[0];
}

Qr qr(Operand operand, base::Flag full_matrices) {
  const PublicCall call("linalg::qr", operand.at());
  const Expr a = matrices_of("a", operand);
  const auto of = [&](std::span<const Expr> in) {
    return with_derivative("qr", in[0], [&](const Expr& x) { return qr_of(x, full_matrices); });
  };
  std::vector<Tensor> out = as_program("linalg::qr", KnownOptions(full_matrices), {a}, of);
  return {out[0], out[1]};
}

Tensor householder_product(Operand left, Operand right) {
  const PublicCall call("linalg::householder_product", left.at());
  const Expr a = matrices_of("a", left);
  const Expr taus = numbers_of("taus", right, 1);
  check_same_dtype(a, taus, "taus");
  const int64_t m = rows(a), n = columns(a), k = columns(taus);
  if (batch_of(a) != batch_of(taus, 1) || n > m || k > n) {
    trace_internal::refuse("a is ", a.tensor().shape(), " and taus ", taus.tensor().shape(),
                           "; must be [.., m, n] and [.., k] with m >= n >= k");
  }
  return as_program("linalg::householder_product", [&]() -> std::vector<Expr> {
    if (a.tensor().size() == 0 || k == 0) return {identity(a, batch_of(a), m, n)};
    return {lapack("orgqr", {a, taus}, {a.tensor().shape()}, "{}")[0]};
  })[0];
}

}  // namespace heddle::linalg
