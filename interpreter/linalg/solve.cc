#include "heddle/interpreter/linalg/internal/solve.h"

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <type_traits>

namespace heddle::interpreter::linalg {
namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

// In place.
template <class T>
Eigen::Map<Dense<T>> map(Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}
template <class T>
Eigen::Map<const Dense<T>> map(const Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}

template <class T>
auto size_of(const T& x) {
  return std::abs(real_of(x)) + std::abs(imag_of(x));
}

// The kernels under LAPACK fuse one of the two products of each part with their sum; in the
// imaginary part the order of the factors counts. That and what follows was fitted to OpenBLAS's
// results: complex LU of up to 4 rows has its bits, and triangular solves of up to 8, of real f32
// of any number of rows.
SingleComplex fused_product(SingleComplex x, SingleComplex y) {
  return {std::fma(x.real(), y.real(), -(x.imag() * y.imag())),
          std::fma(x.real(), y.imag(), x.imag() * y.real())};
}

// a + x y: of real numbers rounded once, as the kernels under LAPACK do it.
template <class T>
T plus_product(T a, T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return std::fma(x, y, a);
  if constexpr (std::is_same_v<T, SingleComplex>) return a + fused_product(x, y);
  if constexpr (std::is_same_v<T, Complex>) return a + x * y;
}

// 1 / x: of complex f32 by Smith's rule, with the sum of squares rounded once or twice.
template <class T>
T reciprocal(T x, bool is_fused) {
  if constexpr (!std::is_same_v<T, SingleComplex>) return T(1) / x;
  if constexpr (std::is_same_v<T, SingleComplex>) {
    const bool by_real = std::abs(x.real()) >= std::abs(x.imag());
    const float greater = by_real ? x.real() : x.imag(), less = by_real ? x.imag() : x.real();
    const float ratio = less / greater;
    const float squares = is_fused ? std::fma(ratio, ratio, 1.0F) : 1.0F + ratio * ratio;
    const float scale = 1.0F / (greater * squares);
    return by_real ? T(scale, -ratio * scale) : T(ratio * scale, -scale);
  }
}

// By the reciprocal of a pivot.
template <class T>
T divided(T x, T factor) {
  if constexpr (!std::is_same_v<T, SingleComplex>) return x * factor;
  if constexpr (std::is_same_v<T, SingleComplex>) {
    return {x.real() * factor.real() - x.imag() * factor.imag(),
            x.real() * factor.imag() + x.imag() * factor.real()};
  }
}

// Whether 1 / x may be infinite: LAPACK's sfmin is the least normal number.
template <class T>
bool is_tiny(const T& x) {
  const auto size = std::abs(x);
  return size > 0 && size < std::numeric_limits<decltype(std::abs(x))>::min();
}

// Column j below its pivot, over it: as LAPACK's getrf2.
template <class T>
void divide_below(Matrix<T>& a, int64_t j) {
  const T pivot = a(j, j);
  const bool divides = is_tiny(pivot);
  const T factor = reciprocal(pivot, false);
  for (int64_t i = j + 1; i < a.rows(); ++i)
    a(i, j) = divides ? a(i, j) / pivot : divided(a(i, j), factor);
}

// The terms [from, to) of row i of a times column j, summed in order: with one rounding a term, or
// with two.
template <class T>
T fused_dot(const Matrix<T>& a, int64_t i, int64_t j, int64_t from, int64_t to) {
  T sum{};
  for (int64_t k = from; k < to; ++k) sum = plus_product(sum, a(i, k), a(k, j));
  return sum;
}
template <class T>
T plain_dot(const Matrix<T>& a, int64_t i, int64_t j, int64_t from, int64_t to) {
  T sum{};
  for (int64_t k = from; k < to; ++k) sum += a(i, k) * a(k, j);
  return sum;
}

template <class T>
int64_t find_pivot(const Matrix<T>& a, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < a.rows(); ++i) {
    if (size_of(a(i, k)) > size_of(a(best, k))) best = i;
  }
  return best;
}

