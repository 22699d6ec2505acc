// Francis' implicit QR iteration on a Hessenberg matrix: double shifts on a real one, so that it
// stays real; complex_schur.cc has the complex one's. source: Golub and Van Loan, Matrix
// Computations, chapter 7
#include "heddle/interpreter/linalg/internal/schur.h"

#include <array>
#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/deflation.h"
#include "heddle/interpreter/linalg/internal/rotations.h"

namespace heddle::interpreter::linalg {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();

// A real 2 x 2 block [a b; c d], rotated to be upper triangular, or to equal diagonal elements
// where its eigenvalues are complex.
struct Block {
  double a, b, c, d;
  double cos = 1, sin = 0;
};

void rotate(Block& m, double cos, double sin) {
  const double aa = m.a * cos + m.b * sin, bb = -m.a * sin + m.b * cos;
  const double cc = m.c * cos + m.d * sin, dd = -m.c * sin + m.d * cos;
  m.a = aa * cos + cc * sin;
  m.b = bb * cos + dd * sin;
  m.c = -aa * sin + cc * cos;
  m.d = -bb * sin + dd * cos;
}

// The eigenvalues are complex, or real and nearly equal: makes the diagonal elements equal.
void equalise(Block& m, double p, double difference) {
  const double sigma = m.b + m.c;
  const double tau = std::hypot(sigma, difference);
  m.cos = std::sqrt(0.5 * (1 + std::abs(sigma) / tau));
  m.sin = -(p / (tau * m.cos)) * std::copysign(1.0, sigma);
  rotate(m, m.cos, m.sin);
  const double middle = 0.5 * (m.a + m.d);
  m.a = m.d = middle;
  if (m.c == 0) return;
  if (m.b == 0) {
    m.b = -m.c;
    m.c = 0;
    const double cos = m.cos;
    m.cos = -m.sin;
    m.sin = cos;
  } else if (std::signbit(m.b) == std::signbit(m.c)) {  // real after all
    const double root_b = std::sqrt(std::abs(m.b)), root_c = std::sqrt(std::abs(m.c));
    const double half = std::copysign(root_b * root_c, m.c);
    const double scale = 1 / std::sqrt(std::abs(m.b + m.c));
    m.a = middle + half;
    m.d = middle - half;
    m.b -= m.c;
    m.c = 0;
    const double cos = root_b * scale, sin = root_c * scale;
    const double turned = m.cos * cos - m.sin * sin;
    m.sin = m.cos * sin + m.sin * cos;
    m.cos = turned;
  }
}

Block standardised(Block m) {
  const double difference = m.a - m.d;
  if (m.c == 0) return m;
  if (m.b == 0) {
    m.cos = 0;
    m.sin = 1;
    std::swap(m.a, m.d);
    m.b = -m.c;
    m.c = 0;
    return m;
  }
  if (difference == 0 && std::signbit(m.b) != std::signbit(m.c)) return m;
  const double p = 0.5 * difference;
  const double most = std::max(std::abs(m.b), std::abs(m.c));
  const double least =
      std::min(std::abs(m.b), std::abs(m.c)) * std::copysign(1.0, m.b) * std::copysign(1.0, m.c);
  const double scale = std::max(std::abs(p), most);
  double z = (p / scale) * p + (most / scale) * least;
  if (z < 4 * kUlp) {
    equalise(m, p, difference);
    return m;
  }
  z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
  m.a = m.d + z;
  m.d -= (most / z) * least;
  const double tau = std::hypot(m.c, z);
  m.cos = z / tau;
  m.sin = m.c / tau;
  m.b -= m.c;
  m.c = 0;
  return m;
}

// H = I - tau v v^T, v of a few elements from row `first` on; v[0] is 1.
struct Reflector {
  int64_t first = 0;
  std::vector<double> v;
  double tau = 0;
};

// The reflector of x, with the conventions of reflectors.h: x becomes (beta, 0, ..). Zero tau (H =
// I) where x is that already.
Reflector make_reflector(std::span<double> x, int64_t first) {
  Reflector h{first, std::vector<double>(x.size()), 0};
  if (x.empty()) return h;
  h.v[0] = 1;
  const double alpha = x[0];
  const double rest = norm_of(std::span<const double>(x.subspan(1)));
  if (rest == 0) return h;
  const double parts[] = {alpha, rest};
  const double beta = -std::copysign(norm_of(std::span<const double>(parts)), alpha);
  h.tau = (beta - alpha) / beta;
  for (size_t i = 1; i < x.size(); ++i) h.v[i] = x[i] / (alpha - beta);
  std::ranges::fill(x, 0);
  x[0] = beta;
  return h;
}

// a := (I - tau v v^T) a, on the columns from `from` on.
void apply_left(const Reflector& h, Matrix<double>& a, int64_t from) {
  for (int64_t j = from; j < a.columns(); ++j) {
    const std::span<double> column = a.column(j, h.first);
    double sum = 0;
    for (size_t i = 0; i < h.v.size(); ++i) sum += h.v[i] * column[i];
    sum *= h.tau;
    for (size_t i = 0; i < h.v.size(); ++i) column[i] -= h.v[i] * sum;
  }
}

// a := a (I - tau v v^T), on the first `rows` rows.
void apply_right(const Reflector& h, Matrix<double>& a, int64_t rows) {
  const auto size = static_cast<int64_t>(h.v.size());
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < size; ++j) sum += a(i, h.first + j) * h.v[static_cast<size_t>(j)];
    sum *= h.tau;
    for (int64_t j = 0; j < size; ++j) a(i, h.first + j) -= sum * h.v[static_cast<size_t>(j)];
  }
}

