// Targets that factor a matrix or solve with one. Operands and results are those of JAX's calls;
// `info` is LAPACK's.
#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/reflectors.h"
#include "heddle/interpreter/linalg/internal/solve.h"

namespace heddle::interpreter::linalg {
namespace {

Status check_square(const Batch& batch, size_t i) {
  if (batch.rows(i) == batch.columns(i)) return {};
  return batch.call().error("operand ", i, " is ", batch.call()[i].shape(),
                            "; its last two dimensions must be equal");
}

// potrf(a), uplo: (L or U in its triangle of a, info).
template <class T>
StatusOr<Literal> potrf(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_square(batch, 0));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  const int64_t n = batch.rows(0);
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {n, n}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    batch.put_info(1, at, cholesky(a, uplo == 'L'));
    batch.put(0, at, a);
  }
  return std::move(batch).finish();
}

// getrf(a): (L and U, pivot rows counted from 1, info).
template <class T>
StatusOr<Literal> getrf(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  const int64_t m = batch.rows(0), n = batch.columns(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(s32, {std::min(m, n)}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<int64_t> pivots;
    batch.put_info(2, at, lu(a, pivots));
    for (int64_t& pivot : pivots) ++pivot;
    batch.put(1, at, pivots);
    batch.put(0, at, a);
  }
  return std::move(batch).finish();
}

// geqrf(a): (R with the reflectors below it, tau).
template <class T>
StatusOr<Literal> geqrf(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  const int64_t m = batch.rows(0), n = batch.columns(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(dtype, {std::min(m, n)})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Reflectors<T> factors = qr(batch.matrix<T>(0, at));
    batch.put(0, at, factors.packed);
    batch.put(1, at, factors.tau);
  }
  return std::move(batch).finish();
}

// geqp3(a, jpvt): (R with the reflectors, columns in their new order counted from 1, tau). Columns
// whose jpvt is not 0 come first.
template <class T>
StatusOr<Literal> geqp3(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(1, s32, 1));
  const int64_t m = batch.rows(0), n = batch.columns(0);
  if (batch.columns(1) != n)
    return call.error("jpvt is ", call[1].shape(), "; must have ", n, " elements, one a column");
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(s32, {n}), Shape(dtype, {std::min(m, n)})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    std::vector<bool> fixed;
    for (int64_t each : batch.vector<int64_t>(1, at)) fixed.push_back(each != 0);
    PivotedQR<T> factors = pivoted_qr(batch.matrix<T>(0, at), fixed);
    for (int64_t& column : factors.order) ++column;
    batch.put(0, at, factors.q.packed);
    batch.put(1, at, factors.order);
    batch.put(2, at, factors.q.tau);
  }
  return std::move(batch).finish();
}

// orgqr(a, tau): the first n columns of Q, from what geqrf gives.
template <class T>
StatusOr<Literal> orgqr(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(1, dtype, 1));
  const int64_t m = batch.rows(0), n = batch.columns(0), k = batch.columns(1);
  if (m < n || n < k) {
    return call.error(
        "operands are ", call[0].shape(), " and ", call[1].shape(),
        "; must have at least as many rows as columns, and as many columns as reflectors");
  }
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Reflectors<T> q{batch.matrix<T>(0, at), batch.vector<T>(1, at)};
    batch.put(0, at, columns_of(q, n));
  }
  return std::move(batch).finish();
}

// ormqr(a, tau, c), left, transpose: Q c, Q^H c, c Q or c Q^H, with Q from what geqrf gives.
template <class T>
StatusOr<Literal> ormqr(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(3));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(1, dtype, 1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(2, dtype, 2));
  HEDDLE_ASSIGN_OR_RETURN(const bool left, call.boolean("left"));
  HEDDLE_ASSIGN_OR_RETURN(const bool transposed, call.boolean("transpose"));
  const int64_t m = batch.rows(2), n = batch.columns(2), k = batch.columns(1);
  if (batch.rows(0) != (left ? m : n) || batch.columns(0) < k || batch.rows(0) < k) {
    return call.error("operands are ", call[0].shape(), ", ", call[1].shape(), " and ",
                      call[2].shape(), "; a must have as many rows as c has ",
                      left ? "rows" : "columns", ", and no fewer columns than tau has elements");
  }
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Reflectors<T> q{batch.matrix<T>(0, at), batch.vector<T>(1, at)};
    const Matrix<T> c = batch.matrix<T>(2, at);
    const Matrix<T> given = left ? c : adjoint(c);  // c Q = (Q^H c^H)^H
    const Matrix<T> product = left == transposed ? times_adjoint(q, given) : times(q, given);
    batch.put(0, at, left ? product : adjoint(product));
  }
  return std::move(batch).finish();
}