// Swaps rows [from, to) with their pivots, in order, in the columns [first, last).
template <class T>
void swap_rows(Matrix<T>& a, const std::vector<Int>& pivots, int64_t from, int64_t to,
               int64_t first, int64_t last) {
  for (int64_t j = first; j < last; ++j) {
    for (int64_t i = from; i < to; ++i) std::swap(a(i, j), a(pivots[static_cast<size_t>(i)], j));
  }
}

// Column j of L and U, from the columns [first, j).
template <class T>
void reduce_column(Matrix<T>& a, int64_t first, int64_t j) {
  for (int64_t i = first + 1; i < std::min(j, a.rows()); ++i) {
    if constexpr (std::is_same_v<T, SingleComplex>) {
      for (int64_t k = first; k < i; ++k) a(i, j) -= fused_product(a(k, j), a(i, k));
    } else {
      a(i, j) -= plain_dot(a, i, j, first, i);
    }
  }
  for (int64_t i = j; i < a.rows(); ++i) a(i, j) -= fused_dot(a, i, j, first, j);
}

// As lu_of(), column by column.
template <class T>
int lu_by_columns(Matrix<T>& a, int64_t first, int64_t last, std::vector<Int>& pivots) {
  int info = 0;
  for (int64_t j = first; j < last; ++j) {
    swap_rows(a, pivots, first, std::ssize(pivots), j, j + 1);
    reduce_column(a, first, j);
    if (j >= a.rows()) continue;
    const int64_t pivot = find_pivot(a, j);
    pivots.push_back(static_cast<Int>(pivot));
    if (a(pivot, j) == T(0)) {
      if (info == 0) info = static_cast<int>(j + 1);
      continue;
    }
    for (int64_t k = first; k <= j; ++k) std::swap(a(j, k), a(pivot, k));
    divide_below(a, j);
  }
  return info;
}

// Blocks of no more columns are ours, beyond them is Eigen: pivots, info and, of the few columns
// that have them, bits are LAPACK's. Eigen's own LU takes complex pivots by |x|.
constexpr int64_t kLuColumns = 16;

// L and U of the columns [first, last) from row `first` on, whose rows are swapped in these columns
// alone.
template <class T>
int lu_of(Matrix<T>& a, int64_t first, int64_t last, std::vector<Int>& pivots) {
  if (first >= a.rows()) return 0;
  if (last - first <= kLuColumns) return lu_by_columns(a, first, last, pivots);
  const int64_t middle = std::min((first + last) / 2, a.rows()), size = middle - first;
  const int info = lu_of(a, first, middle, pivots);
  swap_rows(a, pivots, first, middle, middle, last);
  auto right = map(a).middleCols(middle, last - middle);
  auto upper = right.middleRows(first, size);
  map(a)
      .block(first, first, size, size)
      .template triangularView<Eigen::UnitLower>()
      .solveInPlace(upper);
  right.bottomRows(a.rows() - middle).noalias() -=
      map(a).block(middle, first, a.rows() - middle, size) * upper;
  const int info_of_rest = lu_of(a, middle, last, pivots);
  swap_rows(a, pivots, middle, std::ssize(pivots), first, middle);
  return info != 0 ? info : info_of_rest;
}

}  // namespace

template <class T>
int lu(Matrix<T>& a, std::vector<Int>& pivots) {
  pivots.clear();
  return lu_of(a, 0, a.columns(), pivots);
}

