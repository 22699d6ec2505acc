// Reduction to a real tridiagonal matrix, and the implicit QL and QR iterations with Wilkinson's
// shift on it. A block is worked on from its end of smaller size, since there the values come out
// first and accurately. source: Parlett, The Symmetric Eigenvalue Problem, chapter 8
#include "heddle/interpreter/linalg/internal/symmetric.h"

#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/rotations.h"

namespace heddle::interpreter::linalg {
namespace {

template <class R>
class TridiagonalIteration {
 public:
  // `vectors` is multiplied by the rotations from the right.
  TridiagonalIteration(std::vector<R>& d, std::vector<R>& e, Matrix<R>& vectors)
      : d_(d), e_(e), vectors_(vectors), left_(30 * static_cast<int64_t>(d.size())) {}

  bool run() {
    const auto n = static_cast<int64_t>(d_.size());
    for (int64_t start = 0; start < n;) {
      int64_t end = start;
      while (end + 1 < n && !is_split(end)) ++end;
      if (!work_on(start, end)) return false;
      start = end + 1;
    }
    return true;
  }

 private:
  static constexpr R kUnit = std::numeric_limits<R>::epsilon() / 2;

  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  R& d(int64_t i) { return d_[at(i)]; }

  // e[i] is nothing beside its neighbours; then it is made 0.
  bool is_split(int64_t i) {
    R& e = e_[at(i)];
    if (e == 0) return true;
    if (std::abs(e) > std::sqrt(std::abs(d(i))) * std::sqrt(std::abs(d(i + 1))) * kUnit)
      return false;
    e = 0;
    return true;
  }

  // Finds all values of the block [start, end], from its end of smaller size towards the other.
  bool work_on(int64_t start, int64_t end) {
    const bool from_start = std::abs(d(end)) >= std::abs(d(start));
    const int64_t step = from_start ? 1 : -1;
    const int64_t stop = from_start ? end : start;
    int64_t i = from_start ? start : end;
    while ((stop - i) * step >= 0) {
      const int64_t far = unsplit_to(i, stop, step);
      if (far != stop) e_[at(std::min(far, far + step))] = 0;
      if (far == i) {
        i += step;
      } else if (far == i + step) {
        finish_pair(std::min(i, far));
        i += 2 * step;
      } else {
        if (left_-- == 0) return false;
        sweep(i, far, step);
      }
    }
    return true;
  }

  // Walks from i towards `stop` as far as the couplings are not negligible.
  int64_t unsplit_to(int64_t i, int64_t stop, int64_t step) {
    for (; i != stop; i += step) {
      const R e = e_[at(std::min(i, i + step))];
      const R limit = kUnit * kUnit * std::abs(d(i)) * std::abs(d(i + step));
      if (e * e <= limit + std::numeric_limits<R>::min()) break;
    }
    return i;
  }

  void finish_pair(int64_t i) {
    const SymmetricPair<R> pair = eigen_pair(d(i), e_[at(i)], d(i + 1));
    rotate_columns(vectors_, i, i + 1, pair.cos, pair.sin);
    d(i) = pair.large;
    d(i + 1) = pair.small;
    e_[at(i)] = 0;
  }

  // One implicit step with the shift from the pair at `near`, chased from `far` to `near`.
  void sweep(int64_t near, int64_t far, int64_t step) {
    auto e = [&](int64_t i) -> R& {
      return e_[at(std::min(i, i + step))];
    };  // between i and i + step
    const R first = d(near);
    R g = (d(near + step) - first) / (2 * e(near));
    g = d(far) - first + e(near) / (g + std::copysign(std::hypot(g, R(1)), g));
    R s = 1, c = 1, p = 0;
    for (int64_t i = far - step;; i -= step) {
      const R f = s * e(i), b = c * e(i);
      const Rotation<R> rotation = rotation_of(g, f);
      c = rotation.c;
      s = rotation.s;
      if (i != far - step) e(i + step) = rotation.r;
      g = d(i + step) - p;
      const R r = (d(i) - g) * s + 2 * c * b;
      p = s * r;
      d(i + step) = g + p;
      g = c * r - b;
      rotate_columns(vectors_, i + step, i, c, s);
      if (i == near) break;
    }
    d(near) -= p;
    e(near) = g;
  }

