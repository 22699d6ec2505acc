// Calls beside LAPACK's. XLA itself writes and expands xla::SelfAdjointEig, with which torch_xla
// computes symmetric eigenvalues; JAX has a solver of its own for inverse iteration.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/jacobi.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/solve.h"

namespace heddle::interpreter::linalg {
namespace {

// -0 below +0, NaN of either sign at its end.
template <class R>
bool total_order(R a, R b) {
  const auto rank = [](R x) {
    return std::isnan(x) ? (std::signbit(x) ? -2 : 2) : x == 0 ? (std::signbit(x) ? -1 : 1) : 0;
  };
  const int p = rank(a), q = rank(b);
  if (std::abs(p) == 2 || std::abs(q) == 2) return p < q && (p == -2 || q == 2);
  return a < b || (a == b && p < q);
}

// Columns by ascending values. Of equals the order is that of std::sort, as in XLA's own sort,
// which is not stable here.
template <class T>
void sort_values(JacobiEigen<T>& eigen) {
  std::vector<int64_t> order(eigen.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return total_order(real_of(eigen.values[static_cast<size_t>(a)]),
                       real_of(eigen.values[static_cast<size_t>(b)]));
  });
  JacobiEigen<T> out{Matrix<T>(eigen.vectors.rows(), eigen.vectors.columns()), {}};
  for (size_t j = 0; j < order.size(); ++j) {
    std::ranges::copy(eigen.vectors.column(order[j]),
                      out.vectors.column(static_cast<int64_t>(j)).begin());
    out.values.push_back(eigen.values[static_cast<size_t>(order[j])]);
  }
  eigen = std::move(out);
}

// Eigh(a): (eigenvectors, eigenvalues).
template <class T>
StatusOr<Literal> eigh(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const hlo::EighOptions options, hlo::eigh_options(call.instruction()));
  Batch batch(call);
  std::vector<Matrix<T>> matrices;
  for (int64_t at = 0; at < batch.size(); ++at)
    matrices.push_back(hermitian(batch.matrix<T>(0, at), options.lower != 0));
  std::vector<JacobiEigen<T>> found = jacobi_eigen(matrices, options);
  for (int64_t at = 0; at < batch.size(); ++at) {
    JacobiEigen<T>& eigen = found[static_cast<size_t>(at)];
    if (options.is_sorted != 0 && eigen.values.size() > 1) sort_values(eigen);
    batch.put(0, at, eigen.vectors);
    std::vector<Real<T>> values;
    for (const T& value : eigen.values) values.push_back(real_of(value));
    batch.put(1, at, values);
  }
  return std::move(batch).finish();
}

// tridiagonal_solve_perturbed_ffi(dl, d, du, b): x. dl[0] and du[n-1] are not looked at.
template <class T>
StatusOr<Literal> perturbed(CustomCall& call) {
  Batch batch(call, 1);
  for (int64_t at = 0; at < batch.size(); ++at) {
    const std::vector<T> below = batch.vector<T>(0, at), middle = batch.vector<T>(1, at),
                         above = batch.vector<T>(2, at);
    Matrix<T> b = batch.matrix<T>(3, at);
    solve_perturbed<T>(below, middle, above, b);
    batch.put(0, at, b);
  }
  return std::move(batch).finish();
}

constexpr LapackRoutine kXlaCalls[] = {
    {"Eigh", eigh<float>, eigh<double>, eigh<SingleComplex>, eigh<Complex>, true},
    {"tridiagonal_solve_perturbed_ffi", perturbed<float>, perturbed<double>,
     perturbed<SingleComplex>, perturbed<Complex>, true},
};

}  // namespace

std::span<const LapackRoutine> xla_calls() { return kXlaCalls; }

}  // namespace heddle::interpreter::linalg
