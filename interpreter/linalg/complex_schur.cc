// The implicit QR iteration with single shifts on a complex Hessenberg matrix. As in LAPACK, the
// subdiagonal is kept real, and a step begins in the middle of its block where two small elements
// in a row let it: without either, the values come out in another order. source: Golub and Van
// Loan, Matrix Computations, chapter 7; Wilkinson, The Algebraic Eigenvalue Problem, chapter 8
#include <array>

#include "heddle/interpreter/linalg/internal/deflation.h"
#include "heddle/interpreter/linalg/internal/schur.h"

namespace heddle::interpreter::linalg {
namespace {

template <class R>
class ComplexIteration {
 public:
  using C = std::complex<R>;

  // `z` takes the transformations from the right.
  ComplexIteration(Matrix<C>& h, Matrix<C>& z, int64_t low, int64_t high)
      : h_(h), z_(z), low_(low), high_(high) {}

  // 0, or one more than the row whose value it did not find.
  int run() {
    for (int64_t i = low_ + 1; i < high_; ++i) make_coupling_real(i);
    const int64_t limit = 30 * std::max<int64_t>(10, high_ - low_);
    for (int64_t end = high_ - 1; end >= low_; --end) {
      int64_t start = low_;
      for (int64_t tries = 0;; ++tries) {
        start = find_start(h_, start, end, low_, high_, kUlp);
        if (start == end) break;
        if (tries == limit) return static_cast<int>(end + 1);
        step(start, end, find_shift(start, end, tries + 1));
      }
    }
    return 0;
  }

 private:
  static constexpr R kUlp = std::numeric_limits<R>::epsilon();

  // I - tau v v^H with v = (1, below).
  struct Reflector {
    C tau, below;
  };

  // Takes x to (beta, 0), beta real, with the conventions of reflectors.h.
  static Reflector reflect(std::array<C, 2>& x) {
    const R rest = std::abs(x[1]);
    if (rest == 0 && x[0].imag() == 0) return {C(0), C(0)};
    const R size = std::hypot(x[0].real(), x[0].imag(), rest);
    const R beta = -std::copysign(size, x[0].real());
    const Reflector out{(C(beta) - x[0]) / beta, x[1] * (C(1) / (x[0] - beta))};
    x = {C(beta), C(0)};
    return out;
  }

  // H := D^H H D, Z := Z D with D = I but for `phase` at j; what is beside h(j, j) below the
  // diagonal, and left of it, is the caller's.
  void turn(int64_t j, C phase) {
    for (int64_t k = j + 1; k < h_.columns(); ++k) h_(j, k) *= std::conj(phase);
    for (int64_t k = 0; k < j; ++k) h_(k, j) *= phase;
    for (C& x : z_.column(j)) x *= phase;
  }

  // Makes h(i, i - 1) real, at the cost of the one below it.
  void make_coupling_real(int64_t i) {
    const C coupling = h_(i, i - 1);
    if (coupling.imag() == 0) return;
    const R size = std::abs(coupling);
    h_(i, i - 1) = size;
    turn(i, coupling / size);
    if (i + 1 < h_.rows()) h_(i + 1, i) *= coupling / size;
  }

  // Wilkinson's: the eigenvalue of the last pair nearer to its last element.
  C find_shift(int64_t start, int64_t end, int64_t tries) const {
    constexpr R kExceptional = 0.75;
    if (tries % 20 == 0) return kExceptional * std::abs(h_(end, end - 1).real()) + h_(end, end);
    if (tries % 10 == 0)
      return kExceptional * std::abs(h_(start + 1, start).real()) + h_(start, start);
    const C last = h_(end, end);
    const C u = std::sqrt(h_(end - 1, end)) * std::sqrt(h_(end, end - 1));
    R s = size_of(u);
    if (s == 0) return last;
    const C x = R(0.5) * (h_(end - 1, end - 1) - last);
    s = std::max(s, size_of(x));
    C y = s * std::sqrt((x / s) * (x / s) + (u / s) * (u / s));
    if (real_of((x / s) * std::conj(y)) < 0) y = -y;
    return last - u * (u / (x + y));
  }