  std::vector<R>& d_;
  std::vector<R>& e_;
  Matrix<R>& vectors_;
  int64_t left_;  // sweeps that it may still take
};

// Ascending, with as few swaps of vectors as there can be.
template <class R>
void sort(std::vector<R>& values, Matrix<R>& vectors) {
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const auto smallest = static_cast<size_t>(
        std::min_element(values.begin() + static_cast<int64_t>(i), values.end()) - values.begin());
    if (smallest == i) continue;
    std::swap(values[i], values[smallest]);
    vectors.swap_columns(static_cast<int64_t>(i), static_cast<int64_t>(smallest));
  }
}

constexpr size_t kUndivided = 25;

// The sign that LAPACK's syevd gives to an eigenvector of the tridiagonal matrix with `couplings`.
// It cuts one of more than 25 rows in two, T = T0 + |e| u u^T with u of two elements beside the
// cut, 1 and the sign of e; of T0's eigenvalues d and u's parts z along its vectors, those of T
// have the parts z / (d - w), and so u^T v < 0. A vector with nothing along u lies in one half, and
// has the sign that it got there. source: Cuppen, A Divide and Conquer Method for the Symmetric
// Tridiagonal Eigenproblem, 1981
void sign_as_divided(const std::vector<double>& couplings, std::span<double> v) {
  constexpr double kNothing = 1e-14;
  for (size_t first = 0, size = v.size(); size > kUndivided;) {
    const size_t cut = first + size / 2;
    const double along = v[cut - 1] + std::copysign(v[cut], v[cut] * couplings[cut - 1]);
    if (std::abs(along) > kNothing) {
      for (double& x : v) x = along > 0 ? -x : x;
      return;
    }
    const double above = norm_of(std::span<const double>(v.subspan(first, cut - first)));
    const double below = norm_of(std::span<const double>(v.subspan(cut, first + size - cut)));
    size = above > below ? cut - first : first + size - cut;
    first = above > below ? first : cut;
  }
}

// The sign that it gives where it does not divide, in f32: that of the same iteration in f32.
void sign_as_single(const std::vector<double>& diagonal, const std::vector<double>& couplings,
                    Matrix<double>& vectors) {
  SingleBand band = single_band(diagonal, couplings);
  const int64_t n = vectors.rows();
  Matrix<float> found = Matrix<float>::identity(n, n);
  if (!TridiagonalIteration<float>(band.d, band.e, found).run()) return;
  sort(band.d, found);
  for (int64_t j = 0; j < n; ++j) {
    if (along(found.column(j), vectors.column(j)) < 0) negate(vectors.column(j));
  }
}

// The eigenvalues of the tridiagonal matrix of d and `couplings`, into d, and its eigenvectors.
// False where the iteration does not converge.
bool diagonalise(std::vector<double>& d, const std::vector<double>& couplings, Precision precision,
                 Matrix<double>& vectors) {
  const std::vector<double> diagonal = d;
  std::vector<double> e = couplings;
  const bool done = TridiagonalIteration<double>(d, e, vectors).run();
  sort(d, vectors);
  if (precision == Precision::kSingle && d.size() <= kUndivided)
    sign_as_single(diagonal, couplings, vectors);
  for (int64_t j = 0; j < vectors.columns(); ++j) sign_as_divided(couplings, vectors.column(j));
  return done;
}

}  // namespace

template <class T>
HermitianEigen<T> hermitian_eigen(const Matrix<T>& a, bool lower, Precision precision) {
  const int64_t n = a.rows();
  HermitianEigen<T> out;
  Matrix<T> whole = hermitian(a, lower);
  if (!all_finite(whole)) {
    out.vectors = all_nan<T>(n, n);
    out.values.assign(static_cast<size_t>(n), std::numeric_limits<double>::quiet_NaN());
    out.info = 1;
    return out;
  }
  const double factor = scale_for(whole);
  scale(whole, factor);
  // LAPACK works on an upper triangle from the last row up, which is downwards on the reversed
  // matrix; the iteration meets the rows in their own order.
  if (!lower) whole = reversed(std::move(whole));
  Tridiagonal<T> tridiagonal = tridiagonalise(std::move(whole));
  if (!lower) {
    std::ranges::reverse(tridiagonal.d);
    std::ranges::reverse(tridiagonal.e);
  }
  Matrix<double> vectors = Matrix<double>::identity(n, n);
  const bool done = diagonalise(tridiagonal.d, tridiagonal.e, precision, vectors);
  out.info = done ? 0 : 1;
  out.values = std::move(tridiagonal.d);
  for (double& value : out.values) value /= factor;
  if (!lower) vectors = rows_reversed(std::move(vectors));
  out.vectors = times(tridiagonal.q, with_corner(Matrix<T>(n, n), vectors));
  if (!lower) out.vectors = rows_reversed(std::move(out.vectors));
  return out;
}

template HermitianEigen<double> hermitian_eigen(const Matrix<double>&, bool, Precision);
template HermitianEigen<Complex> hermitian_eigen(const Matrix<Complex>&, bool, Precision);

}  // namespace heddle::interpreter::linalg
