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
Status check_workspace(const Batch& batch) {
  const int64_t m = batch.rows(0), n = batch.columns(0);
  if (std::min(m, n) < (1 << 14) && std::max(m, n) < (1 << 24) && m * n < (1 << 30)) return {};
  return batch.call().error("operand 0 is ", batch.call()[0].shape(),
                            "; LAPACK counts its workspace in 32 bits");
}

// Operand 0 is all that there is, a batch of square matrices.
Status check_one_square(Batch& batch, DType dtype) {
  HEDDLE_RETURN_IF_ERROR(batch.call().check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_workspace(batch));
  if (batch.rows(0) == batch.columns(0)) return {};
  return batch.call().error("operand 0 is ", batch.call()[0].shape(),
                            "; its last two dimensions must be equal");
}

// Without vectors, programs declare either size for them: `full` where both that are declared
// are square (one of them is in any case).
bool declares_full(const CustomCall& call, int64_t rows, int64_t columns) {
  const Shape& result = call.result();
  if (!result.is_tuple() || result.element_shapes() != 5) return false;
  const Shape &u = result.element(2), &vh = result.element(3);
  if (!u.is_array() || u.rank() < 2 || !vh.is_array() || vh.rank() < 2) return false;
  return u.dimension(u.rank() - 1) == rows && vh.dimension(vh.rank() - 2) == columns;
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
      call_fortran(kGesdd.of<T>(), mode, m, n, a, stride_of(a), out.s, out.u, stride_of(out.u),
                   out.vh, stride_of(out.vh), work, size, rest...);
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
      call_fortran(kGesvd.of<T>(), mode, mode, m, n, a, stride_of(a), out.s, out.u,
                   stride_of(out.u), out.vh, stride_of(out.vh), work, size, rest...);
    };
    if constexpr (kIsReal<T>) call(out.info);
    if constexpr (!kIsReal<T>) call(reals, out.info);
  });
}

// `full`: all of U and V, not only the columns that belong to values.
template <class T>
Svd<T> svd(const Matrix<T>& a, char mode, bool full, void (*routine)(Matrix<T>, char, Svd<T>&)) {
  const int64_t m = a.rows(), n = a.columns(), size = std::min(m, n);
  Svd<T> out{Matrix<T>(m, full ? m : size), vector_of<Real<T>>(size),
             Matrix<T>(full ? n : size, n)};
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
StatusOr<Literal> svd_of(CustomCall& call, DType dtype, void (*routine)(Matrix<T>, char, Svd<T>&)) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_RETURN_IF_ERROR(check_workspace(batch));
  HEDDLE_ASSIGN_OR_RETURN(const char mode, batch.character("mode", "ASN"));
  const int64_t m = batch.rows(0), n = batch.columns(0), size = std::min(m, n);
  const bool full = mode == 'A' || (mode == 'N' && declares_full(call, m, n));
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n}), Shape(real_part(dtype), {size}),
                                              Shape(dtype, {m, full ? m : size}),
                                              Shape(dtype, {full ? n : size, n}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Matrix<T> a = batch.matrix<T>(0, at);
    const Svd<T> found = svd(a, mode, full, routine);
    batch.put(0, at, a);
    batch.put(1, at, found.s);
    batch.put(2, at, found.u);
    batch.put(3, at, found.vh);
    batch.put_info(4, at, found.info);
  }
  return std::move(batch).finish();
}

template <class T>
StatusOr<Literal> gesdd(CustomCall& call, DType dtype) {
  return svd_of<T>(call, dtype, run_gesdd<T>);
}
template <class T>
StatusOr<Literal> gesvd(CustomCall& call, DType dtype) {
  return svd_of<T>(call, dtype, run_gesvd<T>);
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
      call_fortran(kSyevd.of<T>(), mode, uplo, n, a, stride_of(a), values, work, size, rest...);
    };
    auto real_size = static_cast<Int>(reals.size());
    if constexpr (kIsReal<T>) call(integers, integer_size, info);
    if constexpr (!kIsReal<T>) call(reals, real_size, integers, integer_size, info);
  });
  return info;
}

// syevd(a), uplo, mode V or N: (eigenvectors, eigenvalues, info).
template <class T>
StatusOr<Literal> syevd(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(check_one_square(batch, dtype));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  HEDDLE_ASSIGN_OR_RETURN(const char mode, batch.character("mode", "VN"));
  const int64_t n = batch.rows(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(real_part(dtype), {n}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    Matrix<T> a = batch.matrix<T>(0, at);
    std::vector<Real<T>> values = all_nan<Real<T>>(n);
    Int info = 1;
    if (all_finite(hermitian(a, uplo == 'L'))) {
      info = run_syevd(mode, uplo, a, values);
    } else {
      fill_nan(a);
    }
    batch.put(0, at, a);
    batch.put(1, at, values);
    batch.put_info(2, at, info);
  }
  return std::move(batch).finish();
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
Matrix<std::complex<Real<T>>> unpacked(const Matrix<T>& vectors, const Values<T>& values) {
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
        call_fortran(kGeev.of<T>(), left, right, n, a, stride_of(a), values..., out.left,
                     stride_of(out.left), out.right, stride_of(out.right), work, size, rest...);
      };
    };
    if constexpr (kIsReal<T>) call(out.values[0], out.values[1])(out.info);
    if constexpr (!kIsReal<T>) call(out.values[0])(reals, out.info);
  });
  return out;
}

