// Singular values and vectors of small square matrices as LAPACK's gesdd finds them: a bidiagonal
// matrix by reflectors (gebd2), then implicit QR steps with and without a shift (bdsqr; Demmel and
// Kahan, Accurate singular values of bidiagonal matrices, 1990). The operations and their order are
// LAPACK's, so signs are too. They may differ where vectors are not unique, and where rounding
// decides whether one more step follows. The calls, checks and workspace around the operations,
// which take longer than the matrix, are not LAPACK's. tests/cpu/kernels/eigen_test.cc bounds the
// error of u diag(s) v^T.
#include <array>
#include <utility>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/spectra/internal/small_matrices.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostSingularRows = 4;

// The least singular value of [f g; 0 h], as las2.
template <class T>
T least_of_two(T f, T g, T h) {
  f = std::abs(f), g = std::abs(g), h = std::abs(h);
  const T low = std::min(f, h), high = std::max(f, h);
  if (low == 0) return 0;
  const T sum = 1 + low / high, difference = (high - low) / high;
  if (g < high) {
    const T square = g / high * (g / high);
    return low *
           (2 / (std::sqrt(sum * sum + square) + std::sqrt(difference * difference + square)));
  }
  const T ratio = high / g;
  if (ratio == 0) return low * high / g;
  const T x = sum * ratio, y = difference * ratio;
  return 2 * (low * (1 / (std::sqrt(1 + x * x) + std::sqrt(1 + y * y))) * ratio);
}

template <class T>
struct SingularPair {
  T least, most, cl, sl, cr, sr;
};
// [cl sl; -sl cl] [f g; 0 h] [cr -sr; sr cr] = diag(most, least), as lasv2.
template <class T>
SingularPair<T> singular_of_two(T f, T g, T h) {
  const bool swaps = std::abs(h) > std::abs(f);
  const T ft = swaps ? h : f, ht = swaps ? f : h;
  const T fa = std::abs(ft), ha = std::abs(ht), ga = std::abs(g);
  SingularPair<T> out{};
  if (ga == 0) {
    out = {ha, fa, 1, 0, 1, 0};
  } else if (ga > fa && fa / ga < kUnitRoundoff<T>) {
    out = {ha > 1 ? fa / (ga / ha) : fa / ga * ha, ga, 1, ht / g, ft / g, 1};
  } else {
    const T d = fa - ha, l = d == fa ? T(1) : d / fa, m = g / ft, t = 2 - l;
    const T mm = m * m, s = std::sqrt(t * t + mm);
    const T r = l == 0 ? std::abs(m) : std::sqrt(l * l + mm);
    const T a = T(0.5) * (s + r);
    T tangent;
    if (mm != 0) {
      tangent = (m / (s + t) + m / (r + l)) * (1 + a);
    } else if (l == 0) {
      tangent = std::copysign(T(2), ft) * std::copysign(T(1), g);
    } else {
      tangent = g / std::copysign(d, ft) + m / t;
    }
    const T root = std::sqrt(tangent * tangent + 4);
    out.cr = 2 / root;
    out.sr = tangent / root;
    out.cl = (out.cr + out.sr * m) / a;
    out.sl = ht / ft * out.sr / a;
    out.least = ha / a;
    out.most = fa * a;
  }
  if (swaps) {
    std::swap(out.cl, out.sr);
    std::swap(out.sl, out.cr);
  }
  const auto sign = [](T x) { return std::copysign(T(1), x); };
  const T turned = ga > std::max(fa, ha) ? sign(out.sr) * sign(out.cl) * sign(g)
                   : swaps               ? sign(out.sr) * sign(out.sl) * sign(h)
                                         : sign(out.cr) * sign(out.cl) * sign(f);
  out.most = std::copysign(out.most, turned);
  out.least = std::copysign(out.least, turned * sign(f) * sign(h));
  return out;
}