namespace {

// L in the rows and columns [first, last), of what the columns before them left there.
template <class T>
int cholesky_by_columns(Matrix<T>& a, int64_t first, int64_t last) {
  for (int64_t j = first; j < last; ++j) {
    T sum{};
    for (int64_t k = first; k < j; ++k) sum += a(j, k) * conjugate(a(j, k));
    const auto square = real_of(a(j, j)) - real_of(sum);
    a(j, j) = T(square);
    if (!(square > 0)) return static_cast<int>(j + 1);
    const auto pivot = std::sqrt(square);
    a(j, j) = T(pivot);
    const T factor = T(1) / T(pivot);
    for (int64_t i = j + 1; i < last; ++i) {
      T known{};
      for (int64_t k = first; k < j; ++k) known = plus_product(known, a(i, k), conjugate(a(j, k)));
      a(i, j) = (a(i, j) - known) * factor;
    }
  }
  return 0;
}

// Of so many columns f32 has LAPACK's bits, or nearly. Eigen's own Cholesky says neither which
// pivot is not positive nor that one is NaN.
constexpr int64_t kCholeskyColumns = 32;

template <class T>
int lower_cholesky(Matrix<T>& a) {
  const int64_t n = a.rows();
  for (int64_t first = 0; first < n; first += kCholeskyColumns) {
    const int64_t last = std::min(first + kCholeskyColumns, n), size = last - first;
    const int info = cholesky_by_columns(a, first, last);
    if (info != 0 || last == n) return info;
    auto below = map(a).block(last, first, n - last, size);
    Dense<T> solved = below.adjoint();
    map(a)
        .block(first, first, size, size)
        .template triangularView<Eigen::Lower>()
        .solveInPlace(solved);
    below = solved.adjoint();
    map(a)
        .bottomRightCorner(n - last, n - last)
        .template selfadjointView<Eigen::Lower>()
        .rankUpdate(below, T(-1));
  }
  return 0;
}

}  // namespace

template <class T>
int cholesky(Matrix<T>& a, bool lower) {
  if (lower) return lower_cholesky(a);
  Matrix<T> mirrored = adjoint(a);  // U's rows are the adjoints of L's columns
  const int info = lower_cholesky(mirrored);
  for (int64_t j = 0; j < a.columns(); ++j) {
    for (int64_t i = 0; i <= j; ++i) a(i, j) = conjugate(mirrored(j, i));
  }
  return info;
}

namespace {

// sum + l x, one rounding a product: what the kernels sum over the rows that are known.
template <class T>
T accumulated(T sum, T l, T x) {
  if constexpr (!std::is_same_v<T, SingleComplex>) return plus_product(sum, l, x);
  if constexpr (std::is_same_v<T, SingleComplex>) {
    return {std::fma(l.real(), x.real(), std::fma(-l.imag(), x.imag(), sum.real())),
            std::fma(l.imag(), x.real(), std::fma(l.real(), x.imag(), sum.imag()))};
  }
}

// Unknowns that the kernels under LAPACK solve for together: first they are rid of all that are
// known, by one sum each, then of each other, one by one.
struct Block {
  int64_t first = 0, last = 0;
};

// 0 .. n-1 in blocks of a size, behind them what is left in blocks of 8, 4, 2 and 1; in the order
// of solving: down, or, not `lower`, up.
std::vector<Block> blocks_of(int64_t n, int64_t size, bool lower) {
  std::vector<Block> out;
  int64_t first = 0;
  for (; size > 1; size /= 2) {
    for (; n - first >= size; first += size) out.push_back({first, first + size});
  }
  for (; first < n; ++first) out.push_back({first, first + 1});
  if (!lower) std::ranges::reverse(out);
  return out;
}

template <class T>
class TriangularSystem {
 public:
  TriangularSystem(const Triangular& form, const Matrix<T>& a, Matrix<T>& b)
      : form_(form), a_(a), b_(b) {}

  void solve() {
    const int64_t n = a_.rows(), count = form_.left ? b_.columns() : b_.rows();
    for (const Block& block : blocks()) {
      for (int64_t j = 0; j < count; ++j) {
        if (lower_) take_known(block, 0, block.first, j);
        if (!lower_) take_known(block, block.last, n, j);
        solve_block(block, j);
      }
    }
  }

 private:
  // Of f32, those of OpenBLAS, which its results show for a matrix on the left; else one.
  [[nodiscard]] std::vector<Block> blocks() const {
    const int64_t n = a_.rows();
    if (form_.left && std::is_same_v<T, float>) return blocks_of(n, 16, lower_);
    if (form_.left && std::is_same_v<T, SingleComplex>) return blocks_of(n, 8, lower_);
    return {{0, n}};
  }

  [[nodiscard]] T coefficient(int64_t i, int64_t k) const {
    const T value = flip_ ? a_(k, i) : a_(i, k);
    return form_.transposed == Transposed::kConjugate ? conjugate(value) : value;
  }
  T& unknown(int64_t i, int64_t j) { return form_.left ? b_(i, j) : b_(j, i); }

