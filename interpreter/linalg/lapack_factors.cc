// Targets that factor a matrix or solve with one. Operands and results are those of JAX's calls;
// `info` is LAPACK's.
#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/fortran.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
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
  const Int n = batch.rows(0);
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
  const Int m = batch.rows(0), n = batch.columns(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(s32, {std::min(m, n)}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Int> pivots;
    batch.put_info(2, at, lu(a, pivots));
    for (Int& pivot : pivots) ++pivot;
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
  const Int m = batch.rows(0), n = batch.columns(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(dtype, {std::min(m, n)})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(std::min(m, n)));
    Workspace<T> work(n);
    Int info = 0;
    call_fortran(kGeqrf.of<T>(), m, n, a, stride_of(a), tau, work, work.size(), info);
    batch.put(0, at, a);
    batch.put(1, at, tau);
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
  const Int m = batch.rows(0), n = batch.columns(0);
  if (batch.columns(1) != n)
    return call.error("jpvt is ", call[1].shape(), "; must have ", n, " elements, one a column");
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {m, n}), Shape(s32, {n}), Shape(dtype, {std::min(m, n)})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Int> order = batch.vector<Int>(1, at);
    std::vector<T> tau(static_cast<size_t>(std::min(m, n)));
    Workspace<T> work(n);
    Workspace<Real<T>> norms(n);
    Int info = 0;
    if constexpr (std::is_same_v<T, Real<T>>) {
      call_fortran(kGeqp3.of<T>(), m, n, a, stride_of(a), order, tau, work, work.size(), info);
    } else {
      call_fortran(kGeqp3.of<T>(), m, n, a, stride_of(a), order, tau, work, work.size(), norms,
                   info);
    }
    batch.put(0, at, a);
    batch.put(1, at, order);
    batch.put(2, at, tau);
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
  const Int m = batch.rows(0), n = batch.columns(0), k = batch.columns(1);
  if (m < n || n < k) {
    return call.error(
        "operands are ", call[0].shape(), " and ", call[1].shape(),
        "; must have at least as many rows as columns, and as many columns as reflectors");
  }
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    const std::vector<T> tau = batch.vector<T>(1, at);
    Workspace<T> work(n);
    Int info = 0;
    call_fortran(kOrgqr.of<T>(), m, n, k, a, stride_of(a), tau, work, work.size(), info);
    batch.put(0, at, a);
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
  const Int m = batch.rows(2), n = batch.columns(2), k = batch.columns(1);
  if (batch.rows(0) != (left ? m : n) || batch.columns(0) < k || batch.rows(0) < k) {
    return call.error("operands are ", call[0].shape(), ", ", call[1].shape(), " and ",
                      call[2].shape(), "; a must have as many rows as c has ",
                      left ? "rows" : "columns", ", and no fewer columns than tau has elements");
  }
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n})}));
  const char adjoint = std::is_same_v<T, Real<T>> ? 'T' : 'C';
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    const std::vector<T> tau = batch.vector<T>(1, at);
    Matrix<T> c = batch.matrix<T>(2, at);
    Workspace<T> work(left ? n : m);
    Int info = 0;
    call_fortran(kOrmqr.of<T>(), left ? 'L' : 'R', transposed ? adjoint : 'N', m, n, k, a,
                 stride_of(a), tau, c, stride_of(c), work, work.size(), info);
    batch.put(0, at, c);
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
  const Int m = batch.rows(1), n = batch.columns(1);
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
  const Int n = batch.columns(1), columns = batch.columns(3);
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
    Int info = 0;
    call_fortran(kGtsv.of<T>(), n, columns, below.data() + (n > 0 ? 1 : 0), middle, above, b,
                 stride_of(b), info);
    batch.put_info(4, at, info);
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
  const Int n = batch.rows(0);
  if (low < 1 || high > n || low > high + 1) {
    return call.error("low is ", low, " and high ", high, "; must be in [1, ", n,
                      "], low not above high");
  }
  const Int couplings = std::max(n - 1, 0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(dtype, {couplings}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(couplings));
    Workspace<T> work(n);
    Int info = 0;
    call_fortran(kGehrd.of<T>(), n, static_cast<Int>(low), static_cast<Int>(high), a, stride_of(a),
                 tau, work, work.size(), info);
    batch.put(0, at, a);
    batch.put(1, at, tau);
    batch.put_info(2, at, info);
  }
  return std::move(batch).finish();
}

// sytrd(a), uplo: (T and the reflectors in its triangle of a, diagonal, off-diagonal, tau, info).
template <class T>
StatusOr<Literal> sytrd(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_square(batch, 0));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  const Int n = batch.rows(0), couplings = std::max(n - 1, 0);
  const DType real = real_part(dtype);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(real, {n}), Shape(real, {couplings}),
                           Shape(dtype, {couplings}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(couplings));
    std::vector<Real<T>> diagonal(static_cast<size_t>(n)), beside(tau.size());
    Workspace<T> work(n);
    Int info = 0;
    call_fortran(kSytrd.of<T>(), uplo, n, a, stride_of(a), diagonal, beside, tau, work, work.size(),
                 info);
    batch.put(0, at, a);
    batch.put(1, at, diagonal);
    batch.put(2, at, beside);
    batch.put(3, at, tau);
    batch.put_info(4, at, info);
  }
  return std::move(batch).finish();
}

constexpr LapackRoutine kRoutines[] = {
    {"gehrd", gehrd<float>, gehrd<double>, gehrd<SingleComplex>, gehrd<Complex>},
    {"geqp3", geqp3<float>, geqp3<double>, geqp3<SingleComplex>, geqp3<Complex>},
    {"geqrf", geqrf<float>, geqrf<double>, geqrf<SingleComplex>, geqrf<Complex>},
    {"getrf", getrf<float>, getrf<double>, getrf<SingleComplex>, getrf<Complex>},
    {"gtsv", gtsv<float>, gtsv<double>, gtsv<SingleComplex>, gtsv<Complex>},
    {"hetrd", nullptr, nullptr, sytrd<SingleComplex>, sytrd<Complex>},
    {"orgqr", orgqr<float>, orgqr<double>},
    {"ormqr", ormqr<float>, ormqr<double>},
    {"potrf", potrf<float>, potrf<double>, potrf<Complex>, potrf<Complex>},
    {"sytrd", sytrd<float>, sytrd<double>},
    {"trsm", trsm<float>, trsm<double>, trsm<SingleComplex>, trsm<Complex>},
    {"ungqr", nullptr, nullptr, orgqr<SingleComplex>, orgqr<Complex>},
    {"unmqr", nullptr, nullptr, ormqr<SingleComplex>, ormqr<Complex>},
};

}  // namespace

std::span<const LapackRoutine> lapack_factors() { return kRoutines; }

}  // namespace heddle::interpreter::linalg