class RealIteration {
 public:
  RealIteration(Schur<double>& out, int64_t low, int64_t high, double ulp)
      : out_(out), h_(out.t), low_(low), high_(high), ulp_(ulp) {}

  void run() {
    const int64_t limit = 30 * std::max<int64_t>(10, high_ - low_);
    for (int64_t end = high_ - 1; end >= low_;) {
      int64_t start = low_;
      int64_t steps = 0;
      for (int64_t tries = 0;; ++tries) {
        start = find_start(h_, start, end, low_, high_, ulp_);
        if (start >= end - 1) break;
        if (tries == limit) {
          out_.info = static_cast<int>(end + 1);
          return;
        }
        step(start, end, ++steps);
      }
      if (start == end - 1) finish_pair(start);
      end = start - 1;
    }
  }

 private:
  struct Shifts {
    Complex first, second;
  };

  // Eigenvalues of the last pair, or exceptional ones now and then.
  Shifts find_shifts(int64_t start, int64_t end, int64_t steps) const {
    double a = h_(end - 1, end - 1), b = h_(end - 1, end), c = h_(end, end - 1), d = h_(end, end);
    if (steps % 20 == 0) {
      exceptional(std::abs(h_(end, end - 1)) + std::abs(h_(end - 1, end - 2)), h_(end, end), a, b,
                  c, d);
    } else if (steps % 10 == 0) {
      exceptional(std::abs(h_(start + 1, start)) + std::abs(h_(start + 2, start + 1)),
                  h_(start, start), a, b, c, d);
    }
    const double sum = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d);
    if (sum == 0) return {};
    a /= sum, b /= sum, c /= sum, d /= sum;
    const double middle = (a + d) / 2;
    const double determinant = (a - middle) * (d - middle) - b * c;
    const double root = std::sqrt(std::abs(determinant));
    if (determinant >= 0)
      return {Complex(middle * sum, root * sum), Complex(middle * sum, -root * sum)};
    const double upper = middle + root, lower = middle - root;
    const Complex nearest = (std::abs(upper - d) <= std::abs(lower - d) ? upper : lower) * sum;
    return {nearest, nearest};
  }
  static void exceptional(double s, double corner, double& a, double& b, double& c, double& d) {
    a = d = 0.75 * s + corner;
    b = -0.4375 * s;
    c = s;
  }

  // The first column of (H - first)(H - second), from row m on, to within a factor.
  std::array<double, 3> first_column(int64_t m, const Shifts& shifts) const {
    const double r1 = shifts.first.real(), i1 = shifts.first.imag();
    const double r2 = shifts.second.real(), i2 = shifts.second.imag();
    const double s = std::abs(h_(m, m) - r2) + std::abs(i2) + std::abs(h_(m + 1, m));
    const double below = h_(m + 1, m) / s;
    std::array<double, 3> v = {
        below * h_(m, m + 1) + (h_(m, m) - r1) * ((h_(m, m) - r2) / s) - i1 * (i2 / s),
        below * (h_(m, m) + h_(m + 1, m + 1) - r1 - r2), below * h_(m + 2, m + 1)};
    const double sum = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
    for (double& x : v) x /= sum;
    return v;
  }

  void step(int64_t start, int64_t end, int64_t steps) {
    const Shifts shifts = find_shifts(start, end, steps);
    int64_t m = end - 2;
    std::array<double, 3> v = first_column(m, shifts);
    while (m > start) {  // two small couplings in a row let the step begin between them
      const double around =
          std::abs(h_(m - 1, m - 1)) + std::abs(h_(m, m)) + std::abs(h_(m + 1, m + 1));
      if (std::abs(h_(m, m - 1)) * (std::abs(v[1]) + std::abs(v[2])) <=
          ulp_ * std::abs(v[0]) * around)
        break;
      v = first_column(--m, shifts);
    }
    for (int64_t k = m; k < end; ++k) {
      const auto size = static_cast<size_t>(std::min<int64_t>(3, end - k + 1));
      if (k > m) {
        for (size_t i = 0; i < size; ++i) v[i] = h_(k + static_cast<int64_t>(i), k - 1);
      }
      const Reflector h = make_reflector(std::span<double>(v.data(), size), k);
      if (k > m) {
        for (size_t i = 0; i < size; ++i) h_(k + static_cast<int64_t>(i), k - 1) = v[i];
      } else if (m > start) {
        h_(k, k - 1) *= 1 - h.tau;  // the row below it is as good as zero
      }
      apply_left(h, h_, k);
      apply_right(h, h_, std::min(k + 4, end + 1));
      apply_right(h, out_.z, out_.z.rows());
    }
  }

  void finish_pair(int64_t i) {
    const Block block = standardised({h_(i, i), h_(i, i + 1), h_(i + 1, i), h_(i + 1, i + 1)});
    rotate_rows(h_, i, i + 1, block.cos, block.sin, i + 2);
    for (int64_t k = 0; k < i; ++k) {
      const double x = h_(k, i), y = h_(k, i + 1);
      h_(k, i) = block.cos * x + block.sin * y;
      h_(k, i + 1) = block.cos * y - block.sin * x;
    }
    rotate_columns(out_.z, i, i + 1, block.cos, block.sin);
    h_(i, i) = block.a;
    h_(i, i + 1) = block.b;
    h_(i + 1, i) = block.c;
    h_(i + 1, i + 1) = block.d;
  }

  Schur<double>& out_;
  Matrix<double>& h_;
  const int64_t low_, high_;
  const double ulp_;
};

