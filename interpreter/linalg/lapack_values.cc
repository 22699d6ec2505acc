// Targets that find eigenvalues and singular values. Operands and results are those of JAX's calls;
// `info` is 0, or not where the iteration did not converge or the matrix is not finite (then all is
// NaN).
#include <limits>

#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/schur.h"
#include "heddle/interpreter/linalg/internal/singular.h"
#include "heddle/interpreter/linalg/internal/symmetric.h"

namespace heddle::interpreter::linalg {
namespace {

Precision precision_of(DType dtype) {
  return real_part(dtype) == f32 ? Precision::kSingle : Precision::kDouble;
}

// Operand 0 is all that there is, a batch of square matrices.
Status check_one_square(Batch& batch, DType dtype) {
  HEDDLE_RETURN_IF_ERROR(batch.call().check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
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

// gesdd(a), mode A (all of U and V), S (as much as the values need) or N (none): (a, s, U, V^H,
// info).
template <class T>
StatusOr<Literal> svd_of(CustomCall& call, DType dtype, SvdRoutine routine) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_ASSIGN_OR_RETURN(const char mode, batch.character("mode", "ASN"));
  const int64_t m = batch.rows(0), n = batch.columns(0), size = std::min(m, n);
  const bool full = mode == 'A' || (mode == 'N' && declares_full(call, m, n));
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {m, n}), Shape(real_part(dtype), {size}),
                                              Shape(dtype, {m, full ? m : size}),
                                              Shape(dtype, {full ? n : size, n}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const Matrix<T> a = batch.matrix<T>(0, at);
    const Svd<T> found = svd(a, full, routine, precision_of(dtype));
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
  return svd_of<T>(call, dtype, SvdRoutine::kGesdd);
}
template <class T>
StatusOr<Literal> gesvd(CustomCall& call, DType dtype) {
  return svd_of<T>(call, dtype, SvdRoutine::kGesvd);
}

// syevd(a), uplo, mode V or N: (eigenvectors, eigenvalues, info).
template <class T>
StatusOr<Literal> syevd(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(check_one_square(batch, dtype));
  HEDDLE_ASSIGN_OR_RETURN(const char uplo, batch.character("uplo", "LU"));
  HEDDLE_RETURN_IF_ERROR(batch.character("mode", "VN").status());
  const int64_t n = batch.rows(0);
  HEDDLE_RETURN_IF_ERROR(
      batch.check_results({Shape(dtype, {n, n}), Shape(real_part(dtype), {n}), info_shape()}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const HermitianEigen<T> found =
        hermitian_eigen(batch.matrix<T>(0, at), uplo == 'L', precision_of(dtype));
    batch.put(0, at, found.vectors);
    batch.put(1, at, found.values);
    batch.put_info(2, at, found.info);
  }
  return std::move(batch).finish();
}

std::vector<double> real_parts(const std::vector<Complex>& values) {
  std::vector<double> out;
  for (const Complex& value : values) out.push_back(value.real());
  return out;
}
std::vector<double> imaginary_parts(const std::vector<Complex>& values) {
  std::vector<double> out;
  for (const Complex& value : values) out.push_back(value.imag());
  return out;
}

// Eigenvalues are one result of a complex matrix, and two, their parts, of a real one.
template <class T>
void add_values(std::vector<Shape>& results, DType dtype, int64_t n) {
  results.insert(results.end(), std::is_same_v<T, double> ? 2 : 1, Shape(dtype, {n}));
}
template <class T>
size_t put_values(Batch& batch, size_t k, int64_t at, const std::vector<Complex>& values) {
  if (std::is_same_v<T, Complex>) {
    batch.put(k, at, values);
    return k + 1;
  }
  batch.put(k, at, real_parts(values));
  batch.put(k + 1, at, imaginary_parts(values));
  return k + 2;
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
    const Eigenpairs<T> found =
        eigenpairs(batch.matrix<T>(0, at), left == 'V', right == 'V', precision_of(dtype));
    const size_t next = put_values<T>(batch, 0, at, found.values);
    if (left == 'V') batch.put(next, at, found.left);
    if (right == 'V') batch.put(next + 1, at, found.right);
    batch.put_info(next + 2, at, found.info);
  }
  return std::move(batch).finish();
}

template <class T>
Schur<T> schur_of(Matrix<T> a, Precision precision) {
  const int64_t n = a.rows();
  if (!all_finite(a)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {all_nan<T>(n, n), all_nan<T>(n, n),
            std::vector<Complex>(static_cast<size_t>(n), Complex(nan, nan)), 1};
  }
  const double factor = scale_for(a);
  scale(a, factor);
  const Balance balanced = balance(a, false);
  Schur<T> out = schur(std::move(a), balanced.low, balanced.high, precision);
  undo_balance(balanced, false, out.z);
  scale(out.t, 1 / factor);
  for (Complex& value : out.values) value /= factor;
  return out;
}

// gees(a), mode V or N, sort N: (T, Z, eigenvalues, number of those selected, info).
template <class T>
StatusOr<Literal> gees(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(check_one_square(batch, dtype));
  HEDDLE_RETURN_IF_ERROR(batch.character("mode", "VN").status());
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
    const Schur<T> found = schur_of(batch.matrix<T>(0, at), precision_of(dtype));
    batch.put(0, at, found.t);
    batch.put(1, at, found.z);
    const size_t next = put_values<T>(batch, 2, at, found.values);
    batch.put_info(next, at, 0);
    batch.put_info(next + 1, at, found.info);
  }
  return std::move(batch).finish();
}

constexpr LapackRoutine kRoutines[] = {
    {"gees", gees<double>, gees<Complex>},    {"geev", geev<double>, geev<Complex>},
    {"gesdd", gesdd<double>, gesdd<Complex>}, {"gesvd", gesvd<double>, gesvd<Complex>},
    {"heevd", nullptr, syevd<Complex>},       {"syevd", syevd<double>, nullptr},
};

}  // namespace

std::span<const LapackRoutine> lapack_values() { return kRoutines; }

}  // namespace heddle::interpreter::linalg
