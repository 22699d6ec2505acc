#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/schur.h"

namespace heddle::interpreter::linalg {
namespace {

template <class T>
class Balancer {
 public:
  explicit Balancer(Matrix<T>& a) : a_(a) {
    out_.high = a.rows();
    out_.factors.assign(static_cast<size_t>(a.rows()), 1.0);
  }

  Balance run(bool scaled) {
    while (move_rows_down()) {
    }
    while (out_.high > 1 && move_columns_up()) {
    }
    while (scaled && scale_once()) {
    }
    return std::move(out_);
  }

 private:
  void swap(int64_t i, int64_t j) {
    out_.swaps.emplace_back(i, j);
    if (i == j) return;
    a_.swap_columns(i, j);
    a_.swap_rows(i, j);
  }

  // A row that is zero but for its diagonal, within [0, high), has its eigenvalue there: it becomes
  // the last one.
  bool move_rows_down() {
    bool found = false;
    for (int64_t i = out_.high - 1; i >= 0 && out_.high > 1; --i) {
      if (!is_alone(0, i, [&](int64_t k) { return a_(i, k); })) continue;
      swap(i, out_.high - 1);
      --out_.high;
      found = true;
    }
    return found;
  }

  // The same for columns within [low, high), which become the first.
  bool move_columns_up() {
    bool found = false;
    for (int64_t j = out_.low; j < out_.high; ++j) {
      if (!is_alone(out_.low, j, [&](int64_t k) { return a_(k, j); })) continue;
      swap(j, out_.low);
      ++out_.low;
      found = true;
    }
    return found;
  }

  template <class At>
  bool is_alone(int64_t from, int64_t diagonal, const At& at) const {
    for (int64_t k = from; k < out_.high; ++k) {
      if (k != diagonal && at(k) != T(0)) return false;
    }
    return true;
  }

  bool scale_once() {
    bool changed = false;
    for (int64_t i = out_.low; i < out_.high; ++i) changed |= scale_row(i);
    return changed;
  }

  bool scale_row(int64_t i) {
    std::vector<T> across;
    for (int64_t k = out_.low; k < out_.high; ++k) across.push_back(a_(i, k));
    const auto size = static_cast<size_t>(out_.high - out_.low);
    double column = norm_of(std::span<const T>(a_.column(i, out_.low).first(size)));
    double row = norm_of(std::span<const T>(across));
    if (column == 0 || row == 0) return false;
    const double before = column + row;
    double factor = 1;
    for (; column < row / 2 && factor < 1e150; column *= 2, row /= 2) factor *= 2;
    for (; column / 2 >= row && factor > 1e-150; column /= 2, row *= 2) factor /= 2;
    if (column + row >= 0.95 * before) return false;
    double& total = out_.factors[static_cast<size_t>(i)];
    if ((factor < 1 && total < 1e-150) || (factor > 1 && total > 1e150)) return false;
    total *= factor;
    for (int64_t k = out_.low; k < a_.columns(); ++k) a_(i, k) /= factor;
    for (int64_t k = 0; k < out_.high; ++k) a_(k, i) *= factor;
    return true;
  }

  Matrix<T>& a_;
  Balance out_;
};

}  // namespace

template <class T>
Balance balance(Matrix<T>& a, bool scaled) {
  return Balancer<T>(a).run(scaled);
}

template <class T>
void undo_balance(const Balance& balance, bool left, Matrix<T>& vectors) {
  for (int64_t j = 0; j < vectors.columns(); ++j) {
    for (int64_t i = 0; i < vectors.rows(); ++i) {
      const double factor = balance.factors[static_cast<size_t>(i)];
      vectors(i, j) *= left ? 1 / factor : factor;
    }
  }
  for (size_t k = balance.swaps.size(); k-- > 0;)
    vectors.swap_rows(balance.swaps[k].first, balance.swaps[k].second);
}

template Balance balance(Matrix<double>&, bool);
template Balance balance(Matrix<Complex>&, bool);
template void undo_balance(const Balance&, bool, Matrix<double>&);
template void undo_balance(const Balance&, bool, Matrix<Complex>&);

}  // namespace heddle::interpreter::linalg