template <class T>
void add_values(std::vector<Shape>& results, DType dtype, int64_t n) {
  results.insert(results.end(), std::tuple_size_v<Values<T>>, Shape(dtype, {n}));
}
template <class T>
size_t put_values(Batch& batch, size_t k, int64_t at, const Values<T>& values) {
  for (const std::vector<T>& each : values) batch.put(k++, at, each);
  return k;
}

// geev(a), compute_left, compute_right, each V or N: (eigenvalues, left eigenvectors, right
// eigenvectors, info). Vectors that are not asked for are zeros.
template <class T>
StatusOr<Literal> geev(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(check_one_square(batch, dtype));
  HEDDLE_ASSIGN_OR_RETURN(const char left, batch.character("compute_left", "VN"));
  HEDDLE_ASSIGN_OR_RETURN(const char right, batch.character("compute_right", "VN"));
  const int64_t n = batch.rows(0);
  const Shape vectors(real_part(dtype) == f32 ? c64 : c128, {n, n});
  std::vector<Shape> results;
  add_values<T>(results, dtype, n);
  results.insert(results.end(), {vectors, vectors, info_shape()});
  HEDDLE_RETURN_IF_ERROR(batch.check_results(results));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Eigenpairs<T> found = eigenpairs(batch.matrix<T>(0, at), left, right);
    const size_t next = put_values<T>(batch, 0, at, found.values);
    if (left == 'V') batch.put(next, at, unpacked(found.left, found.values));
    if (right == 'V') batch.put(next + 1, at, unpacked(found.right, found.values));
    batch.put_info(next + 2, at, found.info);
  }
  return std::move(batch).finish();
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
        call_fortran(kGees.of<T>(), mode, 'N', no_selector, n, out.t, stride_of(out.t), selected,
                     values..., out.z, stride_of(out.z), work, size, rest..., booleans, out.info);
      };
    };
    if constexpr (kIsReal<T>) call(out.values[0], out.values[1])();
    if constexpr (!kIsReal<T>) call(out.values[0])(reals);
  });
  return out;
}

// gees(a), mode V or N, sort N: (T, Z, eigenvalues, number of those selected, info).
template <class T>
StatusOr<Literal> gees(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(check_one_square(batch, dtype));
  HEDDLE_ASSIGN_OR_RETURN(const char mode, batch.character("mode", "VN"));
  HEDDLE_ASSIGN_OR_RETURN(const char sort, batch.character("sort", "NS"));
  if (sort == 'S')
    return base::unimplemented(
        "custom-call: ", call.target(),
        ": sort = S, and the call does not say which eigenvalues come first; must "
        "be N (jaxlib refuses S too)");
  const int64_t n = batch.rows(0);
  std::vector<Shape> results = {Shape(dtype, {n, n}), Shape(dtype, {n, n})};
  add_values<T>(results, dtype, n);
  results.insert(results.end(), {info_shape(), info_shape()});
  HEDDLE_RETURN_IF_ERROR(batch.check_results(results));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Schur<T> found = schur_of(batch.matrix<T>(0, at), mode);
    batch.put(0, at, found.t);
    batch.put(1, at, found.z);
    const size_t next = put_values<T>(batch, 2, at, found.values);
    batch.put_info(next, at, 0);
    batch.put_info(next + 1, at, found.info);
  }
  return std::move(batch).finish();
}

constexpr LapackRoutine kRoutines[] = {
    {"gees", gees<float>, gees<double>, gees<SingleComplex>, gees<Complex>},
    {"geev", geev<float>, geev<double>, geev<SingleComplex>, geev<Complex>},
    {"gesdd", gesdd<float>, gesdd<double>, gesdd<SingleComplex>, gesdd<Complex>},
    {"gesvd", gesvd<float>, gesvd<double>, gesvd<SingleComplex>, gesvd<Complex>},
    {"heevd", nullptr, nullptr, syevd<SingleComplex>, syevd<Complex>},
    {"syevd", syevd<float>, syevd<double>},
};

}  // namespace

std::span<const LapackRoutine> lapack_values() { return kRoutines; }

}  // namespace heddle::interpreter::linalg
