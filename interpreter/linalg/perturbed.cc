// Tridiagonal equations that may be singular: see solve.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/solve.h"

namespace heddle::interpreter::linalg {
namespace {

template <class T>
T quotient(T a, T b) {
  return a / b;
}
// By Smith's method in f32, as jaxlib's kernel has it; ours of the library goes through double.
SingleComplex quotient(SingleComplex a, SingleComplex b) {
  const bool turned = std::abs(b.real()) < std::abs(b.imag());
  const float large = turned ? b.imag() : b.real(), small = turned ? b.real() : b.imag();
  const float ratio = small / large, size = small * ratio + large;
  if (turned) return {(a.real() * ratio + a.imag()) / size, (a.imag() * ratio - a.real()) / size};
  return {(a.imag() * ratio + a.real()) / size, (a.imag() - a.real() * ratio) / size};
}

template <class T>
class Perturbed {
 public:
  Perturbed(std::span<const T> below, std::span<const T> diagonal, std::span<const T> above,
            Matrix<T>& b)
      : below_(below),
        diagonal_(diagonal),
        above_(above),
        x_(b),
        n_(b.rows()),
        u_(static_cast<size_t>(n_), {T(0), T(0), T(0)}) {}

  void solve() {
    if (n_ == 0 || x_.columns() == 0) return;
    u(0) = {diagonal(0), n_ > 1 ? above(0) : T(0), T(0)};
    scale_ = size(u(0)[0]) + size(u(0)[1]);
    largest_ = std::max(size(u(0)[0]), size(u(0)[1]));
    for (int64_t k = 0; k + 1 < n_; ++k) eliminate(k);
    largest_ = std::max(largest_, size(u(n_ - 1)[0]));
    for (int64_t k = n_; k-- > 0;) substitute(k);
  }

 private:
  // Diagonal and the two above it, of U's row.
  using Row = std::array<T, 3>;

  static Real<T> size(T x) { return std::abs(x); }
  Row& u(int64_t i) { return u_[static_cast<size_t>(i)]; }
  [[nodiscard]] T below(int64_t i) const { return below_[static_cast<size_t>(i)]; }
  [[nodiscard]] T diagonal(int64_t i) const { return diagonal_[static_cast<size_t>(i)]; }
  [[nodiscard]] T above(int64_t i) const {
    return i + 1 < n_ ? above_[static_cast<size_t>(i)] : T(0);
  }

  // Rows k and k + 1, of which the one is taken whose first element is larger in parts of its row.
  void eliminate(int64_t k) {
    const T first = below(k + 1), second = diagonal(k + 1), third = above(k + 1);
    const Real<T> next_scale = size(first) + size(second) + size(third);
    u(k + 1)[0] = second;
    if (first == T(0)) {
      scale_ = next_scale;
      u(k + 1)[1] = third;
    } else if (size(first) / next_scale <=
               (u(k)[0] == T(0) ? Real<T>(0) : size(u(k)[0]) / scale_)) {
      scale_ = next_scale;
      const T factor = quotient(first, u(k)[0]);
      u(k + 1)[0] -= factor * u(k)[1];
      u(k + 1)[1] = third;
      for (int64_t j = 0; j < x_.columns(); ++j) x_(k + 1, j) -= factor * x_(k, j);
    } else {
      swap(k, quotient(u(k)[0], first), {first, second, third});
    }
    if (k + 2 >= n_) return;
    for (const T& each : u(k)) largest_ = std::max(largest_, size(each));
  }

  void swap(int64_t k, T factor, const Row& taken) {
    u(k + 1) = {u(k)[1] - factor * taken[1], -factor * taken[2], T(0)};
    u(k) = taken;
    for (int64_t j = 0; j < x_.columns(); ++j) {
      const T upper = x_(k, j);
      x_(k, j) = x_(k + 1, j);
      x_(k + 1, j) = upper - factor * x_(k, j);
    }
    scale_ = size(u(k + 1)[0]) + size(u(k + 1)[1]);
  }

  void substitute(int64_t k) {
    for (int64_t j = 0; j < x_.columns(); ++j) {
      for (int64_t i = 1; i <= 2 && k + i < n_; ++i)
        x_(k, j) -= u(k)[static_cast<size_t>(i)] * x_(k + i, j);
    }
    const T pivot = safe_pivot(k);
    for (int64_t j = 0; j < x_.columns(); ++j)
      x_(k, j) = n_ == 1 ? quotient(x_(k, j), pivot) : x_(k, j) * quotient(T(1), pivot);
  }

  // A pivot by which row k can be divided without overflow; or both are scaled up.
  T safe_pivot(int64_t k) {
    using R = Real<T>;
    T pivot = u(k)[0];
    constexpr R kLeast = std::numeric_limits<R>::min(), kMost = 1 / kLeast;
    R step = std::copysign(std::max(std::numeric_limits<R>::epsilon() * largest_, kLeast),
                           real_of(pivot));
    R largest = 0;
    for (int64_t j = 0; j < x_.columns(); ++j) largest = std::max(largest, size(x_(k, j)));
    while (size(pivot) < 1) {
      const bool is_tiny = size(pivot) < kLeast;
      if (is_tiny ? pivot == T(0) || largest * kLeast > size(pivot)
                  : largest > size(pivot) * kMost) {
        pivot += step;
        step *= 2;
      } else {
        if (!is_tiny) return pivot;
        for (int64_t j = 0; j < x_.columns(); ++j) x_(k, j) *= kMost;
        return pivot * kMost;
      }
    }
    return pivot;
  }

  std::span<const T> below_, diagonal_, above_;
  Matrix<T>& x_;
  const int64_t n_;
  std::vector<Row> u_;
  Real<T> scale_ = 0;
  Real<T> largest_ = 0;
};

}  // namespace

template <class T>
void solve_perturbed(std::span<const T> below, std::span<const T> diagonal,
                     std::span<const T> above, Matrix<T>& b) {
  Perturbed<T>(below, diagonal, above, b).solve();
}

#define HEDDLE_INSTANTIATE(T)                                                               \
  template void solve_perturbed(std::span<const T>, std::span<const T>, std::span<const T>, \
                                Matrix<T>&);
HEDDLE_FOR_FIELDS(HEDDLE_INSTANTIATE)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::interpreter::linalg
