#include "heddle/hlo/linalg/internal/reflectors.h"

#include <cmath>

namespace heddle::hlo::linalg {

template <class T>
Reflector<T> make_reflector(std::span<T> x, int64_t first) {
  Reflector<T> h{first, std::vector<T>(x.size()), T(0)};
  if (x.empty()) return h;
  h.v[0] = T(1);
  const T alpha = x[0];
  const double rest = norm_of(std::span<const T>(x.subspan(1)));
  if (rest == 0 && imag_of(alpha) == 0) return h;
  const double parts[] = {real_of(alpha), imag_of(alpha), rest};
  const double beta = -std::copysign(norm_of(std::span<const double>(parts)), real_of(alpha));
  h.tau = (T(beta) - alpha) / beta;
  const T divisor = alpha - T(beta);
  for (size_t i = 1; i < x.size(); ++i) h.v[i] = x[i] / divisor;
  std::ranges::fill(x, T(0));
  x[0] = T(beta);
  return h;
}

template <class T>
void apply_left(const Reflector<T>& h, T tau, Matrix<T>& a, int64_t from, int64_t to) {
  if (tau == T(0)) return;
  for (int64_t j = from; j < to; ++j) {
    const std::span<T> column = a.column(j, h.first);
    T sum{};
    for (size_t i = 0; i < h.v.size(); ++i) sum += conjugate(h.v[i]) * column[i];
    sum *= tau;
    for (size_t i = 0; i < h.v.size(); ++i) column[i] -= h.v[i] * sum;
  }
}

template <class T>
void apply_right(const Reflector<T>& h, T tau, Matrix<T>& a, int64_t from, int64_t to) {
  if (tau == T(0)) return;
  const auto size = static_cast<int64_t>(h.v.size());
  for (int64_t i = from; i < to; ++i) {
    T sum{};
    for (int64_t j = 0; j < size; ++j) sum += a(i, h.first + j) * h.v[static_cast<size_t>(j)];
    sum *= tau;
    for (int64_t j = 0; j < size; ++j)
      a(i, h.first + j) -= sum * conjugate(h.v[static_cast<size_t>(j)]);
  }
}

template <class T>
Matrix<T> times(const Reflectors<T>& q, Matrix<T> c) {
  for (size_t k = q.size(); k-- > 0;) apply_left(q[k], q[k].tau, c, 0, c.columns());
  return c;
}

template <class T>
Matrix<T> times_adjoint(const Reflectors<T>& q, Matrix<T> c) {
  for (const Reflector<T>& h : q) apply_left(h, conjugate(h.tau), c, 0, c.columns());
  return c;
}

namespace {

// Makes the reflector of column j from row `first` on, and applies its adjoint to the columns
// after.
template <class T>
Reflector<T> eliminate_column(Matrix<T>& a, int64_t j, int64_t first) {
  Reflector<T> h = make_reflector(a.column(j, first), first);
  apply_left(h, conjugate(h.tau), a, j + 1, a.columns());
  return h;
}

// The same for row i from column `first` on: a := a H, so that the row becomes (beta, 0, ..).
template <class T>
Reflector<T> eliminate_row(Matrix<T>& a, int64_t i, int64_t first) {
  std::vector<T> row;
  for (int64_t j = first; j < a.columns(); ++j) row.push_back(conjugate(a(i, j)));
  Reflector<T> h = make_reflector(std::span<T>(row), first);
  for (int64_t j = first; j < a.columns(); ++j) a(i, j) = row[static_cast<size_t>(j - first)];
  apply_right(h, h.tau, a, i + 1, a.rows());
  return h;
}

// Position of the first of the largest norms of columns [from, n), of their rows from `from` on.
template <class T>
int64_t largest_column(const Matrix<T>& a, int64_t from) {
  int64_t best = from;
  double largest = -1;
  for (int64_t j = from; j < a.columns(); ++j) {
    const double norm = norm_of(a.column(j, from));
    if (norm > largest) {
      largest = norm;
      best = j;
    }
  }
  return best;
}

}  // namespace

template <class T>
QR<T> qr(Matrix<T> a) {
  QR<T> out;
  for (int64_t i = 0; i < std::min(a.rows(), a.columns()); ++i)
    out.q.push_back(eliminate_column(a, i, i));
  out.r = std::move(a);
  return out;
}

template <class T>
PivotedQR<T> pivoted_qr(Matrix<T> a, const std::vector<bool>& fixed) {
  PivotedQR<T> out;
  for (int64_t j = 0; j < a.columns(); ++j) out.order.push_back(j);
  int64_t front = 0;
  auto swap = [&](int64_t i, int64_t j) {
    a.swap_columns(i, j);
    std::swap(out.order[static_cast<size_t>(i)], out.order[static_cast<size_t>(j)]);
  };
  for (int64_t j = 0; j < a.columns(); ++j) {
    if (fixed[static_cast<size_t>(j)]) swap(front++, j);
  }
  for (int64_t i = 0; i < std::min(a.rows(), a.columns()); ++i) {
    if (i >= front) swap(i, largest_column(a, i));
    out.qr.q.push_back(eliminate_column(a, i, i));
  }
  out.qr.r = std::move(a);
  return out;
}

template <class T>
Matrix<T> pack(const Reflectors<T>& q, Matrix<T> r, int64_t offset) {
  for (size_t k = 0; k < q.size(); ++k) {
    for (size_t i = 1; i < q[k].v.size(); ++i) {
      r(q[k].first + static_cast<int64_t>(i), q[k].first - offset) = q[k].v[i];
    }
  }
  return r;
}

template <class T>
Reflectors<T> unpack(const Matrix<T>& packed, std::span<const T> tau) {
  Reflectors<T> out;
  for (int64_t j = 0; j < static_cast<int64_t>(tau.size()); ++j) {
    const std::span<const T> column = packed.column(j, j);
    out.push_back({j, {column.begin(), column.end()}, tau[static_cast<size_t>(j)]});
    if (!out.back().v.empty()) out.back().v[0] = T(1);
  }
  return out;
}

template <class T>
Bidiagonal<T> bidiagonalise(Matrix<T> a) {
  Bidiagonal<T> out;
  out.lower = a.rows() < a.columns();
  const int64_t size = std::min(a.rows(), a.columns());
  for (int64_t i = 0; i < size; ++i) {
    if (out.lower) {
      out.p.push_back(eliminate_row(a, i, i));
      if (i + 1 < size) out.q.push_back(eliminate_column(a, i, i + 1));
    } else {
      out.q.push_back(eliminate_column(a, i, i));
      if (i + 1 < size) out.p.push_back(eliminate_row(a, i, i + 1));
    }
    out.d.push_back(real_of(a(i, i)));
    if (i + 1 < size) out.e.push_back(real_of(out.lower ? a(i + 1, i) : a(i, i + 1)));
  }
  return out;
}

template <class T>
Tridiagonal<T> tridiagonalise(Matrix<T> a, bool upward) {
  Tridiagonal<T> out;
  const int64_t n = a.rows();
  out.d.resize(static_cast<size_t>(n));
  out.e.resize(static_cast<size_t>(std::max<int64_t>(n - 1, 0)));
  if (upward) {  // the same on the matrix with its rows and columns reversed
    Matrix<T> reversed(n, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) reversed(i, j) = a(n - 1 - i, n - 1 - j);
    }
    out = tridiagonalise(std::move(reversed), false);
    std::ranges::reverse(out.d);
    std::ranges::reverse(out.e);
    for (Reflector<T>& h : out.q) {  // v ends at row n - 1 - first, with its one last
      std::ranges::reverse(h.v);
      h.first = 0;
    }
    return out;
  }
  for (int64_t i = 0; i + 1 < n; ++i) {
    const Reflector<T> h = eliminate_column(a, i, i + 1);
    apply_right(h, h.tau, a, i + 1, n);
    out.q.push_back(h);
    out.e[static_cast<size_t>(i)] = real_of(a(i + 1, i));
  }
  for (int64_t i = 0; i < n; ++i) out.d[static_cast<size_t>(i)] = real_of(a(i, i));
  return out;
}

