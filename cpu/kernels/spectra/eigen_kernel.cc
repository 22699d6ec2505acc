// Eigenvalues and eigenvectors of small symmetric matrices as LAPACK's syevd finds them: a
// tridiagonal matrix by reflectors (sytd2), then implicit QL or QR steps (steqr). The operations
// and their order are LAPACK's, so signs are too; the calls, checks and workspace around them,
// which take longer than the matrix, are not.
#include <array>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/spectra/internal/small_matrices.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostEigenRows = 4;

// The eigenvalues of [a b; b c], the one of larger size first, and its vector (c, s), as laev2.
template <class T>
struct Pair {
  T first, second, c, s;
};
template <class T>
Pair<T> eigen_of_two(T a, T b, T c) {
  const T sum = a + c, difference = a - c, twice = b + b;
  const T most = std::abs(a) > std::abs(c) ? a : c, least = std::abs(a) > std::abs(c) ? c : a;
  const T width = std::abs(difference), height = std::abs(twice);
  const T ratio = width > height ? height / width : width / height;
  const T root = width == height ? height * std::sqrt(T(2))
                                 : std::max(width, height) * std::sqrt(1 + ratio * ratio);
  Pair<T> out{};
  out.first = sum == 0 ? root / 2 : (sum < 0 ? sum - root : sum + root) / 2;
  out.second = sum == 0 ? -root / 2 : (most / out.first) * least - (b / out.first) * b;
  const T cosine = difference >= 0 ? difference + root : difference - root;
  if (std::abs(cosine) > height) {
    const T t = -twice / cosine;
    out.s = 1 / std::sqrt(1 + t * t);
    out.c = t * out.s;
  } else if (height == 0) {
    out.c = 1;
  } else {
    const T t = -cosine / twice;
    out.c = 1 / std::sqrt(1 + t * t);
    out.s = t * out.c;
  }
  if ((sum < 0) == (difference < 0)) out = {out.first, out.second, -out.s, out.c};
  return out;
}

