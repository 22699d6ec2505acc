// Equations of tensors as equations of matrices, and the polynomial nearest to points.
#include <algorithm>
#include <cmath>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/linalg/spectra.h"
#include "heddle/linalg/structured.h"
#include "heddle/numpy/index_grids.h"
#include "heddle/numpy/vectors.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

int64_t count_of(const Dimensions& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

void require_points(const Expr& x, const Expr& y, int64_t degree) {
  const Tensor &a = x.tensor(), &b = y.tensor();
  if (a.rank() == 1 && (b.rank() == 1 || b.rank() == 2) && a.size() > 0 && b.dim(0) == a.size() &&
      degree >= 0)
    return;
  trace_internal::refuse("x is ", a.shape(), ", y ", b.shape(), " and degree ", degree,
                         "; x must be a vector [n] with elements, y [n] or [n, k], degree 0 "
                         "or more");
}

// The roots of p[n], n > 1. Zeros in front move to the end, where each adds a root 0.
Expr roots_of(const Expr& p) {
  const auto n = static_cast<int32_t>(p.tensor().size());
  const auto numbers = [&](int64_t count) { return Expr(iota(s32, {count}, 0)); };
  const Expr present = p != 0, some = any_of(present);
  const Expr first = Expr(argmax(present.operand(), 0)).astype(s32);
  const Expr before = where(some, first, n);
  const Expr turned = take(p.operand(), ((numbers(n) + first) % n).operand());
  const Expr monic = where(some, turned, where(numbers(n) == 0, 1.0, turned));
  const Expr found = eigvals(companion(monic.operand()));
  const Expr order = argsort((found == 0).astype(s32).operand());
  const Expr sorted = take(found.operand(), order.operand());
  return where(numbers(n - 1) < n - 1 - before, sorted, NAN);
}

}  // namespace

Tensor tensorsolve(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::tensorsolve", left.at());
  const Expr a = numbers_of("a", left, 0);
  const Expr b = numbers_of("b", right, 0);
  check_same_dtype(a, b);
  const Dimensions &whole = a.dimensions(), &rows = b.dimensions();
  const bool begins =
      rows.size() <= whole.size() && std::equal(rows.begin(), rows.end(), whole.begin());
  const Dimensions unknowns(
      begins ? whole.begin() + static_cast<int64_t>(rows.size()) : whole.end(), whole.end());
  const int64_t n = b.tensor().size();
  if (!begins || count_of(unknowns) != n)
    trace_internal::refuse("a is ", a.tensor().shape(), "; b is ", b.tensor().shape(),
                           ", a must begin with its axes, and have as many elements in the "
                           "others");
  return as_program("linalg::tensorsolve", [&]() -> std::vector<Expr> {
    const Expr matrix = reshape(a.operand(), {n, n});
    const Expr vector = reshape(b.operand(), {n});
    return {Expr(reshape(solve(matrix.operand(), vector.operand()), unknowns))};
  })[0];
}

Tensor tensorinv(Operand operand, base::Int axes) {
  const trace_internal::PublicCall call("linalg::tensorinv", operand.at());
  const Expr a = numbers_of("a", operand, 0);
  const Dimensions& whole = a.dimensions();
  const int64_t rank = a.tensor().rank();
  const bool splits = axes > 0 && axes <= rank;
  const Dimensions rows(whole.begin(), whole.begin() + (splits ? int64_t{axes} : 0));
  const Dimensions columns(whole.begin() + (splits ? int64_t{axes} : 0), whole.end());
  const int64_t n = count_of(rows);
  if (!splits || count_of(columns) != n)
    trace_internal::refuse("a is ", a.tensor().shape(), " and axes ", axes,
                           "; the first axes must have as many elements as the others");
  return as_program("linalg::tensorinv", [&]() -> std::vector<Expr> {
    const Expr matrix = reshape(a.operand(), {n, n});
    Dimensions shape = columns;
    shape.insert(shape.end(), rows.begin(), rows.end());
    return {Expr(reshape(inv(matrix.operand()), shape))};
  })[0];
}

Tensor polyfit(Operand places, Operand values, base::Int degree) {
  const trace_internal::PublicCall call("linalg::polyfit", places.at());
  const Expr x = numbers_of("x", places, 0);
  const Expr y = numbers_of("y", values, 0);
  check_same_dtype(x, y);
  require_points(x, y, degree);
  return as_program("linalg::polyfit", [&]() -> std::vector<Expr> {
    const Expr powers = vander(x.operand(), degree + 1);
    const Expr squares = sum(square(abs(powers)).operand(), {.axes = {0}});
    const Expr scale = sqrt(squares).astype(x.dtype());
    const Expr scaled = powers / where(scale == 0.0, 1.0, scale);
    const double rcond = static_cast<double>(x.tensor().size()) * epsilon_of(x.dtype());
    const Expr found = lstsq(scaled.operand(), y.operand(), rcond).x;
    const Expr divisor = where(scale == 0.0, 1.0, scale);
    return {found / (y.tensor().rank() == 2 ? column(divisor) : divisor)};
  })[0];
}

Tensor roots(Operand polynomial) {
  const trace_internal::PublicCall call("linalg::roots", polynomial.at());
  const Expr p = numbers_of("p", polynomial, 1);
  trace_internal::vector_of("p", p.operand());
  return as_program("linalg::roots", [&]() -> std::vector<Expr> {
    if (p.tensor().size() > 1) return {roots_of(p)};
    return {Expr(zeros({0}, real_dtype(p.dtype()) == f32 ? c64 : c128))};
  })[0];
}

}  // namespace heddle::linalg
