// Eigenvectors: those of the Schur form by substitution, then turned back by the Schur vectors.
#include <cmath>
#include <limits>
#include <type_traits>

#include "heddle/interpreter/linalg/internal/rotations.h"
#include "heddle/interpreter/linalg/internal/schur.h"

namespace heddle::interpreter::linalg {
namespace {

// Solves (T - w) x = 0 upwards, or (T^H - conj(w)) x = 0 downwards, from known elements of x.
template <class T>
class Substitution {
 public:
  Substitution(const Matrix<T>& t, bool left) : t_(t), left_(left), n_(t.rows()) {
    smallest_ = std::max(std::numeric_limits<double>::epsilon() * largest_part(t),
                         std::numeric_limits<double>::min());
  }

  // The vector of the eigenvalue w that stands at row j, or in the block at rows j and j + 1.
  std::vector<Complex> vector(int64_t j, Complex w) {
    w_ = left_ ? std::conj(w) : w;
    x_.assign(static_cast<size_t>(n_), 0);
    const bool pair = j + 1 < n_ && at(j + 1, j) != Complex(0) && at(j, j + 1) != Complex(0);
    if (pair) start_pair(j, w.imag());
    if (!pair) x(j) = 1;
    if (left_) {
      for (int64_t i = j + (pair ? 2 : 1); i < n_; ++i) i += eliminate(i, j);
    } else {
      for (int64_t i = j - 1; i >= 0; --i) i -= eliminate(i, j + (pair ? 1 : 0));
    }
    return std::move(x_);
  }

 private:
  // T, or T^H.
  Complex at(int64_t i, int64_t k) const {
    return left_ ? Complex(conjugate(t_(k, i))) : Complex(t_(i, k));
  }
  Complex& x(int64_t i) { return x_[static_cast<size_t>(i)]; }
  bool coupled(int64_t i) const { return i >= 0 && i + 1 < n_ && t_(i + 1, i) != T(0); }

  // In a standardised block [x y; z x] of a real T, the vector is known: one element real, the
  // other imaginary.
  void start_pair(int64_t j, double imaginary) {
    const double y = real_of(Complex(t_(j, j + 1))), z = real_of(Complex(t_(j + 1, j)));
    const bool by_y = std::abs(y) >= std::abs(z);
    if (left_) {
      x(j) = by_y ? imaginary / y : 1;
      x(j + 1) = by_y ? Complex(0, 1) : Complex(0, -imaginary / z);
    } else {
      x(j) = by_y ? 1 : -imaginary / z;
      x(j + 1) = by_y ? Complex(0, imaginary / y) : Complex(0, 1);
    }
  }

  Complex known_sum(int64_t row, int64_t from, int64_t to) {
    Complex sum = 0;
    for (int64_t k = from; k < to; ++k) sum += at(row, k) * x(k);
    return -sum;
  }

  // Finds x at row i, or at the rows of the block that it is in, from the known elements up to
  // `last` (right), or from `last` on (left). Returns how many rows more than one it found.
  int64_t eliminate(int64_t i, int64_t last) {
    const bool block = left_ ? coupled(i) : coupled(i - 1);
    const int64_t first = block && !left_ ? i - 1 : i;
    const int64_t end = first + (block ? 2 : 1);
    const int64_t from = left_ ? last : end, to = left_ ? first : last + 1;
    if (block) {
      solve_block(first, known_sum(first, from, to), known_sum(first + 1, from, to));
    } else {
      x(i) = known_sum(i, from, to) / floored(at(i, i) - w_);
    }
    keep_in_range();
    return block ? 1 : 0;
  }

  // An eigenvalue that repeats: moved off by a rounding, so that there is a vector.
  Complex floored(Complex pivot) const {
    return std::abs(pivot.real()) + std::abs(pivot.imag()) < smallest_ ? Complex(smallest_) : pivot;
  }