StatusOr<Triangular> triangular_form(const Batch& batch) {
  HEDDLE_ASSIGN_OR_RETURN(const char side, batch.character("side", "LR"));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  HEDDLE_ASSIGN_OR_RETURN(const char transposed, batch.character("trans_x", "NTC"));
  HEDDLE_ASSIGN_OR_RETURN(const char diagonal, batch.character("diag", "NU"));
  return Triangular{.left = side == 'L',
                    .lower = uplo == 'L',
                    .unit_diagonal = diagonal == 'U',
                    .transposed = transposed == 'N'   ? Transposed::kNo
                                  : transposed == 'T' ? Transposed::kYes
                                                      : Transposed::kConjugate,
                    .by_reciprocal = true};
}

template <class T>
void scale_by(Matrix<T>& b, T alpha) {
  for (T& x : b.values()) x *= alpha;
}

template <class T>
T scalar(const Literal& literal) {
  return read_matrix<T>(Literal(literal).reshaped(Shape(literal.shape().dtype(), {1, 1})), 0)(0, 0);
}

// trsm(a, b), side, uplo, trans_x, diag: x with op(a) x = b or x op(a) = b. Newer programs give a
// scalar factor of b, alpha, too.
template <class T>
StatusOr<Literal> trsm(CustomCall& call, DType dtype) {
  Batch batch(call);
  if (call.size() != 3) HEDDLE_RETURN_IF_ERROR(call.check_size(2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(1, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_square(batch, 0));
  HEDDLE_ASSIGN_OR_RETURN(const Triangular form, triangular_form(batch));
  const int64_t m = batch.rows(1), n = batch.columns(1);
  if ((form.left ? m : n) != batch.rows(0)) {
    return call.error("b is ", call[1].shape(), "; its ", form.left ? "rows" : "columns",
                      " must be as many as those of a, ", call[0].shape());
  }
  if (call.size() == 3 && !call[2].shape().is_scalar(dtype))
    return call.error("alpha is ", call[2].shape(), "; must be ", dtype, "[]");
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> b = batch.matrix<T>(1, at);
    if (call.size() == 3) scale_by(b, scalar<T>(call[2]));
    solve_triangular(form, batch.matrix<T>(0, at), b);
    batch.put(0, at, b);
  }
  return std::move(batch).finish();
}

// gtsv(dl, d, du, b): (the diagonals of U, x, info). dl[0] and du[n-1] are not looked at.
template <class T>
StatusOr<Literal> gtsv(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(4));
  for (size_t i = 0; i < 3; ++i) HEDDLE_RETURN_IF_ERROR(batch.check_operand(i, dtype, 1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(3, dtype, 2));
  const int64_t n = batch.columns(1), columns = batch.columns(3);
  if (batch.columns(0) != n || batch.columns(2) != n || batch.rows(3) != n) {
    return call.error("operands are ", call[0].shape(), ", ", call[1].shape(), ", ",
                      call[2].shape(), " and ", call[3].shape(),
                      "; all must have the length of d, and b as many rows");
  }
  const Shape diagonal(dtype, {n});
  HEDDLE_RETURN_IF_ERROR(batch.check_results(
      {diagonal, diagonal, diagonal, Shape(dtype, {n, columns}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    std::vector<T> below = batch.vector<T>(0, at), middle = batch.vector<T>(1, at),
                   above = batch.vector<T>(2, at);
    Matrix<T> b = batch.matrix<T>(3, at);
    const size_t couplings = n > 0 ? static_cast<size_t>(n - 1) : 0;
    const std::span<T> lower = std::span<T>(below).last(couplings);
    batch.put_info(
        4, at,
        solve_tridiagonal(lower, std::span<T>(middle), std::span<T>(above).first(couplings), b));
    batch.put(0, at, below);
    batch.put(1, at, middle);
    batch.put(2, at, above);
    batch.put(3, at, b);
  }
  return std::move(batch).finish();
}

// gehrd(a), low, high (counted from 1): (H with the reflectors below it, tau, info).
template <class T>
StatusOr<Literal> gehrd(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_square(batch, 0));
  HEDDLE_ASSIGN_OR_RETURN(const int64_t low, call.integer("low"));
  HEDDLE_ASSIGN_OR_RETURN(const int64_t high, call.integer("high"));
  const int64_t n = batch.rows(0);
  if (low < 1 || high > n || low > high + 1) {
    return call.error("low is ", low, " and high ", high, "; must be in [1, ", n,
                      "], low not above high");
  }
  const int64_t couplings = std::max<int64_t>(n - 1, 0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(dtype, {couplings}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Reflectors<T> reduced = hessenberg(batch.matrix<T>(0, at), low - 1, high);
    batch.put(0, at, reduced.packed);
    batch.put(1, at, reduced.tau);
    batch.put_info(2, at, 0);
  }
  return std::move(batch).finish();
}

// `from` in the given triangle, diagonal included, and the rest of a in the other.
template <class T>
Matrix<T> with_triangle(Matrix<T> a, const Matrix<T>& from, bool lower) {
  for (int64_t j = 0; j < a.columns(); ++j) {
    for (int64_t i = 0; i < a.rows(); ++i) {
      if (lower ? i >= j : i <= j) a(i, j) = from(i, j);
    }
  }
  return a;
}

// LAPACK works from the last row up on a matrix given by its upper triangle: as it does downwards
// on the one with its rows and columns reversed.
template <class T>
Tridiagonal<T> tridiagonalise_upward(const Matrix<T>& a) {
  Tridiagonal<T> out = tridiagonalise(reversed(a));
  out.q.packed = reversed(out.q.packed);
  std::ranges::reverse(out.q.tau);
  std::ranges::reverse(out.d);
  std::ranges::reverse(out.e);
  return out;
}

// sytrd(a), uplo: (T and the reflectors in its triangle of a, diagonal, off-diagonal, tau, info).
template <class T>
StatusOr<Literal> sytrd(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_square(batch, 0));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  const int64_t n = batch.rows(0), couplings = std::max<int64_t>(n - 1, 0);
  const DType real = real_part(dtype);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(real, {n}), Shape(real, {couplings}),
                           Shape(dtype, {couplings}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Matrix<T> a = batch.matrix<T>(0, at), whole = hermitian(a, uplo == 'L');
    const Tridiagonal<T> reduced =
        uplo == 'L' ? tridiagonalise(whole) : tridiagonalise_upward(whole);
    batch.put(0, at, with_triangle(a, reduced.q.packed, uplo == 'L'));
    batch.put(3, at, reduced.q.tau);
    batch.put(1, at, reduced.d);
    batch.put(2, at, reduced.e);
    batch.put_info(4, at, 0);
  }
  return std::move(batch).finish();
}

constexpr LapackRoutine kRoutines[] = {
    {"gehrd", gehrd<double>, gehrd<Complex>},
    {"geqp3", geqp3<double>, geqp3<Complex>},
    {"geqrf", geqrf<double>, geqrf<Complex>},
    {"getrf", getrf<double>, getrf<Complex>, getrf<float>, getrf<SingleComplex>},
    {"gtsv", gtsv<double>, gtsv<Complex>, gtsv<float>},
    {"hetrd", nullptr, sytrd<Complex>},
    {"orgqr", orgqr<double>, nullptr},
    {"ormqr", ormqr<double>, nullptr},
    {"potrf", potrf<double>, potrf<Complex>, potrf<float>},
    {"sytrd", sytrd<double>, nullptr},
    {"trsm", trsm<double>, trsm<Complex>, trsm<float>, trsm<SingleComplex>},
    {"ungqr", nullptr, orgqr<Complex>},
    {"unmqr", nullptr, ormqr<Complex>},
};

}  // namespace

std::span<const LapackRoutine> lapack_factors() { return kRoutines; }

}  // namespace heddle::interpreter::linalg
