// Equations of tensors as those of matrices, and the polynomial nearest to points.
#include <algorithm>
#include <cmath>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/linalg/spectra.h"
#include "heddle/linalg/structured.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/grids.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/vectors.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

int64_t count_of(const Dimensions& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

void require_points(const Located& x, const Located& y, int64_t degree) {
  const Tensor &a = x.tensor(), &b = y.tensor();
  if (a.rank() == 1 && (b.rank() == 1 || b.rank() == 2) && a.size() > 0 && b.dim(0) == a.size() &&
      degree >= 0)
    return;
  throw Error(
      trace_internal::invalid_argument(
          "linalg::polyfit", ": x is ", a.shape(), ", y ", b.shape(), " and degree ", degree,
          "; x must be a vector [n] with elements, y [n] or [n, k], degree 0 "
          "or more"),
      x.at());
}

// The roots of p[n], n > 1. Zeros in front are turned to the end, where each is a root 0 more.
Located roots_of(const Located& p) {
  const auto n = static_cast<int32_t>(p.tensor().size());
  const auto numbers = [&](int64_t count) { return p.with(iota(s32, {count}, 0, p.at())); };
  const Located present = p != 0, some = any_of(present);
  const Located first = p.with(argmax(present.operand(), 0)).astype(s32);
  const Located before = where(some, first, n);
  const Located turned = p.with(take(p.operand(), ((numbers(n) + first) % n).operand()));
  const Located monic = where(some, turned, where(numbers(n) == 0, 1.0, turned));
  const Located found = p.with(eigvals({companion(monic.operand()), p.at()}));
  const Located order = p.with(argsort((found == 0).astype(s32).operand()));
  const Located sorted = p.with(take(found.operand(), order.operand()));
  return where(numbers(n - 1) < n - 1 - before, sorted, NAN);
}

}  // namespace

Tensor tensorsolve(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::tensorsolve", left.at());
  const Located a = numbers_of("linalg::tensorsolve", "a", left, 0);
  const Located b = numbers_of("linalg::tensorsolve", "b", right, 0);
  check_same_dtype("linalg::tensorsolve", a, b);
  const Dimensions &whole = a.dimensions(), &rows = b.dimensions();
  const bool begins =
      rows.size() <= whole.size() && std::equal(rows.begin(), rows.end(), whole.begin());
  const Dimensions unknowns(
      begins ? whole.begin() + static_cast<int64_t>(rows.size()) : whole.end(), whole.end());
  const int64_t n = b.tensor().size();
  if (!begins || count_of(unknowns) != n)
    throw Error(
        trace_internal::invalid_argument(
            "linalg::tensorsolve", ": a is ", a.tensor().shape(), "; b is ", b.tensor().shape(),
            ", a must begin with its axes, and have as many elements in the "
            "others"),
        a.at());
  return as_program("linalg::tensorsolve", a.at(), [&]() -> std::vector<Located> {
    const Located matrix = a.with(reshape(a.operand(), {n, n}));
    const Located vector = b.with(reshape(b.operand(), {n}));
    return {a.with(reshape({solve(matrix.operand(), vector.operand()), a.at()}, unknowns))};
  })[0];
}

Tensor tensorinv(Operand operand, base::Int axes) {
  const trace_internal::PublicCall call("linalg::tensorinv", operand.at());
  const Located a = numbers_of("linalg::tensorinv", "a", operand, 0);
  const Dimensions& whole = a.dimensions();
  const int64_t rank = a.tensor().rank();
  const bool splits = axes > 0 && axes <= rank;
  const Dimensions rows(whole.begin(), whole.begin() + (splits ? int64_t{axes} : 0));
  const Dimensions columns(whole.begin() + (splits ? int64_t{axes} : 0), whole.end());
  const int64_t n = count_of(rows);
  if (!splits || count_of(columns) != n)
    throw Error(trace_internal::invalid_argument(
                    "linalg::tensorinv", ": a is ", a.tensor().shape(), " and axes ", axes,
                    "; the first axes must have as many elements as the others"),
                a.at());
  return as_program("linalg::tensorinv", a.at(), [&]() -> std::vector<Located> {
    const Located matrix = a.with(reshape(a.operand(), {n, n}));
    Dimensions shape = columns;
    shape.insert(shape.end(), rows.begin(), rows.end());
    return {a.with(reshape({inv(matrix.operand()), a.at()}, shape))};
  })[0];
}

Tensor polyfit(Operand places, Operand values, base::Int degree) {
  const trace_internal::PublicCall call("linalg::polyfit", places.at());
  const Located x = numbers_of("linalg::polyfit", "x", places, 0);
  const Located y = numbers_of("linalg::polyfit", "y", values, 0);
  check_same_dtype("linalg::polyfit", x, y);
  require_points(x, y, degree);
  return as_program("linalg::polyfit", x.at(), [&]() -> std::vector<Located> {
    const Located powers = x.with(vander(x.operand(), degree + 1));
    const Located squares = x.with(sum(square(abs(powers)).operand(), {.axes = {0}}));
    const Located scale = sqrt(squares).astype(x.dtype());
    const Located scaled = powers / where(scale == 0.0, 1.0, scale);
    const double rcond = static_cast<double>(x.tensor().size()) * epsilon_of(x.dtype());
    const Located found = x.with(lstsq(scaled.operand(), y.operand(), rcond).x);
    const Located divisor = where(scale == 0.0, 1.0, scale);
    return {found / (y.tensor().rank() == 2 ? column(divisor) : divisor)};
  })[0];
}

Tensor roots(Operand polynomial) {
  const trace_internal::PublicCall call("linalg::roots", polynomial.at());
  const Located p = numbers_of("linalg::roots", "p", polynomial, 1);
  trace_internal::vector_of("linalg::roots", "p", p.operand());
  return as_program("linalg::roots", p.at(), [&]() -> std::vector<Located> {
    if (p.tensor().size() > 1) return {roots_of(p)};
    return {p.with(zeros({0}, real_dtype(p.dtype()) == f32 ? c64 : c128, p.at()))};
  })[0];
}

}  // namespace heddle::linalg
