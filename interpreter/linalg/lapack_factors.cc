// Targets that factor a matrix or solve with one. Operands and results are those of JAX's calls;
// `info` is LAPACK's. XLA itself writes and expands xla::Qr and
// xla::ProductOfElementaryHouseholderReflectors, which do as LAPACK's do: signs, packing.
#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/fortran.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/solve.h"

namespace heddle::interpreter::linalg {
namespace {

// potrf(a), uplo: (L or U in its triangle of a, info).
template <class T>
StatusOr<Literal> potrf(CustomCall& call) {
  Batch batch(call);
  const bool is_lower = batch.letter("uplo") == 'L';
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    const Int info = cholesky(a, is_lower);
    batch.put_all(at, a, info);
  });
}

// getrf(a): (L and U, pivot rows counted from 1, info).
template <class T>
StatusOr<Literal> getrf(CustomCall& call) {
  Batch batch(call);
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Int> pivots;
    const Int info = lu(a, pivots);
    for (Int& pivot : pivots) ++pivot;
    batch.put_all(at, a, pivots, info);
  });
}

// geqrf(a): (R with the reflectors below it, tau).
template <class T>
StatusOr<Literal> geqrf(CustomCall& call) {
  Batch batch(call);
  const Int m = batch.rows(0), n = batch.columns(0);
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, n, std::min(m, n)));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(std::min(m, n)));
    Int info = 0;
    call_fortran(lapack()->geqrf.of<T>(), m, n, a, stride_of(a), tau, work, size_of(work), info);
    batch.put_all(at, a, tau);
  });
}

// geqp3(a, jpvt): (R with the reflectors, columns in their new order counted from 1, tau). Columns
// whose jpvt is not 0 come first.
template <class T>
StatusOr<Literal> geqp3(CustomCall& call) {
  Batch batch(call);
  const Int m = batch.rows(0), n = batch.columns(0);
  // Three columns at least; blocks take two for norms.
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, n, int64_t{std::min(m, n)} + 3));
  std::vector<Real<T>> norms(std::is_same_v<T, Real<T>> ? 0 : 2 * static_cast<size_t>(n));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Int> order = batch.vector<Int>(1, at);
    std::vector<T> tau(static_cast<size_t>(std::min(m, n)));
    Int info = 0;
    if constexpr (std::is_same_v<T, Real<T>>) {
      call_fortran(lapack()->geqp3.of<T>(), m, n, a, stride_of(a), order, tau, work, size_of(work),
                   info);
    } else {
      call_fortran(lapack()->geqp3.of<T>(), m, n, a, stride_of(a), order, tau, work, size_of(work),
                   norms, info);
    }
    batch.put_all(at, a, order, tau);
  });
}

// orgqr(a, tau): the first n columns of Q, from what geqrf gives.
template <class T>
StatusOr<Literal> orgqr(CustomCall& call) {
  Batch batch(call);
  const Int m = batch.rows(0), n = batch.columns(0), k = batch.columns(1);
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, n, k));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    const std::vector<T> tau = batch.vector<T>(1, at);
    Int info = 0;
    call_fortran(lapack()->orgqr.of<T>(), m, n, k, a, stride_of(a), tau, work, size_of(work), info);
    batch.put(0, at, a);
  });
}

// ormqr(a, tau, c), left, transpose: Q c, Q^H c, c Q or c Q^H, with Q from what geqrf gives.
template <class T>
StatusOr<Literal> ormqr(CustomCall& call) {
  Batch batch(call);
  const bool left = batch.boolean("left"), transposed = batch.boolean("transpose");
  const Int m = batch.rows(2), n = batch.columns(2), k = batch.columns(1);
  const char adjoint = std::is_same_v<T, Real<T>> ? 'T' : 'C';
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, left ? n : m, k));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    const std::vector<T> tau = batch.vector<T>(1, at);
    Matrix<T> c = batch.matrix<T>(2, at);
    Int info = 0;
    call_fortran(lapack()->ormqr.of<T>(), left ? 'L' : 'R', transposed ? adjoint : 'N', m, n, k, a,
                 stride_of(a), tau, c, stride_of(c), work, size_of(work), info);
    batch.put(0, at, c);
  });
}