  [[nodiscard]] T quotient(T x, T by) const {
    if (!form_.by_reciprocal || is_tiny(by)) return x / by;
    if constexpr (std::is_same_v<T, SingleComplex>) return fused_product(reciprocal(by, true), x);
    return x * (T(1) / by);
  }

  void take_known(const Block& block, int64_t from, int64_t to, int64_t j) {
    if (from == to) return;
    for (int64_t i = block.first; i < block.last; ++i) {
      T sum{};
      for (int64_t k = from; k < to; ++k) sum = accumulated(sum, coefficient(i, k), unknown(k, j));
      unknown(i, j) -= sum;
    }
  }

  void solve_block(const Block& block, int64_t j) {
    for (int64_t step = 0; step < block.last - block.first; ++step) {
      const int64_t k = lower_ ? block.first + step : block.last - 1 - step;
      if (!form_.unit_diagonal) unknown(k, j) = quotient(unknown(k, j), coefficient(k, k));
      const T x = unknown(k, j);
      for (int64_t i = lower_ ? k + 1 : block.first; i < (lower_ ? block.last : k); ++i)
        unknown(i, j) = plus_product(unknown(i, j), x, -coefficient(i, k));
    }
  }

  const Triangular& form_;
  const Matrix<T>& a_;
  Matrix<T>& b_;
  // x op(a) = b is op(a)^T x^T = b^T: the rows of b are what is solved for, by the transposed
  // coefficients.
  const bool flip_ = (form_.transposed != Transposed::kNo) == form_.left;
  const bool lower_ = form_.lower != flip_;
};

// Up to so many unknowns are solved for in the order of the kernels under LAPACK, where that gives
// its bits; more by Eigen.
template <class T>
constexpr int64_t kOrderedUnknowns = std::is_same_v<T, float> ? 64 : 16;

// Whether reciprocals of the diagonal, by which Eigen multiplies, may be infinite. The ordered
// loops divide there; they take n^2 steps for each right side.
template <class T>
bool has_tiny_diagonal(const Matrix<T>& a) {
  for (int64_t i = 0; i < a.rows(); ++i) {
    if (is_tiny(a(i, i))) return true;
  }
  return false;
}

template <class T>
void solve_by_eigen(const Triangular& form, const Matrix<T>& a, Matrix<T>& b) {
  const bool flip = (form.transposed != Transposed::kNo) == form.left;  // as in TriangularSystem
  Dense<T> coefficients = map(a);
  if (flip) coefficients.transposeInPlace();
  if (form.transposed == Transposed::kConjugate) coefficients = coefficients.conjugate().eval();
  if (form.unit_diagonal) coefficients.diagonal().setOnes();
  Dense<T> x = map(b);
  if (!form.left) x.transposeInPlace();
  if (form.lower != flip) coefficients.template triangularView<Eigen::Lower>().solveInPlace(x);
  if (form.lower == flip) coefficients.template triangularView<Eigen::Upper>().solveInPlace(x);
  if (!form.left) x.transposeInPlace();
  map(b) = x;
}

}  // namespace

template <class T>
void solve_triangular(const Triangular& form, const Matrix<T>& a, Matrix<T>& b) {
  if (a.rows() > kOrderedUnknowns<T> && (form.unit_diagonal || !has_tiny_diagonal(a))) {
    solve_by_eigen(form, a, b);
  } else {
    TriangularSystem<T>(form, a, b).solve();
  }
}

#define HEDDLE_INSTANTIATE(T)                     \
  template int lu(Matrix<T>&, std::vector<Int>&); \
  template int cholesky(Matrix<T>&, bool);        \
  template void solve_triangular(const Triangular&, const Matrix<T>&, Matrix<T>&);
HEDDLE_INSTANTIATE(float)
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(Complex)
#undef HEDDLE_INSTANTIATE
template int lu(Matrix<SingleComplex>&, std::vector<Int>&);
template void solve_triangular(const Triangular&, const Matrix<SingleComplex>&,
                               Matrix<SingleComplex>&);

}  // namespace heddle::interpreter::linalg