  void solve_block(int64_t i, Complex b0, Complex b1) {
    const Complex a = at(i, i) - w_, b = at(i, i + 1), c = at(i + 1, i), d = at(i + 1, i + 1) - w_;
    Complex determinant = a * d - b * c;
    if (std::abs(determinant) < smallest_ * smallest_) determinant = smallest_ * smallest_;
    x(i) = (d * b0 - b * b1) / determinant;
    x(i + 1) = (a * b1 - c * b0) / determinant;
  }

  void keep_in_range() {
    double largest = 0;
    for (const Complex& each : x_)
      largest = std::max({largest, std::abs(each.real()), std::abs(each.imag())});
    if (largest < 1e100) return;
    for (Complex& each : x_) each /= largest;
  }

  const Matrix<T>& t_;
  const bool left_;
  const int64_t n_;
  Complex w_;
  double smallest_ = 0;
  std::vector<Complex> x_;
};

// To norm 1; a complex vector is turned so that its element of largest size is real: positive in a
// complex problem, and of the sign of its real part in a real one.
void normalise(std::span<Complex> v, bool complex_problem) {
  const double norm = norm_of(std::span<const Complex>(v));
  if (norm > 0) {
    for (Complex& x : v) x /= norm;
  }
  size_t best = 0;
  bool is_real = true;
  for (size_t i = 0; i < v.size(); ++i) {
    if (std::norm(v[i]) > std::norm(v[best])) best = i;
    is_real &= v[i].imag() == 0;
  }
  if (v.empty() || (is_real && !complex_problem)) return;
  Complex turn = std::conj(v[best]) / std::abs(v[best]);
  if (!complex_problem && std::signbit(v[best].real())) turn = -turn;
  for (Complex& x : v) x *= turn;
  v[best] = v[best].real();
}

template <class T>
Matrix<Complex> vectors_of(const Schur<T>& schur, const Balance& balance, bool left) {
  const int64_t n = schur.t.rows();
  Matrix<Complex> in_schur(n, n);
  Substitution<T> substitution(schur.t, left);
  for (int64_t j = 0; j < n; ++j) {
    std::ranges::copy(substitution.vector(j, schur.values[static_cast<size_t>(j)]),
                      in_schur.column(j).begin());
    if (j + 1 < n && schur.t(j + 1, j) != T(0)) ++j;  // its conjugate comes from it
  }
  Matrix<Complex> out = product(with_corner(Matrix<Complex>(n, n), schur.z), in_schur);
  undo_balance(balance, left, out);
  for (int64_t j = 0; j < n; ++j) {
    normalise(out.column(j), std::is_same_v<T, Complex>);
    if (j + 1 == n || schur.t(j + 1, j) == T(0)) continue;
    for (int64_t i = 0; i < n; ++i) out(i, j + 1) = std::conj(out(i, j));
    ++j;
  }
  return out;
}

}  // namespace

template <class T>
Eigenpairs<T> eigenpairs(Matrix<T> a, bool left, bool right, Precision precision) {
  const int64_t n = a.rows();
  Eigenpairs<T> out;
  if (!all_finite(a)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    out.values.assign(static_cast<size_t>(n), Complex(nan, nan));
    if (left) out.left = all_nan<Complex>(n, n);
    if (right) out.right = all_nan<Complex>(n, n);
    out.info = 1;
    return out;
  }
  const double factor = scale_for(a);
  scale(a, factor);
  const Balance balanced = balance(a, true);
  Schur<T> form = schur(std::move(a), balanced.low, balanced.high, precision);
  out.info = form.info;
  if (left) out.left = vectors_of(form, balanced, true);
  if (right) out.right = vectors_of(form, balanced, false);
  out.values = std::move(form.values);
  for (Complex& value : out.values) value /= factor;
  return out;
}

template Eigenpairs<double> eigenpairs(Matrix<double>, bool, bool, Precision);
template Eigenpairs<Complex> eigenpairs(Matrix<Complex>, bool, bool, Precision);

}  // namespace heddle::interpreter::linalg