void iterate(Schur<double>& out, int64_t low, int64_t high, Precision precision) {
  const double ulp = precision == Precision::kSingle ? std::numeric_limits<float>::epsilon() : kUlp;
  RealIteration(out, low, high, ulp).run();
}

template <class T>
std::vector<Complex> values_of(const Matrix<T>& t) {
  std::vector<Complex> out;
  for (int64_t i = 0; i < t.rows(); ++i) {
    const bool is_pair = i + 1 < t.rows() && t(i + 1, i) != T(0);
    if (!is_pair) {
      out.emplace_back(t(i, i));
      continue;
    }
    const double size = std::sqrt(std::abs(t(i, i + 1))) * std::sqrt(std::abs(t(i + 1, i)));
    out.emplace_back(real_of(t(i, i)), size);
    out.emplace_back(real_of(t(i + 1, i + 1)), -size);
    ++i;
  }
  return out;
}

}  // namespace

template <class T>
Schur<T> schur(Matrix<T> a, int64_t low, int64_t high, Precision precision) {
  const int64_t n = a.rows();
  const Reflectors<T> reduced = hessenberg(std::move(a), low, high);
  Schur<T> out;
  out.z = columns_of(reduced, n);
  out.t = other_factor(reduced, n);
  iterate(out, low, high, precision);
  out.values = values_of(out.t);
  return out;
}

template Schur<double> schur(Matrix<double>, int64_t, int64_t, Precision);
template Schur<Complex> schur(Matrix<Complex>, int64_t, int64_t, Precision);

}  // namespace heddle::interpreter::linalg