template <class T>
Hessenberg<T> hessenberg(Matrix<T> a, int64_t low, int64_t high) {
  Hessenberg<T> out;
  for (int64_t i = low; i + 1 < high; ++i) {
    const auto size = static_cast<size_t>(high - i - 1);
    Reflector<T> h = make_reflector(a.column(i, i + 1).first(size), i + 1);
    apply_right(h, h.tau, a, 0, high);
    apply_left(h, conjugate(h.tau), a, i + 1, a.columns());
    out.q.push_back(std::move(h));
  }
  out.h = std::move(a);
  return out;
}

#define HEDDLE_INSTANTIATE(T)                                                      \
  template Reflector<T> make_reflector(std::span<T>, int64_t);                     \
  template void apply_left(const Reflector<T>&, T, Matrix<T>&, int64_t, int64_t);  \
  template void apply_right(const Reflector<T>&, T, Matrix<T>&, int64_t, int64_t); \
  template Matrix<T> times(const Reflectors<T>&, Matrix<T>);                       \
  template Matrix<T> times_adjoint(const Reflectors<T>&, Matrix<T>);               \
  template QR<T> qr(Matrix<T>);                                                    \
  template PivotedQR<T> pivoted_qr(Matrix<T>, const std::vector<bool>&);           \
  template Matrix<T> pack(const Reflectors<T>&, Matrix<T>, int64_t);               \
  template Reflectors<T> unpack(const Matrix<T>&, std::span<const T>);             \
  template Bidiagonal<T> bidiagonalise(Matrix<T>);                                 \
  template Tridiagonal<T> tridiagonalise(Matrix<T>, bool);                         \
  template Hessenberg<T> hessenberg(Matrix<T>, int64_t, int64_t);
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(Complex)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::hlo::linalg
