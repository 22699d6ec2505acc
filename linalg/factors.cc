#include "heddle/linalg/factors.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/selecting.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder
using trace_internal::emit;
using trace_internal::PublicCall;

Located solved(const Located& a, const Located& b, const TriangularOptions& options) {
  hlo::TriangularSolveAttrs attrs{.left_side = options.left_side,
                                  .lower = options.lower,
                                  .unit_diagonal = options.unit_diagonal,
                                  .transpose_a = hlo::TransposeA::kNoTranspose};
  const bool conjugates = options.conjugate_a && is_complex(a.dtype());
  if (options.transpose_a)
    attrs.transpose_a = conjugates ? hlo::TransposeA::kAdjoint : hlo::TransposeA::kTranspose;
  const Located matrix = conjugates && !options.transpose_a ? a.with(conj(a.operand())) : a;
  return a.with(emit({.opcode = hlo::Opcode::kTriangularSolve,
                      .operands = {matrix.tensor(), b.tensor()},
                      .attrs = attrs,
                      .declared = b.tensor().shape(),
                      .at = a.at()}));
}

// The vector as the column (left_side) or the row that the op takes.
Located as_matrix(const Located& vector, bool is_column) {
  return vector.with(expand_dims(vector.operand(), is_column ? -1 : -2));
}

Located permutation_of(const Located& pivots, int64_t size) {
  const int64_t steps = columns(pivots);
  const Dimensions shape = with_axes(batch_of(pivots, 1), {size});
  const Located row =
      pivots.with(iota(s32, shape, static_cast<int64_t>(shape.size()) - 1, pivots.at()));
  if (steps == 0 || row.tensor().size() == 0) return row;
  const auto exchange = [&](const Tensor& i, const Tensor& order) {
    const Located step = row.with(i), now = row.with(order);
    const Located other = row.with(dynamic_index_in_dim(pivots.operand(), step.operand(), -1));
    const Located here = row.with(dynamic_index_in_dim(now.operand(), step.operand(), -1));
    const Located there = row.with(take_along_axis(now.operand(), other.operand(), -1));
    return where(row == step, there, where(row == other, here, now)).tensor();
  };
  return row.with(fori_loop(0, steps, exchange, row.tensor(), row.at()));
}

std::vector<Located> lu_of(const Located& a) {
  const int64_t m = rows(a), least = std::min(m, columns(a));
  const Dimensions batch = batch_of(a);
  const Shape pivot_shape(s32, with_axes(batch, {least}));
  if (a.tensor().size() == 0) {
    const Located none = a.with(zeros(pivot_shape.dimensions(), s32, a.at()));
    return {a, none, permutation_of(none, m)};
  }
  const std::vector<Located> out =
      lapack("getrf", {a}, {a.tensor().shape(), pivot_shape, Shape(s32, batch)}, "{}");
  const Located pivots = out[1] - 1;
  return {out[0], pivots, permutation_of(pivots, m)};
}

std::vector<Located> qr_of(const Located& a, bool full) {
  const int64_t m = rows(a), n = columns(a), least = std::min(m, n), k = full ? m : least;
  const Dimensions batch = batch_of(a);
  if (a.tensor().size() == 0)
    return {identity(a, batch, m, k), a.with(zeros(with_axes(batch, {k, n}), a.dtype(), a.at()))};
  const Shape tau(a.dtype(), with_axes(batch, {least}));
  const std::vector<Located> factors = lapack("geqrf", {a}, {a.tensor().shape(), tau}, "{}");
  Located reflectors = corner(factors[0], m, least);
  if (k > least) {
    const Tensor more = zeros(with_axes(batch, {m, k - least}), a.dtype(), a.at());
    reflectors = a.with(concat({reflectors.tensor(), more}, -1, a.at()));
  }
  const Shape q_shape(a.dtype(), with_axes(batch, {m, k}));
  const Located q = lapack("orgqr", {reflectors, factors[1]}, {q_shape}, "{}")[0];
  return {q, a.with(triu(corner(factors[0], k, n).operand()))};
}

}  // namespace