Triangular triangular_form(const Batch& batch) {
  const char transposed = batch.letter("trans_x");
  return {.left = batch.letter("side") == 'L',
          .lower = batch.letter("uplo") == 'L',
          .unit_diagonal = batch.letter("diag") == 'U',
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
StatusOr<Literal> trsm(CustomCall& call) {
  Batch batch(call);
  const Triangular form = triangular_form(batch);
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> b = batch.matrix<T>(1, at);
    if (call.size() == 3) scale_by(b, scalar<T>(call[2]));
    solve_triangular(form, batch.matrix<T>(0, at), b);
    batch.put(0, at, b);
  });
}

// gtsv(dl, d, du, b): (the diagonals of U, x, info). dl[0] and du[n-1] are not looked at.
template <class T>
StatusOr<Literal> gtsv(CustomCall& call) {
  Batch batch(call, 1);
  const Int n = batch.columns(1), columns = batch.columns(3);
  return std::move(batch).each([&](int64_t at) {
    std::vector<T> below = batch.vector<T>(0, at), middle = batch.vector<T>(1, at),
                   above = batch.vector<T>(2, at);
    Matrix<T> b = batch.matrix<T>(3, at);
    Int info = 0;
    call_fortran(lapack()->gtsv.of<T>(), n, columns, below.data() + (n > 0 ? 1 : 0), middle, above,
                 b, stride_of(b), info);
    batch.put_all(at, below, middle, above, b, info);
  });
}

// gehrd(a), low, high (counted from 1): (H with the reflectors below it, tau, info).
template <class T>
StatusOr<Literal> gehrd(CustomCall& call) {
  Batch batch(call);
  const Int low = batch.integer("low"), high = batch.integer("high");
  const Int n = batch.rows(0), couplings = std::max(n - 1, 0);
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, n, n));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(couplings));
    Int info = 0;
    call_fortran(lapack()->gehrd.of<T>(), n, low, high, a, stride_of(a), tau, work, size_of(work),
                 info);
    batch.put_all(at, a, tau, info);
  });
}

// sytrd(a), uplo: (T and the reflectors in its triangle of a, diagonal, off-diagonal, tau, info).
template <class T>
StatusOr<Literal> sytrd(CustomCall& call) {
  Batch batch(call);
  const char uplo = batch.letter("uplo");
  const Int n = batch.rows(0), couplings = std::max(n - 1, 0);
  HEDDLE_ASSIGN_OR_RETURN(std::vector<T> work, workspace<T>(call, n, n));
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<T> tau(static_cast<size_t>(couplings));
    std::vector<Real<T>> diagonal(static_cast<size_t>(n)), beside(tau.size());
    Int info = 0;
    call_fortran(lapack()->sytrd.of<T>(), uplo, n, a, stride_of(a), diagonal, beside, tau, work,
                 size_of(work), info);
    batch.put_all(at, a, diagonal, beside, tau, info);
  });
}

constexpr LapackRoutine kFactorRoutines[] = {
    in_double("ProductOfElementaryHouseholderReflectors", orgqr<double>, orgqr<Complex>),
    in_double("Qr", geqrf<double>, geqrf<Complex>),
    in_double("gehrd", gehrd<double>, gehrd<Complex>),
    in_double("geqp3", geqp3<double>, geqp3<Complex>),
    in_double("geqrf", geqrf<double>, geqrf<Complex>),
    {"getrf", getrf<float>, getrf<double>, getrf<SingleComplex>, getrf<Complex>, true},
    {"gtsv", gtsv<float>, gtsv<double>, gtsv<SingleComplex>, gtsv<Complex>},
    in_double("hetrd", nullptr, sytrd<Complex>),
    in_double("orgqr", orgqr<double>, nullptr),
    in_double("ormqr", ormqr<double>, nullptr),
    {"potrf", potrf<float>, potrf<double>, potrf<Complex>, potrf<Complex>, true},
    in_double("sytrd", sytrd<double>, nullptr),
    {"trsm", trsm<float>, trsm<double>, trsm<SingleComplex>, trsm<Complex>, true},
    in_double("ungqr", nullptr, orgqr<Complex>),
    in_double("unmqr", nullptr, ormqr<Complex>),
};

}  // namespace

std::span<const LapackRoutine> lapack_factors() { return kFactorRoutines; }

}  // namespace heddle::interpreter::linalg