template <class T, int n>
class SmallSvd {
 public:
  // Row-major. False: numbers that LAPACK would scale or refuse, or that do not converge, and
  // nothing is written.
  bool run(const T* a, T* s, T* u, T* vt) {
    T most = 0;
    for (int i = 0; i < n * n; ++i) {
      if (std::isnan(a[i])) return false;
      most = std::max(most, std::abs(a[i]));
      c_[i % n][i / n] = a[i];
    }
    if (!is_usual_size(most, std::sqrt(kLeast) / (2 * kEpsilon)) || !make_bidiagonal())
      return false;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) u_[j][i] = v_[j][i] = i == j ? 1 : 0;
    }
    if (!diagonalize()) return false;
    sort();
    std::copy_n(d_.data(), n, s);
    for (int j = 0; j < n; ++j) {
      for (int i = n - 1; i >= 0; --i) reflect(left_[i], i, u_[j]);
      for (int i = n - 2; i >= 0; --i) reflect(right_[i], i + 1, v_[j]);
      for (int i = 0; i < n; ++i) {
        u[i * n + j] = u_[j][i];
        vt[j * n + i] = v_[j][i];
      }
    }
    return true;
  }

 private:
  using Column = std::array<T, n>;
  static constexpr T kEpsilon = kUnitRoundoff<T>;
  static constexpr T kLeast = std::numeric_limits<T>::min();
  static constexpr int kMostSteps = 6 * n * n;

  struct Reflector {
    Column v{};
    T tau = 0;
  };

  // larfg of x from `first` on. False: LAPACK would scale it.
  static bool make_reflector(int first, Column& x, Reflector& to) {
    T squares = 0, most = 0;
    for (int k = first + 1; k < n; ++k) most = std::max(most, std::abs(x[k]));
    to.tau = 0;
    if (most == 0) return true;
    const T scale = most > std::sqrt(kLeast) / kEpsilon ? T(1) : most;
    for (int k = first + 1; k < n; ++k) squares += x[k] / scale * (x[k] / scale);
    const T alpha = x[first];
    const T beta = -std::copysign(hypotenuse(alpha, scale * std::sqrt(squares)), alpha);
    if (std::abs(beta) < kLeast / kEpsilon) return false;
    to.tau = (beta - alpha) / beta;
    const T by = 1 / (alpha - beta);
    to.v[first] = 1;
    for (int k = first + 1; k < n; ++k) to.v[k] = x[k] * by;
    x[first] = beta;
    return true;
  }

  static void reflect(const Reflector& by, int first, Column& x) {
    if (by.tau == 0) return;
    T sum = 0;
    for (int k = first; k < n; ++k) sum += x[k] * by.v[k];
    for (int k = first; k < n; ++k) x[k] -= by.tau * sum * by.v[k];
  }

  bool make_bidiagonal() {
    for (int i = 0; i < n; ++i) {
      if (!make_reflector(i, c_[i], left_[i])) return false;
      d_[i] = c_[i][i];
      for (int j = i + 1; j < n; ++j) reflect(left_[i], i, c_[j]);
      if (i + 1 == n) break;
      Column row{};
      for (int j = i + 1; j < n; ++j) row[j] = c_[j][i];
      if (!make_reflector(i + 1, row, right_[i])) return false;
      e_[i] = row[i + 1];
      for (int k = i + 1; k < n; ++k) {
        for (int j = i + 1; j < n; ++j) row[j] = c_[j][k];
        reflect(right_[i], i + 1, row);
        for (int j = i + 1; j < n; ++j) c_[j][k] = row[j];
      }
    }
    return true;
  }

  // Couplings of this size are zeros.
  T threshold() const {
    T least = std::abs(d_[0]), at = least;
    for (int i = 1; i < n && least != 0; ++i) {
      at = std::abs(d_[i]) * (at / (at + std::abs(e_[i - 1])));
      least = std::min(least, at);
    }
    return std::max(tolerance_ * least / std::sqrt(T(n)), 6 * (n * (n * kLeast)));
  }

  // bdsqr: the last block without a zero coupling, again and again. False: one does not converge.
  bool diagonalize() {
    const T thresh = threshold();
    int old_first = -1, old_last = -1, steps = 0;
    bool down = true;
    for (int last = n - 1; last > 0;) {
      if (steps > kMostSteps) return false;
      T most = std::abs(d_[last]);
      int first = last;
      while (first > 0 && std::abs(e_[first - 1]) > thresh) {
        --first;
        most = std::max({most, std::abs(d_[first]), std::abs(e_[first])});
      }
      if (first > 0) e_[first - 1] = 0;
      if (first == last) {
        --last;
      } else if (first + 1 == last) {
        const SingularPair<T> two = singular_of_two(d_[first], e_[first], d_[last]);
        d_[first] = two.most;
        e_[first] = 0;
        d_[last] = two.least;
        turn(v_, first, two.cr, two.sr);
        turn(u_, first, two.cl, two.sl);
        last -= 2;
      } else {
        if (first > old_last || last < old_first) down = std::abs(d_[first]) >= std::abs(d_[last]);
        T least = 0;
        if (splits(first, last, down, least)) continue;
        old_first = first;
        old_last = last;
        const T shift = shift_of(first, last, down, least, most);
        steps += last - first;
        if (shift == 0) {
          down ? step_down(first, last) : step_up(first, last);
        } else {
          down ? step_down(first, last, shift) : step_up(first, last, shift);
        }
        T& end = e_[down ? last - 1 : first];
        if (std::abs(end) <= thresh) end = 0;
      }
    }
    return true;
  }

  // Sets a coupling that is negligible to zero. Else `least` is a bound of the singular values.
  bool splits(int first, int last, bool down, T& least) {
    T& end = e_[down ? last - 1 : first];
    if (std::abs(end) <= tolerance_ * std::abs(d_[down ? last : first])) {
      end = 0;
      return true;
    }
    T at = least = std::abs(d_[down ? first : last]);
    for (int k = 0; k < last - first; ++k) {
      const int i = down ? first + k : last - 1 - k;
      if (std::abs(e_[i]) <= tolerance_ * at) {
        e_[i] = 0;
        return true;
      }
      at = std::abs(d_[down ? i + 1 : i]) * (at / (at + std::abs(e_[i])));
      least = std::min(least, at);
    }
    return false;
  }

  T shift_of(int first, int last, bool down, T least, T most) const {
    if (n * tolerance_ * (least / most) <= std::max(kEpsilon, T(0.01) * tolerance_)) return 0;
    const T size = std::abs(d_[down ? first : last]);
    const int at = down ? last - 1 : first;
    const T shift = least_of_two(d_[at], e_[at], d_[at + 1]);
    return size > 0 && shift / size * (shift / size) < kEpsilon ? T(0) : shift;
  }

  // Steps without a shift, from the top to the bottom and the other way.
  void step_down(int first, int last) {
    Rotation<T> right, left;
    for (int i = first; i < last; ++i) {
      right = rotation_to_zero(d_[i] * right.c, e_[i]);
      if (i > first) e_[i - 1] = left.s * right.r;
      left = rotation_to_zero(left.c * right.r, d_[i + 1] * right.s);
      d_[i] = left.r;
      turn(v_, i, right.c, right.s);
      turn(u_, i, left.c, left.s);
    }
    const T h = d_[last] * right.c;
    d_[last] = h * left.c;
    e_[last - 1] = h * left.s;
  }

  void step_up(int first, int last) {
    Rotation<T> left, right;
    for (int i = last; i > first; --i) {
      left = rotation_to_zero(d_[i] * left.c, e_[i - 1]);
      if (i < last) e_[i] = right.s * left.r;
      right = rotation_to_zero(right.c * left.r, d_[i - 1] * left.s);
      d_[i] = right.r;
      turn(u_, i - 1, left.c, -left.s);
      turn(v_, i - 1, right.c, -right.s);
    }
    const T h = d_[first] * left.c;
    d_[first] = h * right.c;
    e_[first] = h * right.s;
  }

  static T begin_of(T d, T shift) {
    return (std::abs(d) - shift) * (std::copysign(T(1), d) + shift / d);
  }

  void step_down(int first, int last, T shift) {
    T f = begin_of(d_[first], shift), g = e_[first];
    for (int i = first; i < last; ++i) {
      const Rotation<T> right = rotation_to_zero(f, g);
      if (i > first) e_[i - 1] = right.r;
      f = right.c * d_[i] + right.s * e_[i];
      e_[i] = right.c * e_[i] - right.s * d_[i];
      g = right.s * d_[i + 1];
      d_[i + 1] *= right.c;
      const Rotation<T> left = rotation_to_zero(f, g);
      d_[i] = left.r;
      f = left.c * e_[i] + left.s * d_[i + 1];
      d_[i + 1] = left.c * d_[i + 1] - left.s * e_[i];
      if (i + 1 < last) {
        g = left.s * e_[i + 1];
        e_[i + 1] *= left.c;
      }
      turn(v_, i, right.c, right.s);
      turn(u_, i, left.c, left.s);
    }
    e_[last - 1] = f;
  }

  void step_up(int first, int last, T shift) {
    T f = begin_of(d_[last], shift), g = e_[last - 1];
    for (int i = last; i > first; --i) {
      const Rotation<T> left = rotation_to_zero(f, g);
      if (i < last) e_[i] = left.r;
      f = left.c * d_[i] + left.s * e_[i - 1];
      e_[i - 1] = left.c * e_[i - 1] - left.s * d_[i];
      g = left.s * d_[i - 1];
      d_[i - 1] *= left.c;
      const Rotation<T> right = rotation_to_zero(f, g);
      d_[i] = right.r;
      f = right.c * e_[i - 1] + right.s * d_[i - 1];
      d_[i - 1] = right.c * d_[i - 1] - right.s * e_[i - 1];
      if (i > first + 1) {
        g = right.s * e_[i - 2];
        e_[i - 2] *= right.c;
      }
      turn(u_, i - 1, left.c, -left.s);
      turn(v_, i - 1, right.c, -right.s);
    }
    e_[first] = f;
  }

  static void turn(std::array<Column, n>& vectors, int j, T c, T s) {
    for (int i = 0; i < n; ++i) {
      const T x = vectors[j + 1][i];
      vectors[j + 1][i] = c * x - s * vectors[j][i];
      vectors[j][i] = s * x + c * vectors[j][i];
    }
  }

  // Values that are not negative, the largest first.
  void sort() {
    for (int i = 0; i < n; ++i) {
      const bool is_negative = n == 1 ? std::signbit(d_[i]) : d_[i] < 0;
      d_[i] = std::abs(d_[i]);
      if (!is_negative) continue;
      for (T& x : n == 1 ? u_[i] : v_[i]) x = -x;  // bdsdc has a way of its own for one row
    }
    for (int end = n - 1; end > 0; --end) {
      int least = 0;
      for (int j = 1; j <= end; ++j) {
        if (d_[j] <= d_[least]) least = j;
      }
      if (least == end) continue;
      std::swap(d_[least], d_[end]);
      std::swap(u_[least], u_[end]);
      std::swap(v_[least], v_[end]);
    }
  }

  const T tolerance_ = std::clamp<T>(std::pow(kEpsilon, T(-0.125)), T(10), T(100)) * kEpsilon;
  std::array<Column, n> c_{}, u_{}, v_{};  // columns; those of v are rows of the result
  std::array<Reflector, n> left_{}, right_{};
  Column d_{}, e_{};
};

