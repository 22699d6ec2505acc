// Reduction to a real bidiagonal matrix, and the implicit zero-shift QR iteration on it, which
// finds small values to full relative accuracy. source: Demmel and Kahan, Accurate Singular Values
// of Bidiagonal Matrices, 1990
#include "heddle/interpreter/linalg/internal/singular.h"

#include <Eigen/SVD>
#include <cmath>
#include <limits>
#include <type_traits>

#include "heddle/interpreter/linalg/internal/dense.h"
#include "heddle/interpreter/linalg/internal/rotations.h"

namespace heddle::interpreter::linalg {
namespace {

// An upper bidiagonal matrix on its way to a diagonal one. u and v take the rotations from the
// right.
template <class R>
class BidiagonalIteration {
 public:
  BidiagonalIteration(std::vector<R>& d, std::vector<R>& e, Matrix<R>& u, Matrix<R>& v)
      : d_(d), e_(e), u_(u), v_(v), n_(static_cast<int64_t>(d.size())) {
    tolerance_ = std::max(R(10), std::min(R(100), std::pow(kUnit, R(-0.125)))) * kUnit;
    left_ = 6 * n_ * n_;
    set_threshold();
  }

  bool run() {
    for (int64_t end = n_ - 1; end > 0;) {
      const int64_t start = find_start(end);
      if (start == end) {
        --end;
      } else if (start == end - 1) {
        finish_pair(start);
        end -= 2;
      } else {
        choose_direction(start, end);
        if (is_split(start, end)) continue;
        if (left_ <= 0) return false;
        left_ -= end - start;
        sweep(start, end, find_shift(start, end));
      }
    }
    make_positive();
    sort();
    return true;
  }

 private:
  static constexpr R kUnit = std::numeric_limits<R>::epsilon() / 2;

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  // Below it, couplings are zero: a bound of the smallest singular value from below, times the
  // tolerance.
  void set_threshold() {
    R bound = n_ > 0 ? std::abs(d_[0]) : 0, running = bound;
    for (int64_t i = 1; i < n_ && bound > 0; ++i) {
      running = std::abs(d_[at(i)]) * (running / (running + std::abs(e_[at(i - 1)])));
      bound = std::min(bound, running);
    }
    const auto n = static_cast<R>(n_);
    threshold_ = std::max(tolerance_ * bound / std::sqrt(std::max(n, R(1))),
                          6 * n * n * std::numeric_limits<R>::min());
  }

  // The first row of the unsplit block that ends at `end`. Keeps the largest size in it.
  int64_t find_start(int64_t end) {
    largest_ = std::abs(d_[at(end)]);
    for (int64_t i = end - 1; i >= 0; --i) {
      if (std::abs(e_[at(i)]) <= threshold_) {
        e_[at(i)] = 0;
        return i + 1;
      }
      largest_ = std::max({largest_, std::abs(d_[at(i)]), std::abs(e_[at(i)])});
    }
    return 0;
  }

  void finish_pair(int64_t i) {
    const SingularPair<R> pair = singular_pair(d_[at(i)], e_[at(i)], d_[at(i + 1)]);
    rotate_columns(v_, i, i + 1, pair.cos_right, pair.sin_right);
    rotate_columns(u_, i, i + 1, pair.cos_left, pair.sin_left);
    d_[at(i)] = pair.large;
    d_[at(i + 1)] = pair.small;
    e_[at(i)] = 0;
  }

  // From the large end to the small one; kept while the block only shrinks.
  void choose_direction(int64_t start, int64_t end) {
    if (start > old_end_ || end < old_start_)
      down_ = std::abs(d_[at(start)]) >= std::abs(d_[at(end)]);
    // Seen from its other end, a bidiagonal matrix is the transposed one: what is done downwards to
    // (d, e, v, u) is done upwards to the reversed d and e, with v and u in each other's place.
    start_ = start;
    end_ = end;
  }
  [[nodiscard]] int64_t row(int64_t k) const { return down_ ? start_ + k : end_ - k; }
  R& d(int64_t k) { return d_[at(row(k))]; }
  R& e(int64_t k) { return e_[at(std::min(row(k), row(k + 1)))]; }  // between d(k) and d(k + 1)
  void rotate_right(int64_t k, R c, R s) {
    if (down_) rotate_columns(v_, row(k), row(k + 1), c, s);
    if (!down_) rotate_columns(u_, row(k), row(k + 1), c, s);
  }
  void rotate_left(int64_t k, R c, R s) {
    if (down_) rotate_columns(u_, row(k), row(k + 1), c, s);
    if (!down_) rotate_columns(v_, row(k), row(k + 1), c, s);
  }