// The upper triangle is the lower one of the matrix from its end.
template <class T, int n, bool lower>
class SmallEigen {
 public:
  // Row-major. False: numbers that LAPACK would scale or refuse, and nothing is written.
  bool run(const T* a, T* vectors, T* values) {
    const auto place = [&](int i) { return lower ? i : n - 1 - i; };
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) a_[j][i] = a[place(i) * n + place(j)];
    }
    if (!is_usual() || !make_tridiagonal()) return false;
    if constexpr (!lower) {
      std::reverse(d_.begin(), d_.end());
      std::reverse(e_.begin(), e_.end() - 1);
    }
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) z_[j][i] = i == j ? 1 : 0;
    }
    if (!diagonalize()) return false;
    sort();
    for (int j = 0; j < n; ++j) {
      if constexpr (!lower) std::reverse(z_[j].begin(), z_[j].end());
      for (int i = n - 2; i >= 0; --i) reflect(i, z_[j]);
      for (int i = 0; i < n; ++i) vectors[place(i) * n + j] = z_[j][i];
      values[j] = d_[j];
    }
    return true;
  }

 private:
  using Column = std::array<T, n>;
  static constexpr T kEpsilon = kUnitRoundoff<T>;
  static constexpr T kLeast = std::numeric_limits<T>::min();

  // Calls fn(k) for k from `first` on, in LAPACK's order.
  template <class Fn>
  static void each(int first, const Fn& fn) {
    for (int i = first; i < n; ++i) fn(lower ? i : n - 1 - (i - first));
  }

  bool is_usual() const {
    T most = 0;
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) most = std::abs(a_[j][i]) <= most ? most : std::abs(a_[j][i]);
      for (int i = j; i < n; ++i) {
        if (std::isnan(a_[j][i])) return false;
      }
    }
    return is_usual_size(most, std::sqrt(kLeast / (2 * kEpsilon)));
  }

  // sytd2. The reflectors stand below the diagonal, each with a 1 that is not written.
  bool make_tridiagonal() {
    for (int i = 0; i + 1 < n; ++i) {
      if (!make_reflector(i)) return false;
      e_[i] = a_[i][i + 1];
      if (tau_[i] != 0) {
        a_[i][i + 1] = 1;
        update_behind(i);
      }
      d_[i] = a_[i][i];
    }
    d_[n - 1] = a_[n - 1][n - 1];
    return true;
  }

  // larfg of column i below the diagonal.
  bool make_reflector(int i) {
    T squares = 0, most = 0;
    for (int k = i + 2; k < n; ++k) most = std::max(most, std::abs(a_[i][k]));
    tau_[i] = 0;
    if (most == 0) return true;
    const T scale = most > std::sqrt(kLeast) / kEpsilon ? T(1) : most;
    each(i + 2, [&](int k) { squares += a_[i][k] / scale * (a_[i][k] / scale); });
    T& alpha = a_[i][i + 1];
    const T beta = -std::copysign(hypotenuse(alpha, scale * std::sqrt(squares)), alpha);
    if (std::abs(beta) < kLeast / kEpsilon) return false;
    tau_[i] = (beta - alpha) / beta;
    const T by = 1 / (alpha - beta);
    for (int k = i + 2; k < n; ++k) a_[i][k] *= by;
    alpha = beta;
    return true;
  }

  // A := H A H behind column i, for the reflector H in it: symv, axpy, syr2.
  void update_behind(int i) {
    const Column& v = a_[i];
    Column w{};
    each(i + 1, [&](int j) {
      const T scaled = tau_[i] * v[j];
      T sum = 0;
      w[j] += scaled * a_[j][j];
      each(j + 1, [&](int k) {
        w[k] += scaled * a_[j][k];
        sum += a_[j][k] * v[k];
      });
      w[j] += tau_[i] * sum;
    });
    T dot = 0;
    each(i + 1, [&](int k) { dot += w[k] * v[k]; });
    const T by = T(-0.5) * tau_[i] * dot;
    for (int k = i + 1; k < n; ++k) w[k] += by * v[k];
    for (int j = i + 1; j < n; ++j) {
      for (int k = j; k < n; ++k) a_[j][k] = a_[j][k] + v[k] * -w[j] + w[k] * -v[j];
    }
  }

  // x := H x for reflector i.
  void reflect(int i, Column& x) const {
    if (tau_[i] == 0) return;
    T sum = 0;
    each(i + 1, [&](int k) { sum += x[k] * (k > i + 1 ? a_[i][k] : T(1)); });
    const T by = -tau_[i] * sum;
    x[i + 1] += by;
    for (int k = i + 2; k < n; ++k) x[k] += a_[i][k] * by;
  }

  // steqr: blocks between couplings that are negligible. False: one does not converge.
  bool diagonalize() {
    steps_left_ = 30 * n;
    for (int first = 0, last = 0; first < n; first = last + 1) {
      for (last = first; last + 1 < n; ++last) {
        const T size = std::abs(e_[last]);
        if (size == 0) break;
        if (size <= std::sqrt(std::abs(d_[last])) * std::sqrt(std::abs(d_[last + 1])) * kEpsilon) {
          e_[last] = 0;
          break;
        }
      }
      if (last > first && !diagonalize(first, last)) return false;
    }
    return true;
  }

  bool diagonalize(int first, int last) {
    T most = 0;
    for (int i = first; i <= last; ++i) most = std::max(most, std::abs(d_[i]));
    for (int i = first; i < last; ++i) most = std::max(most, std::abs(e_[i]));
    if (most == 0) return true;
    const T least = std::sqrt(kLeast) / (kEpsilon * kEpsilon);
    const T scale = most < least ? least : most;
    if (scale != most) scale_block(first, last, scale / most);
    const bool is_found =
        std::abs(d_[last]) < std::abs(d_[first]) ? steps(last, first, -1) : steps(first, last, 1);
    if (scale != most) scale_block(first, last, most / scale);
    return is_found;
  }

  void scale_block(int first, int last, T by) {
    for (int i = first; i <= last; ++i) d_[i] *= by;
    for (int i = first; i < last; ++i) e_[i] *= by;
  }

  // Between d[i] and d[i + way].
  T& coupling(int i, int way) { return e_[way > 0 ? i : i - 1]; }

  // Finds d[at], the next one, and so on to d[end]: QL, and QR where the way is -1.
  bool steps(int at, int end, int way) {
    while ((end - at) * way >= 0) {
      int m = at;
      while (m != end) {
        const T size = std::abs(coupling(m, way));
        if (size * size <= (kEpsilon * kEpsilon * std::abs(d_[m])) * std::abs(d_[m + way]) + kLeast)
          break;
        m += way;
      }
      if (m != end) coupling(m, way) = 0;
      if (m == at) {
        at += way;
      } else if (m == at + way) {
        const int low = std::min(at, m);
        const Pair<T> two = eigen_of_two(d_[low], e_[low], d_[low + 1]);
        turn(low, two.c, two.s);
        d_[low] = two.first;
        d_[low + 1] = two.second;
        e_[low] = 0;
        at += 2 * way;
      } else {
        if (steps_left_-- == 0) return false;
        step(at, m, way);
      }
    }
    return true;
  }

  void step(int at, int m, int way) {
    T p = d_[at];
    T g = (d_[at + way] - p) / (2 * coupling(at, way));
    g = d_[m] - p + coupling(at, way) / (g + std::copysign(hypotenuse(g, T(1)), g));
    T s = 1, c = 1;
    p = 0;
    for (int i = m - way;; i -= way) {
      const T f = s * coupling(i, way), b = c * coupling(i, way);
      const Rotation<T> by = rotation_to_zero(g, f);
      c = by.c, s = by.s;
      if (i != m - way) coupling(i + way, way) = by.r;
      g = d_[i + way] - p;
      const T r = (d_[i] - g) * s + 2 * c * b;
      p = s * r;
      d_[i + way] = g + p;
      g = c * r - b;
      turn(std::min(i, i + way), c, way > 0 ? -s : s);
      if (i == at) break;
    }
    d_[at] -= p;
    coupling(at, way) = g;
  }

  void turn(int j, T c, T s) {
    for (int i = 0; i < n; ++i) {
      const T x = z_[j + 1][i];
      z_[j + 1][i] = c * x - s * z_[j][i];
      z_[j][i] = s * x + c * z_[j][i];
    }
  }

  void sort() {
    for (int i = 0; i + 1 < n; ++i) {
      int least = i;
      for (int j = i + 1; j < n; ++j) {
        if (d_[j] < d_[least]) least = j;
      }
      if (least == i) continue;
      std::swap(d_[i], d_[least]);
      std::swap(z_[i], z_[least]);
    }
  }

  std::array<Column, n> a_{}, z_{};  // columns
  Column d_{}, e_{}, tau_{};
  int steps_left_ = 0;
};

