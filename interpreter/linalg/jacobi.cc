// Row i is paired with row i + k of 2k; all k pairs are rotated at once, and then change places as
// in a tournament, so that each has met each after 2k - 1 rounds, a sweep, and stands where it
// stood.
// A matrix of odd size has a row and a column of zeros more, which no rotation mixes in.
#include "heddle/interpreter/linalg/internal/jacobi.h"

#include <cmath>
#include <limits>

namespace heddle::interpreter::linalg {
namespace {

// The rotation that makes [[tl, tr], [conj(tr), br]] diagonal.
template <class T>
struct Rotation {
  T s = 0;
  Real<T> c = 1;
  Real<T> top = 0, bottom = 0;  // the eigenvalues
};

template <class T>
Rotation<T> rotation_of(Real<T> tl, T tr, Real<T> br) {
  using R = Real<T>;
  R size{};
  T phase(1);
  if constexpr (std::is_same_v<T, R>) {
    size = tr;
  } else {
    size = std::abs(tr);
    if (size != 0) phase = conjugate(tr) / size;
  }
  const R tau = (br - tl) / (2 * size);
  const R root = std::sqrt(1 + tau * tau);
  R t = 1 / (tau + (tau >= 0 ? root : -root));
  constexpr float kTiny = 0.1F * std::numeric_limits<float>::epsilon();  // XLA's, in every type
  const R least = std::isnan(tl) ? tl : std::isnan(br) ? br : std::min(std::abs(tl), std::abs(br));
  if (std::abs(size) <= static_cast<R>(kTiny) * least) t = 0;
  const R c = 1 / std::sqrt(1 + t * t);
  return {t * c * phase, c, tl - t * size, br + t * size};
}

template <class T>
class Jacobi {
 public:
  explicit Jacobi(const Matrix<T>& a)
      : size_(a.rows()),
        half_((size_ + 1) / 2),
        w_(with_corner(Matrix<T>(2 * half_, 2 * half_), a)),
        v_(Matrix<T>::identity(2 * half_, 2 * half_)) {}

  [[nodiscard]] bool is_done(Real<T> tolerance) const {
    Real<T> all = 0, off = 0;
    for (int64_t j = 0; j < w_.columns(); ++j) {
      for (int64_t i = 0; i < w_.rows(); ++i) {
        const Real<T> square = real_of(w_(i, j) * conjugate(w_(i, j)));
        all += square;
        if (i != j) off += square;
      }
    }
    return !(all * (tolerance * tolerance) < off);
  }

  void sweep() {
    for (int64_t round = 1; round < 2 * half_; ++round) rotate();
  }

  [[nodiscard]] JacobiEigen<T> result() const {
    JacobiEigen<T> out{rows_of(columns_of(adjoint(v_), 0, size_), 0, size_), {}};
    for (int64_t i = 0; i < size_; ++i) out.values.push_back(real_of(w_(i, i)));
    return out;
  }

 private:
  void rotate() {
    std::vector<Rotation<T>> rotations;
    for (int64_t i = 0; i < half_; ++i)
      rotations.push_back(
          rotation_of<T>(real_of(w_(i, i)), w_(i, i + half_), real_of(w_(i + half_, i + half_))));
    turn_rows(rotations, w_);
    turn_columns(rotations, w_);
    for (int64_t i = 0; i < half_; ++i) {
      w_(i, i) = rotations[static_cast<size_t>(i)].top;
      w_(i, i + half_) = w_(i + half_, i) = T(0);
      w_(i + half_, i + half_) = rotations[static_cast<size_t>(i)].bottom;
    }
    turn_rows(rotations, v_);
    const std::vector<int64_t> order = next_places();
    w_ = placed(w_, order, order);
    std::vector<int64_t> still;
    for (int64_t j = 0; j < 2 * half_; ++j) still.push_back(j);
    v_ = placed(v_, order, still);
  }

  void turn_rows(const std::vector<Rotation<T>>& rotations, Matrix<T>& a) const {
    for (int64_t j = 0; j < a.columns(); ++j) {
      for (int64_t i = 0; i < half_; ++i) {
        const Rotation<T>& by = rotations[static_cast<size_t>(i)];
        const T top = a(i, j), bottom = a(i + half_, j);
        a(i, j) = top * by.c - bottom * conjugate(by.s);
        a(i + half_, j) = top * by.s + bottom * by.c;
      }
    }
  }

  void turn_columns(const std::vector<Rotation<T>>& rotations, Matrix<T>& a) const {
    for (int64_t j = 0; j < half_; ++j) {
      const Rotation<T>& by = rotations[static_cast<size_t>(j)];
      for (int64_t i = 0; i < a.rows(); ++i) {
        const T left = a(i, j), right = a(i, j + half_);
        a(i, j) = left * by.c - right * by.s;
        a(i, j + half_) = left * conjugate(by.s) + right * by.c;
      }
    }
  }

  // Which row comes to each place: the first stays, those above move on by one and turn down at the
  // end, those below come back.
  [[nodiscard]] std::vector<int64_t> next_places() const {
    std::vector<int64_t> out = {0};
    if (half_ > 1) out.push_back(half_);
    for (int64_t i = 1; i + 1 < half_; ++i) out.push_back(i);
    for (int64_t i = 1; i < half_; ++i) out.push_back(half_ + i);
    out.push_back(half_ > 1 ? half_ - 1 : 1);
    return out;
  }

  static Matrix<T> placed(const Matrix<T>& from, const std::vector<int64_t>& rows,
                          const std::vector<int64_t>& columns) {
    Matrix<T> out(from.rows(), from.columns());
    for (int64_t j = 0; j < out.columns(); ++j) {
      for (int64_t i = 0; i < out.rows(); ++i)
        out(i, j) = from(rows[static_cast<size_t>(i)], columns[static_cast<size_t>(j)]);
    }
    return out;
  }

  int64_t size_, half_;
  Matrix<T> w_, v_;
};

}  // namespace

template <class T>
std::vector<JacobiEigen<T>> jacobi_eigen(const std::vector<Matrix<T>>& batch,
                                         const hlo::EighOptions& options) {
  std::vector<Jacobi<T>> running(batch.begin(), batch.end());
  const auto all_done = [&] {
    return std::ranges::all_of(
        running, [&](const Jacobi<T>& each) { return each.is_done(options.tolerance); });
  };
  for (int64_t sweep = 0; sweep < options.most_sweeps && !all_done(); ++sweep) {
    for (Jacobi<T>& each : running) each.sweep();
  }
  std::vector<JacobiEigen<T>> out;
  for (const Jacobi<T>& each : running) out.push_back(each.result());
  return out;
}

#define HEDDLE_INSTANTIATE(T)                                                      \
  template std::vector<JacobiEigen<T>> jacobi_eigen(const std::vector<Matrix<T>>&, \
                                                    const hlo::EighOptions&);
HEDDLE_FOR_FIELDS(HEDDLE_INSTANTIATE)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::interpreter::linalg