  // A coupling of the block is negligible for every singular value; it is made 0. Finds the
  // smallest size too.
  bool is_split(int64_t start, int64_t end) {
    const int64_t last = end - start;
    if (std::abs(e(last - 1)) <= tolerance_ * std::abs(d(last))) {
      e(last - 1) = 0;
      return true;
    }
    R running = std::abs(d(0));
    smallest_ = running;
    for (int64_t k = 0; k < last; ++k) {
      if (std::abs(e(k)) <= tolerance_ * running) {
        e(k) = 0;
        return true;
      }
      running = std::abs(d(k + 1)) * (running / (running + std::abs(e(k))));
      smallest_ = std::min(smallest_, running);
    }
    old_start_ = start;
    old_end_ = end;
    return false;
  }

  // Zero where a shift would spoil the relative accuracy of small values.
  R find_shift(int64_t start, int64_t end) {
    const int64_t last = end - start;
    const R ratio = smallest_ / largest_;
    if (static_cast<R>(n_) * tolerance_ * ratio <= std::max(kUnit, R(0.01) * tolerance_)) return 0;
    const int64_t low = std::min(row(last - 1), row(last));
    const R shift = smaller_singular_value(d_[at(low)], e_[at(low)], d_[at(low + 1)]);
    const R top = std::abs(d(0));
    if (top > 0 && (shift / top) * (shift / top) < kUnit) return 0;
    return shift;
  }

  void sweep(int64_t start, int64_t end, R shift) {
    const int64_t last = end - start;
    if (shift == 0) sweep_unshifted(last);
    if (shift != 0) sweep_shifted(last, shift);
    if (std::abs(e(last - 1)) <= threshold_) e(last - 1) = 0;
  }

  void sweep_unshifted(int64_t last) {
    R c = 1, old_c = 1, old_s = 0;
    for (int64_t k = 0; k < last; ++k) {
      const Rotation<R> right = rotation_of(d(k) * c, e(k));
      if (k > 0) e(k - 1) = old_s * right.r;
      const Rotation<R> left = rotation_of(old_c * right.r, d(k + 1) * right.s);
      d(k) = left.r;
      rotate_right(k, right.c, right.s);
      rotate_left(k, left.c, left.s);
      c = right.c;
      old_c = left.c;
      old_s = left.s;
    }
    const R h = d(last) * c;
    d(last) = h * old_c;
    e(last - 1) = h * old_s;
  }

  void sweep_shifted(int64_t last, R shift) {
    R f = (std::abs(d(0)) - shift) * (std::copysign(R(1), d(0)) + shift / d(0));
    R g = e(0);
    for (int64_t k = 0; k < last; ++k) {
      const Rotation<R> right = rotation_of(f, g);
      if (k > 0) e(k - 1) = right.r;
      f = right.c * d(k) + right.s * e(k);
      e(k) = right.c * e(k) - right.s * d(k);
      g = right.s * d(k + 1);
      d(k + 1) = right.c * d(k + 1);
      const Rotation<R> left = rotation_of(f, g);
      d(k) = left.r;
      f = left.c * e(k) + left.s * d(k + 1);
      d(k + 1) = left.c * d(k + 1) - left.s * e(k);
      if (k + 1 < last) {
        g = left.s * e(k + 1);
        e(k + 1) = left.c * e(k + 1);
      }
      rotate_right(k, right.c, right.s);
      rotate_left(k, left.c, left.s);
    }
    e(last - 1) = f;
  }

  void make_positive() {
    for (int64_t i = 0; i < n_; ++i) {
      if (d_[at(i)] == 0) d_[at(i)] = 0;  // not -0
      if (d_[at(i)] >= 0) continue;
      d_[at(i)] = -d_[at(i)];
      for (R& x : v_.column(i)) x = -x;
    }
  }

