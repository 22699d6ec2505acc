#include "heddle/interpreter/linalg/internal/reflectors.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "heddle/interpreter/linalg/internal/dense.h"

namespace heddle::interpreter::linalg {
namespace {

template <class T>
auto sequence(const Reflectors<T>& q) {
  return Eigen::HouseholderSequence<Eigen::Map<const Dense<T>>, Eigen::Map<const Vector<T>>>(
             map(q.packed), map(q.tau))
      .setLength(static_cast<int64_t>(q.tau.size()))
      .setShift(q.shift);
}

// Eigen squares elements, which must not overflow: it is given the matrix times `factor`, and what
// it packs above the vectors is to be divided by that.
template <class T>
void scale_other_factor(Reflectors<T>& q, double factor) {
  if (factor == 1) return;
  for (int64_t j = 0; j < q.packed.columns(); ++j) {
    for (int64_t i = 0; i < std::min(q.packed.rows(), j + q.shift + 1); ++i)
      q.packed(i, j) *= factor;
  }
}

}  // namespace

template <class T>
Matrix<T> times(const Reflectors<T>& q, const Matrix<T>& c) {
  return matrix_of<T>(sequence(q) * map(c));
}

template <class T>
Matrix<T> times_adjoint(const Reflectors<T>& q, const Matrix<T>& c) {
  return matrix_of<T>(sequence(q).adjoint() * map(c));
}

template <class T>
Matrix<T> columns_of(const Reflectors<T>& q, int64_t columns) {
  return matrix_of<T>(sequence(q) * Dense<T>::Identity(q.packed.rows(), columns));
}

template <class T>
Matrix<T> other_factor(const Reflectors<T>& q, int64_t rows) {
  Matrix<T> out(rows, q.packed.columns());
  for (int64_t j = 0; j < q.packed.columns(); ++j) {
    for (int64_t i = 0; i < std::min(rows, j + q.shift + 1); ++i) out(i, j) = q.packed(i, j);
  }
  return out;
}

template <class T>
Reflectors<T> qr(Matrix<T> a) {
  Reflectors<T> out{std::move(a), {}};
  if (out.packed.values().empty()) return out;
  const double factor = scale_for(out.packed);
  scale(out.packed, factor);
  Eigen::Ref<Dense<T>> in_place = map(out.packed);
  out.tau =
      vector_of<T>(Eigen::HouseholderQR<Eigen::Ref<Dense<T>>>(in_place).hCoeffs().conjugate());
  scale_other_factor(out, 1 / factor);
  return out;
}

namespace {

// QR with pivots of the rows and columns from (row, column) on; what is above moves with its
// column.
template <class T>
void factor_by_norms(PivotedQR<T>& out, int64_t row, int64_t column) {
  auto all = map(out.q.packed);
  auto free = all.bottomRightCorner(all.rows() - row, all.cols() - column);
  if (free.size() == 0) return;
  const Eigen::ColPivHouseholderQR<Dense<T>> found(free);
  free = found.matrixQR();
  all.topRightCorner(row, all.cols() - column) *= found.colsPermutation();
  const std::vector<int64_t> before = out.order;
  for (int64_t j = 0; j < free.cols(); ++j) {
    out.order[static_cast<size_t>(column + j)] =
        before[static_cast<size_t>(column + found.colsPermutation().indices()[j])];
  }
  const std::vector<T> tau = vector_of<T>(found.hCoeffs().conjugate());
  out.q.tau.insert(out.q.tau.end(), tau.begin(), tau.end());
}

}  // namespace

template <class T>
PivotedQR<T> pivoted_qr(Matrix<T> a, const std::vector<bool>& fixed) {
  const double factor = scale_for(a);
  scale(a, factor);
  PivotedQR<T> out;
  for (int64_t j = 0; j < a.columns(); ++j) out.order.push_back(j);
  int64_t front = 0;
  for (int64_t j = 0; j < a.columns(); ++j) {
    if (!fixed[static_cast<size_t>(j)]) continue;
    a.swap_columns(front, j);
    std::swap(out.order[static_cast<size_t>(front++)], out.order[static_cast<size_t>(j)]);
  }
  out.q = qr(columns_of(a, 0, front));
  const Matrix<T> rest = times_adjoint(out.q, columns_of(a, front, a.columns() - front));
  std::ranges::copy(rest.values(), a.column(0).begin() + front * a.rows());
  out.q.packed = with_corner(std::move(a), out.q.packed);
  factor_by_norms(out, static_cast<int64_t>(out.q.tau.size()), front);
  scale_other_factor(out.q, 1 / factor);
  return out;
}

namespace {

// Of no fewer rows than columns: column and row by turns.
template <class T>
Bidiagonal<T> bidiagonalise_tall(Matrix<T> a) {
  const int64_t m = a.rows(), n = a.columns();
  auto left = map(a);
  Matrix<T> rows(n, std::max<int64_t>(n - 1, 0));  // what is made of a's rows, as columns
  auto right = map(rows);
  Bidiagonal<T> out;
  Vector<T> space(std::max(m, n));
  T tau;
  double beta = 0;
  for (int64_t i = 0; i < n; ++i) {
    auto column = left.col(i).tail(m - i);
    column.makeHouseholderInPlace(tau, beta);
    left.bottomRightCorner(m - i, n - i - 1)
        .applyHouseholderOnTheLeft(column.tail(m - i - 1), tau, space.data());
    out.d.push_back(beta);
    out.q.tau.push_back(conjugate(tau));
    if (i + 1 == n) break;
    auto row = right.col(i).tail(n - i - 1);
    row = left.row(i).tail(n - i - 1).adjoint();
    row.makeHouseholderInPlace(tau, beta);
    left.bottomRightCorner(m - i - 1, n - i - 1)
        .applyHouseholderOnTheRight(row.tail(n - i - 2), conjugate(tau), space.data());
    out.e.push_back(beta);
    out.p.tau.push_back(conjugate(tau));
  }
  out.q.packed = std::move(a);
  out.p.packed = std::move(rows);
  out.p.shift = 1;
  return out;
}

}  // namespace

template <class T>
Bidiagonal<T> bidiagonalise(Matrix<T> a) {
  if (a.rows() >= a.columns()) return bidiagonalise_tall(std::move(a));
  Bidiagonal<T> out = bidiagonalise_tall(adjoint(a));
  std::swap(out.q, out.p);
  out.lower = true;
  return out;
}

template <class T>
Tridiagonal<T> tridiagonalise(Matrix<T> a) {
  if (a.rows() == 0) return {{std::move(a), {}, 1}, {}, {}};
  const double factor = scale_for(a);
  scale(a, factor);
  const Eigen::Tridiagonalization<Dense<T>> found(map(a));
  Tridiagonal<T> out;
  out.q = {matrix_of<T>(found.packedMatrix()),
           vector_of<T>(found.householderCoefficients().head(a.rows() - 1).conjugate()), 1};
  scale_other_factor(out.q, 1 / factor);
  out.d = vector_of<double>(map(out.q.packed).diagonal().real());
  for (int64_t i = 0; i < a.rows(); ++i)
    out.q.packed(i, i) = out.d[static_cast<size_t>(i)];  // no imaginary roundings
  out.e = vector_of<double>(map(out.q.packed).template diagonal<-1>().real());
  return out;
}

template <class T>
Reflectors<T> hessenberg(Matrix<T> a, int64_t low, int64_t high) {
  const int64_t n = a.rows(), size = high - low;
  Reflectors<T> out{std::move(a), std::vector<T>(static_cast<size_t>(std::max<int64_t>(n - 1, 0))),
                    1};
  if (size < 2) return out;
  const double factor = scale_for(out.packed);
  scale(out.packed, factor);
  auto all = map(out.packed);
  const Eigen::HessenbergDecomposition<Dense<T>> found(all.block(low, low, size, size));
  all.block(low, low, size, size) = found.packedMatrix();
  all.block(0, low, low, size).applyOnTheRight(found.matrixQ());
  all.block(low, high, size, n - high).applyOnTheLeft(found.matrixQ().adjoint());
  std::ranges::copy(vector_of<T>(found.householderCoefficients().conjugate()),
                    out.tau.begin() + low);
  scale_other_factor(out, 1 / factor);
  return out;
}

#define HEDDLE_INSTANTIATE(T)                                               \
  template Matrix<T> times(const Reflectors<T>&, const Matrix<T>&);         \
  template Matrix<T> times_adjoint(const Reflectors<T>&, const Matrix<T>&); \
  template Matrix<T> columns_of(const Reflectors<T>&, int64_t);             \
  template Matrix<T> other_factor(const Reflectors<T>&, int64_t);           \
  template Reflectors<T> qr(Matrix<T>);                                     \
  template PivotedQR<T> pivoted_qr(Matrix<T>, const std::vector<bool>&);    \
  template Bidiagonal<T> bidiagonalise(Matrix<T>);                          \
  template Tridiagonal<T> tridiagonalise(Matrix<T>);                        \
  template Reflectors<T> hessenberg(Matrix<T>, int64_t, int64_t);
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(Complex)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::interpreter::linalg