template <class T, int n, bool lower>
bool find_all(const T* a, int64_t count, T* vectors, T* values) {
  SmallEigen<T, n, lower> one;
  for (int64_t i = 0; i < count; ++i) {
    if (!one.run(a + i * n * n, vectors + i * n * n, values + i * n)) return false;
  }
  return true;
}

template <class T>
using FindAll = bool (*)(const T* a, int64_t count, T* vectors, T* values);
template <class T, bool lower>
FindAll<T> find_all_of(int64_t rows) {
  constexpr FindAll<T> kOf[] = {find_all<T, 1, lower>, find_all<T, 2, lower>, find_all<T, 3, lower>,
                                find_all<T, 4, lower>};
  static_assert(std::size(kOf) == kMostEigenRows);
  return kOf[rows - 1];
}

template <class T>
class EigenKernel final : public Kernel {
 public:
  EigenKernel(int64_t batch, int64_t rows, bool lower, std::unique_ptr<Kernel> rule)
      : batch_(batch),
        rows_(rows),
        find_all_(lower ? find_all_of<T, true>(rows) : find_all_of<T, false>(rows)),
        rule_(std::move(rule)) {}

  Status run(std::span<void* const> pointers) const override {
    if (pointers[0] == pointers[1]) return rule_->run(pointers);  // the batch may be read again
    const bool is_usual = for_matrices(batch_, [&](int64_t first, int64_t count) {
      const int64_t at = first * rows_ * rows_;
      return find_all_(static_cast<const T*>(pointers[0]) + at, count,
                       static_cast<T*>(pointers[1]) + at,
                       static_cast<T*>(pointers[2]) + first * rows_);
    });
    if (!is_usual) return rule_->run(pointers);
    std::fill_n(static_cast<int32_t*>(pointers[3]), batch_, 0);
    return {};
  }

 private:
  int64_t batch_, rows_;
  FindAll<T> find_all_;
  std::unique_ptr<Kernel> rule_;
};

}  // namespace

std::unique_ptr<Kernel> make_eigen_kernel(const hlo::Instruction& call, const Shape& a,
                                          std::unique_ptr<Kernel> rule) {
  const Shape* const operands[] = {&a};
  if (hlo::lapack_routine(call, operands) != "syevd") return rule;
  const std::string& config = call.extras.get().backend_config;
  const int64_t rows = a.dimension(a.rank() - 1);
  if (rows < 1 || rows > kMostEigenRows || hlo::lapack_option(config, "mode") != "86") return rule;
  const bool lower = hlo::lapack_option(config, "uplo") == "76";
  const int64_t batch = a.element_count() / (rows * rows);
  if (a.dtype() == f32)
    return std::make_unique<EigenKernel<float>>(batch, rows, lower, std::move(rule));
  return std::make_unique<EigenKernel<double>>(batch, rows, lower, std::move(rule));
}

}  // namespace heddle::cpu