  // Descending: the smallest of what is left goes to the end.
  void sort() {
    for (int64_t end = n_ - 1; end > 0; --end) {
      int64_t smallest = 0;
      for (int64_t i = 1; i <= end; ++i) {
        if (d_[at(i)] <= d_[at(smallest)]) smallest = i;
      }
      if (smallest == end) continue;
      std::swap(d_[at(smallest)], d_[at(end)]);
      v_.swap_columns(smallest, end);
      u_.swap_columns(smallest, end);
    }
  }

  std::vector<R>& d_;
  std::vector<R>& e_;
  Matrix<R>& u_;
  Matrix<R>& v_;
  const int64_t n_;
  R tolerance_ = 0;
  R threshold_ = 0;
  int64_t left_ = 0;  // rotations that it may still take
  R largest_ = 0, smallest_ = 0;
  bool down_ = true;
  int64_t start_ = 0, end_ = 0;            // the block at work
  int64_t old_start_ = -1, old_end_ = -1;  // the block of the sweep before
};

struct BidiagonalSvd {
  Matrix<double> u, v;
  bool done = true;
};

// gesdd divides a problem of more rows in two and puts the solutions together, and so does Eigen:
// by the same formula, which gives the vectors their signs, whatever those of the halves are. False
// where it fails.
constexpr int64_t kUndivided = 25;

bool divide_and_conquer(std::vector<double>& d, const std::vector<double>& e, BidiagonalSvd& out) {
  const auto n = static_cast<int64_t>(d.size());
  Matrix<double> b(n, n);
  for (int64_t i = 0; i < n; ++i) {
    b(i, i) = d[static_cast<size_t>(i)];
    if (i + 1 < n) b(i, i + 1) = e[static_cast<size_t>(i)];
  }
  const Eigen::BDCSVD<Dense<double>> found(map(b), Eigen::ComputeFullU | Eigen::ComputeFullV);
  if (found.info() != Eigen::Success) return false;
  d = vector_of<double>(found.singularValues());
  out.u = matrix_of<double>(found.matrixU());
  out.v = matrix_of<double>(found.matrixV());
  return true;
}

// The signs of LAPACK's vectors in f32: those of the same iteration in f32.
void sign_as_single(const std::vector<double>& diagonal, const std::vector<double>& couplings,
                    BidiagonalSvd& out) {
  SingleBand band = single_band(diagonal, couplings);
  const int64_t n = out.u.rows();
  Matrix<float> u = Matrix<float>::identity(n, n), v = u;
  if (!BidiagonalIteration<float>(band.d, band.e, u, v).run()) return;
  for (int64_t j = 0; j < n; ++j) {
    if (along(u.column(j), out.u.column(j)) + along(v.column(j), out.v.column(j)) >= 0) continue;
    negate(out.u.column(j));
    negate(out.v.column(j));
  }
}

void iterate(std::vector<double>& d, const std::vector<double>& couplings, Precision precision,
             BidiagonalSvd& out) {
  const std::vector<double> diagonal = d;
  std::vector<double> e = couplings;
  out.done = BidiagonalIteration<double>(d, e, out.u, out.v).run();
  if (precision == Precision::kSingle) sign_as_single(diagonal, couplings, out);
}

BidiagonalSvd diagonalise(std::vector<double>& d, std::vector<double>& e, bool lower,
                          SvdRoutine routine, Precision precision) {
  const auto n = static_cast<int64_t>(d.size());
  BidiagonalSvd out{Matrix<double>::identity(n, n), Matrix<double>::identity(n, n), true};
  if (n == 1 && routine == SvdRoutine::kGesdd) {  // gesdd gives the sign to u, all else to v
    out.u(0, 0) = std::copysign(1.0, d[0]);
    d[0] = std::abs(d[0]);
    return out;
  }
  std::vector<Rotation<double>> to_upper;
  for (size_t i = 0; lower && i + 1 < d.size(); ++i) {
    const Rotation<double> rotation = rotation_of(d[i], e[i]);
    d[i] = rotation.r;
    e[i] = rotation.s * d[i + 1];
    d[i + 1] = rotation.c * d[i + 1];
    to_upper.push_back(rotation);
  }
  const bool divided =
      routine == SvdRoutine::kGesdd && n > kUndivided && divide_and_conquer(d, e, out);
  if (!divided) iterate(d, e, precision, out);
  for (size_t i = to_upper.size(); i-- > 0;) {
    const auto row = static_cast<int64_t>(i);
    rotate_rows(out.u, row, row + 1, to_upper[i].c, -to_upper[i].s);
  }
  return out;
}

// With `rows` columns of U, and `columns` of V.
template <class T>
Svd<T> svd_by_bidiagonal(Matrix<T> a, int64_t rows, int64_t columns, SvdRoutine routine,
                         Precision precision) {
  const int64_t m = a.rows(), n = a.columns();
  Bidiagonal<T> b = bidiagonalise(std::move(a));
  const BidiagonalSvd inner = diagonalise(b.d, b.e, b.lower, routine, precision);
  Svd<T> out;
  out.s = std::move(b.d);
  out.info = inner.done ? 0 : 1;
  out.u = times(b.q, with_corner(Matrix<T>::identity(m, rows), inner.u));
  out.vh = adjoint(times(b.p, with_corner(Matrix<T>::identity(n, columns), inner.v)));
  return out;
}

// From so many rows (or columns) for each of the others on, LAPACK takes a QR (or LQ) factor first.
template <class T>
bool is_slender(int64_t longer, int64_t shorter, SvdRoutine routine) {
  double ratio = std::is_same_v<T, double> ? 11.0 / 6 : 17.0 / 9;
  if (routine == SvdRoutine::kGesvd) ratio = 1.6;
  return longer > shorter && longer >= static_cast<int64_t>(static_cast<double>(shorter) * ratio);
}

// a tall and slender: a = Q R, and the values of R.
template <class T>
Svd<T> svd_by_qr(Matrix<T> a, int64_t columns_of_u, SvdRoutine routine, Precision precision) {
  const int64_t m = a.rows(), n = a.columns();
  const Reflectors<T> q = qr(std::move(a));
  Svd<T> out = svd_by_bidiagonal(other_factor(q, n), n, n, routine, precision);
  out.u = times(q, with_corner(Matrix<T>::identity(m, columns_of_u), out.u));
  return out;
}

// a wide: a = L Q, and the values of L.
template <class T>
Svd<T> svd_by_lq(const Matrix<T>& a, int64_t rows_of_vh, SvdRoutine routine, Precision precision) {
  const int64_t m = a.rows(), n = a.columns();
  const Reflectors<T> q = qr(adjoint(a));
  Svd<T> out = svd_by_bidiagonal(adjoint(other_factor(q, m)), m, m, routine, precision);
  out.vh = adjoint(times(q, with_corner(Matrix<T>::identity(n, rows_of_vh), adjoint(out.vh))));
  return out;
}

}  // namespace

template <class T>
Svd<T> svd(Matrix<T> a, bool full, SvdRoutine routine, Precision precision) {
  const int64_t m = a.rows(), n = a.columns(), size = std::min(m, n);
  const int64_t rows = full ? m : size, columns = full ? n : size;
  if (!all_finite(a)) {
    return {
        all_nan<T>(m, rows),
        std::vector<double>(static_cast<size_t>(size), std::numeric_limits<double>::quiet_NaN()),
        all_nan<T>(columns, n), 1};
  }
  const double factor = scale_for(a);
  scale(a, factor);
  Svd<T> out;
  if (is_slender<T>(m, n, routine)) {
    out = svd_by_qr(std::move(a), rows, routine, precision);
  } else if (is_slender<T>(n, m, routine)) {
    out = svd_by_lq(a, columns, routine, precision);
  } else {
    out = svd_by_bidiagonal(std::move(a), rows, columns, routine, precision);
  }
  for (double& value : out.s) value /= factor;
  return out;
}

template Svd<double> svd(Matrix<double>, bool, SvdRoutine, Precision);
template Svd<Complex> svd(Matrix<Complex>, bool, SvdRoutine, Precision);

}  // namespace heddle::interpreter::linalg
