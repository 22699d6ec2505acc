// Targets that find eigenvalues and singular values. Operands and results are those of JAX's calls;
// `info` is 0, or not where the iteration did not converge or the matrix is not finite (then all is
// NaN; LAPACK itself may not return).
#include <array>
#include <limits>

#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/fortran.h"
#include "heddle/interpreter/linalg/internal/lapack.h"

namespace heddle::interpreter::linalg {
namespace {

template <class T>
constexpr bool kIsReal = std::is_same_v<T, Real<T>>;

template <class T>
std::vector<T> all_nan(int64_t size) {
  return std::vector<T>(static_cast<size_t>(size), T(std::numeric_limits<Real<T>>::quiet_NaN()));
}
template <class T>
std::vector<T> vector_of(int64_t size) {
  return std::vector<T>(static_cast<size_t>(size));
}

// Workspace grows by the square of the smaller size, and LAPACK counts it in an Int.
StatusOr<Batch> checked_batch(CustomCall& call) {
  const Shape& a = call[0].shape();
  const int64_t m = a.dimension(a.rank() - 2), n = a.dimension(a.rank() - 1);
  if (std::min(m, n) < (1 << 14) && std::max(m, n) < (1 << 24) && m * n < (1 << 30))
    return Batch(call);
  return call.error("operand 0 is ", a, "; LAPACK counts its workspace in 32 bits");
}

// a = U diag(s) V^H. Without vectors, those are zeros.
template <class T>
struct Svd {
  Matrix<T> u;
  std::vector<Real<T>> s;
  Matrix<T> vh;
  Int info = 0;
};

template <class T>
void run_gesdd(Matrix<T> a, char mode, Svd<T>& out) {
  const auto m = static_cast<Int>(a.rows()), n = static_cast<Int>(a.columns());
  const int64_t least = std::min(m, n), most = std::max(m, n);
  std::vector<Int> integers = vector_of<Int>(8 * least);
  std::vector<Real<T>> reals;
  if (!kIsReal<T>) reals.resize(static_cast<size_t>(least * (2 * most + 5 * least + 7)));
  with_workspace<T>([&](T* work, Int size) {
    const auto call = [&](auto&... rest) {
      call_fortran(lapack()->gesdd.of<T>(), mode, m, n, a, stride_of(a), out.s, out.u,
                   stride_of(out.u), out.vh, stride_of(out.vh), work, size, rest...);
    };
    if constexpr (kIsReal<T>) call(integers, out.info);
    if constexpr (!kIsReal<T>) call(reals, integers, out.info);
  });
}

template <class T>
void run_gesvd(Matrix<T> a, char mode, Svd<T>& out) {
  const auto m = static_cast<Int>(a.rows()), n = static_cast<Int>(a.columns());
  std::vector<Real<T>> reals = vector_of<Real<T>>(5 * std::min(m, n));
  with_workspace<T>([&](T* work, Int size) {
    const auto call = [&](auto&... rest) {
      call_fortran(lapack()->gesvd.of<T>(), mode, mode, m, n, a, stride_of(a), out.s, out.u,
                   stride_of(out.u), out.vh, stride_of(out.vh), work, size, rest...);
    };
    if constexpr (kIsReal<T>) call(out.info);
    if constexpr (!kIsReal<T>) call(reals, out.info);
  });
}

// With `u_columns` columns of U and `v_columns` of V: all of them, or those that belong to values.
template <class T>
Svd<T> svd(const Matrix<T>& a, char mode, int64_t u_columns, int64_t v_columns,
           void (*routine)(Matrix<T>, char, Svd<T>&)) {
  const int64_t m = a.rows(), n = a.columns(), size = std::min(m, n);
  Svd<T> out{Matrix<T>(m, u_columns), vector_of<Real<T>>(size), Matrix<T>(v_columns, n)};
  if (size == 0) {
    if (mode == 'A') return {Matrix<T>::identity(m, m), {}, Matrix<T>::identity(n, n)};
    return out;
  }
  if (all_finite(a)) {
    routine(a, mode, out);
    return out;
  }
  fill_nan(out.u);
  fill_nan(out.vh);
  return {std::move(out.u), all_nan<Real<T>>(size), std::move(out.vh), 1};
}

// gesdd(a), mode A (all of U and V), S (as much as the values need) or N (none): (a, s, U, V^H,
// info).
template <class T>
StatusOr<Literal> svd_of(CustomCall& call, void (*routine)(Matrix<T>, char, Svd<T>&)) {
  HEDDLE_ASSIGN_OR_RETURN(Batch batch, checked_batch(call));
  const char mode = batch.letter("mode");
  return std::move(batch).each([&](int64_t at) {
    const Matrix<T> a = batch.matrix<T>(0, at);
    const Svd<T> found = svd(a, mode, batch.result_columns(2), batch.result_rows(3), routine);
    batch.put_all(at, a, found.s, found.u, found.vh, found.info);
  });
}

template <class T>
StatusOr<Literal> gesdd(CustomCall& call) {
  return svd_of<T>(call, run_gesdd<T>);
}
template <class T>
StatusOr<Literal> gesvd(CustomCall& call) {
  return svd_of<T>(call, run_gesvd<T>);
}

// In place: the eigenvectors, or, with mode N, nothing of meaning.
template <class T>
Int run_syevd(char mode, char uplo, Matrix<T>& a, std::vector<Real<T>>& values) {
  const auto n = static_cast<Int>(a.rows());
  Int info = 0;
  std::vector<Int> integers = vector_of<Int>(3 + 5 * n);
  const auto integer_size = static_cast<Int>(integers.size());
  std::vector<Real<T>> reals;
  if (!kIsReal<T>) reals.resize(static_cast<size_t>(1 + 5 * n + 2 * n * n));
  with_workspace<T>([&](T* work, Int size) {
    const auto call = [&](auto&... rest) {
      call_fortran(lapack()->syevd.of<T>(), mode, uplo, n, a, stride_of(a), values, work, size,
                   rest...);
    };
    auto real_size = static_cast<Int>(reals.size());
    if constexpr (kIsReal<T>) call(integers, integer_size, info);
    if constexpr (!kIsReal<T>) call(reals, real_size, integers, integer_size, info);
  });
  return info;
}

// syevd(a), uplo, mode V or N: (eigenvectors, eigenvalues, info).
template <class T>
StatusOr<Literal> syevd(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(Batch batch, checked_batch(call));
  const char uplo = batch.letter("uplo"), mode = batch.letter("mode");
  return std::move(batch).each([&](int64_t at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Real<T>> values = all_nan<Real<T>>(a.rows());
    Int info = 1;
    if (all_finite(hermitian(a, uplo == 'L'))) {
      info = run_syevd(mode, uplo, a, values);
    } else {
      fill_nan(a);
    }
    batch.put_all(at, a, values, info);
  });
}

// Eigenvalues are one result of a complex matrix, and two, their parts, of a real one.
template <class T>
using Values = std::array<std::vector<T>, kIsReal<T> ? 2 : 1>;

template <class T>
Values<T> values_of(std::vector<T> each) {
  Values<T> out;
  out.fill(std::move(each));
  return out;
}

// The vectors of a real matrix's eigenvalues: two columns hold real and imaginary parts of the
// first vector of a pair. Where geev failed they mean nothing.
template <class T>
Matrix<std::complex<Real<T>>> complex_vectors(const Matrix<T>& vectors, const Values<T>& values) {
  if constexpr (!kIsReal<T>) return vectors;
  if constexpr (kIsReal<T>) {
    const int64_t n = vectors.rows();
    Matrix<std::complex<T>> out(n, n);
    for (int64_t j = 0; j < n; ++j) {
      const bool is_pair = j + 1 < n && values[1][static_cast<size_t>(j)] > 0;
      for (int64_t i = 0; i < n; ++i) {
        out(i, j) = {vectors(i, j), is_pair ? vectors(i, j + 1) : T(0)};
        if (is_pair) out(i, j + 1) = std::conj(out(i, j));
      }
      if (is_pair) ++j;
    }
    return out;
  }
}

template <class T>
struct Eigenpairs {
  Values<T> values;
  Matrix<T> left, right;
  Int info = 0;
};

template <class T>
Eigenpairs<T> eigenpairs(Matrix<T> a, char left, char right) {
  const auto n = static_cast<Int>(a.rows());
  Eigenpairs<T> out{values_of(all_nan<T>(n)), Matrix<T>(n, n), Matrix<T>(n, n), 1};
  if (!all_finite(a)) {
    for (Matrix<T>* each : {&out.left, &out.right}) fill_nan(*each);
    return out;
  }
  std::vector<Real<T>> reals = vector_of<Real<T>>(2 * n);
  with_workspace<T>([&](T* work, Int size) {
    const auto call = [&](auto&... values) {
      return [&](auto&... rest) {
        call_fortran(lapack()->geev.of<T>(), left, right, n, a, stride_of(a), values..., out.left,
                     stride_of(out.left), out.right, stride_of(out.right), work, size, rest...);
      };
    };
    if constexpr (kIsReal<T>) call(out.values[0], out.values[1])(out.info);
    if constexpr (!kIsReal<T>) call(out.values[0])(reals, out.info);
  });
  return out;
}

template <class T>
size_t put_values(Batch& batch, size_t k, int64_t at, const Values<T>& values) {
  for (const std::vector<T>& each : values) batch.put(k++, at, each);
  return k;
}

// geev(a), compute_left, compute_right, each V or N: (eigenvalues, left eigenvectors, right
// eigenvectors, info). Vectors that are not asked for are zeros.
template <class T>
StatusOr<Literal> geev(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(Batch batch, checked_batch(call));
  const char left = batch.letter("compute_left"), right = batch.letter("compute_right");
  return std::move(batch).each([&](int64_t at) {
    const Eigenpairs<T> found = eigenpairs(batch.matrix<T>(0, at), left, right);
    const size_t next = put_values<T>(batch, 0, at, found.values);
    if (left == 'V') batch.put(next, at, complex_vectors(found.left, found.values));
    if (right == 'V') batch.put(next + 1, at, complex_vectors(found.right, found.values));
    batch.put(next + 2, at, found.info);
  });
}

template <class T>
struct Schur {
  Matrix<T> t, z;
  Values<T> values;
  Int info = 0;
};

template <class T>
Schur<T> schur_of(Matrix<T> a, char mode) {
  const auto n = static_cast<Int>(a.rows());
  Schur<T> out{std::move(a), Matrix<T>(n, n), values_of(all_nan<T>(n)), 1};
  if (!all_finite(out.t)) {
    for (Matrix<T>* each : {&out.t, &out.z}) fill_nan(*each);
    return out;
  }
  Int selected = 0;
  void* const no_selector = nullptr;
  std::vector<Real<T>> reals = vector_of<Real<T>>(n);
  std::vector<Int> booleans = vector_of<Int>(n);
  with_workspace<T>([&](T* work, Int size) {
    const auto call = [&](auto&... values) {
      return [&](auto&... rest) {
        call_fortran(lapack()->gees.of<T>(), mode, 'N', no_selector, n, out.t, stride_of(out.t),
                     selected, values..., out.z, stride_of(out.z), work, size, rest..., booleans,
                     out.info);
      };
    };
    if constexpr (kIsReal<T>) call(out.values[0], out.values[1])();
    if constexpr (!kIsReal<T>) call(out.values[0])(reals);
  });
  return out;
}

// gees(a), mode V or N, sort N: (T, Z, eigenvalues, number of those selected, info).
template <class T>
StatusOr<Literal> gees(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(Batch batch, checked_batch(call));
  const char mode = batch.letter("mode");
  return std::move(batch).each([&](int64_t at) {
    const Schur<T> found = schur_of(batch.matrix<T>(0, at), mode);
    batch.put_all(at, found.t, found.z);
    const size_t next = put_values<T>(batch, 2, at, found.values);
    batch.put(next, at, Int{0});
    batch.put(next + 1, at, found.info);
  });
}

// In LAPACK's own types: after how many steps an iteration ends, and with it the signs of vectors,
// follows from the precision.
constexpr LapackRoutine kValueRoutines[] = {
    {"gees", gees<float>, gees<double>, gees<SingleComplex>, gees<Complex>},
    {"geev", geev<float>, geev<double>, geev<SingleComplex>, geev<Complex>},
    {"gesdd", gesdd<float>, gesdd<double>, gesdd<SingleComplex>, gesdd<Complex>},
    {"gesvd", gesvd<float>, gesvd<double>, gesvd<SingleComplex>, gesvd<Complex>},
    {"heevd", nullptr, nullptr, syevd<SingleComplex>, syevd<Complex>},
    {"syevd", syevd<float>, syevd<double>},
};

}  // namespace

std::span<const LapackRoutine> lapack_values() { return kValueRoutines; }

}  // namespace heddle::interpreter::linalg