Tensor cholesky(Operand operand, const CholeskyOptions& options) {
  const PublicCall call("linalg::cholesky", operand.at());
  const Located a = square_of("linalg::cholesky", "a", operand);
  return as_program("linalg::cholesky", a.at(), [&]() -> std::vector<Located> {
    const Located given = options.symmetrize_input ? hermitian_part(a) : a;
    const Located factor = a.with(emit({.opcode = hlo::Opcode::kCholesky,
                                        .operands = {given.tensor()},
                                        .attrs = hlo::CholeskyAttrs{.lower = true},
                                        .declared = a.tensor().shape(),
                                        .at = a.at()}));
    const Located lower = a.with(tril(factor.operand()));  // what is above is up to the backend
    return {options.upper ? adjoint(lower) : lower};
  })[0];
}

Tensor triangular_solve(Operand left, Operand right, const TriangularOptions& options) {
  const PublicCall call("linalg::triangular_solve", left.at());
  const Located a = square_of("linalg::triangular_solve", "a", left);
  const Located b = numbers_of("linalg::triangular_solve", "b", right, 1);
  check_same_dtype("linalg::triangular_solve", a, b);
  const bool is_vector = b.tensor().rank() == 1;
  const int64_t length = b.tensor().dim(is_vector || !options.left_side ? -1 : -2);
  if (length != rows(a)) {
    throw Error(trace_internal::invalid_argument("linalg::triangular_solve", ": b is ",
                                                 b.tensor().shape(), "; must have ", rows(a),
                                                 options.left_side ? " rows" : " columns",
                                                 ", as a, ", a.tensor().shape(), ", has"),
                a.at());
  }
  return as_program("linalg::triangular_solve", a.at(), [&]() -> std::vector<Located> {
    const int64_t axis = options.left_side ? -1 : -2;
    const Located matrix = is_vector ? as_matrix(b, options.left_side) : b;
    auto [x, y] = broadcast_batches(a, matrix);
    const Located found = solved(x, y, options);
    return {is_vector ? found.with(squeeze(found.operand(), {axis})) : found};
  })[0];
}

Lu lu(Operand operand) {
  const PublicCall call("linalg::lu", operand.at());
  const Located a = matrices_of("linalg::lu", "a", operand);
  std::vector<Tensor> out = as_program("linalg::lu", a.at(), [&] { return lu_of(a); });
  return {out[0], out[1], out[2]};
}

Tensor lu_pivots_to_permutation(Operand operand, base::Int size) {
  const PublicCall call("linalg::lu_pivots_to_permutation", operand.at());
  const Located pivots(as_tensor(operand), operand.at());
  const Shape& shape = pivots.tensor().shape();
  if (shape.dtype() != s32 || shape.rank() < 1 || columns(pivots) > size) {
    throw Error(
        trace_internal::invalid_argument("linalg::lu_pivots_to_permutation", ": pivots are ", shape,
                                         "; must be s32[.., k] with k at most size, ", size),
        pivots.at());
  }
  return as_program("linalg::lu_pivots_to_permutation", pivots.at(),
                    [&]() -> std::vector<Located> { return {permutation_of(pivots, size)}; })[0];
}

Qr qr(Operand operand, bool full_matrices) {
  const PublicCall call("linalg::qr", operand.at());
  const Located a = matrices_of("linalg::qr", "a", operand);
  std::vector<Tensor> out =
      as_program("linalg::qr", a.at(), [&] { return qr_of(a, full_matrices); });
  return {out[0], out[1]};
}

Tensor householder_product(Operand left, Operand right) {
  const PublicCall call("linalg::householder_product", left.at());
  const Located a = matrices_of("linalg::householder_product", "a", left);
  const Located taus = numbers_of("linalg::householder_product", "taus", right, 1);
  check_same_dtype("linalg::householder_product", a, taus, "taus");
  const int64_t m = rows(a), n = columns(a), k = columns(taus);
  if (batch_of(a) != batch_of(taus, 1) || n > m || k > n) {
    throw Error(trace_internal::invalid_argument(
                    "linalg::householder_product", ": a is ", a.tensor().shape(), " and taus ",
                    taus.tensor().shape(), "; must be [.., m, n] and [.., k] with m >= n >= k"),
                a.at());
  }
  return as_program("linalg::householder_product", a.at(), [&]() -> std::vector<Located> {
    if (a.tensor().size() == 0 || k == 0) return {identity(a, batch_of(a), m, n)};
    return {lapack("orgqr", {a, taus}, {a.tensor().shape()}, "{}")[0]};
  })[0];
}

}  // namespace heddle::linalg