  // The first column of H - shift from row m on, to within a factor; its second element is real.
  std::array<C, 2> first_column(int64_t m, C shift) const {
    const C above = h_(m, m) - shift;
    const R below = h_(m + 1, m).real();
    const R size = size_of(above) + std::abs(below);
    return {above / size, C(below / size)};
  }
  // With v the first column from row m on, h(m, m - 1) stays negligible.
  bool can_begin_at(int64_t m, const std::array<C, 2>& v) const {
    const R around = size_of(h_(m, m)) + size_of(h_(m + 1, m + 1));
    return std::abs(h_(m, m - 1).real()) * std::abs(v[1].real()) <= kUlp * (size_of(v[0]) * around);
  }

  void step(int64_t start, int64_t end, C shift) {
    int64_t m = end - 1;
    std::array<C, 2> v = first_column(m, shift);
    while (m > start && !can_begin_at(m, v)) v = first_column(--m, shift);
    for (int64_t k = m; k < end; ++k) {
      if (k > m) v = {h_(k, k - 1), h_(k + 1, k - 1)};
      const Reflector by = reflect(v);
      if (k > m) {
        h_(k, k - 1) = v[0];
        h_(k + 1, k - 1) = v[1];
      }
      reflect_rows(k, by);
      reflect_columns(h_, k, by, std::min(k + 3, end + 1));
      reflect_columns(z_, k, by, z_.rows());
      if (k == m && m > start) keep_real(m, end, C(1) - by.tau);
    }
    const C last = h_(end, end - 1);
    if (last.imag() == 0) return;
    const R size = std::abs(last);
    h_(end, end - 1) = size;
    turn(end, last / size);
  }

  // A step that began at m multiplied h(m, m - 1), which is as good as zero, by `factor`, all but
  // real.
  // It is left as it was, and all of the rest turned instead.
  void keep_real(int64_t m, int64_t end, C factor) {
    factor /= std::abs(factor);
    h_(m + 1, m) *= std::conj(factor);
    if (m + 2 <= end) h_(m + 2, m + 1) *= factor;
    for (int64_t j = m; j <= end; ++j) {
      if (j != m + 1) turn(j, std::conj(factor));
    }
  }

  // Rows k and k + 1 by the adjoint. tau v[1] is real: LAPACK's sums have it so.
  void reflect_rows(int64_t k, const Reflector& by) {
    const R coupled = (by.tau * by.below).real();
    for (int64_t j = k; j < h_.columns(); ++j) {
      const C sum = std::conj(by.tau) * h_(k, j) + coupled * h_(k + 1, j);
      h_(k, j) -= sum;
      h_(k + 1, j) -= sum * by.below;
    }
  }
  // Columns k and k + 1 of the first `rows` rows.
  static void reflect_columns(Matrix<C>& a, int64_t k, const Reflector& by, int64_t rows) {
    const R coupled = (by.tau * by.below).real();
    for (int64_t i = 0; i < rows; ++i) {
      const C sum = by.tau * a(i, k) + coupled * a(i, k + 1);
      a(i, k) -= sum;
      a(i, k + 1) -= sum * std::conj(by.below);
    }
  }

  Matrix<C>& h_;
  Matrix<C>& z_;
  const int64_t low_, high_;
};

}  // namespace

void iterate(Schur<Complex>& out, int64_t low, int64_t high, Precision precision) {
  if (precision == Precision::kDouble) {
    out.info = ComplexIteration<double>(out.t, out.z, low, high).run();
    return;
  }
  const double factor = unit_scale(largest_part(out.t));
  auto t = converted<SingleComplex>(out.t, factor), z = converted<SingleComplex>(out.z, 1);
  out.info = ComplexIteration<float>(t, z, low, high).run();
  out.t = converted<Complex>(t, 1);
  scale(out.t, 1 / factor);
  out.z = converted<Complex>(z, 1);
}

}  // namespace heddle::interpreter::linalg