template <class T, int n>
bool find_singular(const T* a, int64_t count, T* s, T* u, T* vt) {
  SmallSvd<T, n> one;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i * n * n;
    if (!one.run(a + at, s + i * n, u + at, vt + at)) return false;
  }
  return true;
}

template <class T>
class SvdKernel final : public Kernel {
 public:
  SvdKernel(int64_t batch, int64_t rows, std::unique_ptr<Kernel> rule)
      : batch_(batch), rows_(rows), rule_(std::move(rule)) {
    constexpr FindSingular kOf[] = {find_singular<T, 1>, find_singular<T, 2>, find_singular<T, 3>,
                                    find_singular<T, 4>};
    static_assert(std::size(kOf) == kMostSingularRows);
    find_ = kOf[rows - 1];
  }

  // a; the same, values, u, v^T, info.
  Status run(std::span<void* const> pointers) const override {
    const int64_t size = rows_ * rows_;
    const auto* const a = static_cast<const T*>(pointers[0]);
    const auto result = [&](size_t which) { return static_cast<T*>(pointers[which]); };
    const bool is_usual = for_matrices(batch_, [&](int64_t first, int64_t count) {
      const int64_t at = first * size;
      return find_(a + at, count, result(2) + first * rows_, result(3) + at, result(4) + at);
    });
    if (!is_usual) return rule_->run(pointers);
    if (result(1) != a) std::copy_n(a, batch_ * size, result(1));
    std::fill_n(static_cast<int32_t*>(pointers[5]), batch_, 0);
    return {};
  }

 private:
  using FindSingular = bool (*)(const T* a, int64_t count, T* s, T* u, T* vt);

  int64_t batch_, rows_;
  FindSingular find_;
  std::unique_ptr<Kernel> rule_;
};

}  // namespace

std::unique_ptr<Kernel> make_svd_kernel(const hlo::Instruction& call, const Shape& a,
                                        std::unique_ptr<Kernel> rule) {
  const Shape* const operands[] = {&a};
  if (hlo::lapack_routine(call, operands) != "gesdd") return rule;
  const int64_t rows = a.dimension(a.rank() - 1);
  if (rows < 1 || rows > kMostSingularRows || rows != a.dimension(a.rank() - 2)) return rule;
  if (hlo::lapack_option(call.extras.get().backend_config, "mode") == "78") return rule;
  const int64_t batch = a.element_count() / (rows * rows);
  if (a.dtype() == f32) return std::make_unique<SvdKernel<float>>(batch, rows, std::move(rule));
  if (a.dtype() == f64) return std::make_unique<SvdKernel<double>>(batch, rows, std::move(rule));
  return rule;
}

}  // namespace heddle::cpu
