// tridiagonal_solve: one loop that takes the entries below the diagonal away, and one back.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

using Two = std::tuple<Tensor, Tensor>;
// A row from its diagonal on: its entry there and the one after it, and its right side. A row that
// was exchanged has a third entry.
using Row = std::tuple<Tensor, Tensor, Tensor>;
using PivotRow = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// [batch.., n] as n rows of [batch.., 1].
Expr rows_first(const Expr& x) { return moveaxis(column(x).operand(), -2, 0); }

Tensor row_of(const Expr& rows, int64_t i) {
  return dynamic_index_in_dim(rows.operand(), i, 0, false);
}
Tensor rows_from_1(const Expr& rows) {
  return slice_in_dim(rows.operand(), 1, rows.tensor().dim(0), 1, 0);
}

// Partial pivoting: of the row that is left of those above and the next one, the one with the
// greater first entry stays, and the other loses its entry.
std::pair<Row, PivotRow> eliminated(const Row& left, const PivotRow& next) {
  const auto& [d, u, r] = left;
  const auto& [below, next_d, next_u, next_r] = next;
  const Expr stays = abs(Expr(d)) >= abs(Expr(below));
  const Expr zero = Expr(u).like(0);
  const Expr pivot = where(stays, Expr(d), Expr(below));
  const Expr factor = where(stays, Expr(below), Expr(d)) / pivot;
  const Expr first = where(stays, Expr(u), Expr(next_d));
  const Expr second = where(stays, zero, Expr(next_u));
  const Expr right = where(stays, Expr(r), Expr(next_r));
  const Expr lower_d = where(stays, Expr(next_d), Expr(u)) - factor * first;
  const Expr lower_u = where(stays, Expr(next_u), zero) - factor * second;
  const Expr lower_r = where(stays, Expr(next_r), Expr(r)) - factor * right;
  return {Row{lower_d.tensor(), lower_u.tensor(), lower_r.tensor()},
          PivotRow{pivot.tensor(), first.tensor(), second.tensor(), right.tensor()}};
}

// x of one row, by those of the two below it, which it takes the places of.
std::pair<Two, Tensor> substituted(const Two& below, const PivotRow& row) {
  const auto& [x1, x2] = below;
  const auto& [d, first, second, right] = row;
  const Tensor x =
      ((Expr(right) - Expr(first) * Expr(x1) - Expr(second) * Expr(x2)) / Expr(d)).tensor();
  return {Two{x, x1}, x};
}

Expr solution_of(const Expr& lower, const Expr& diagonal, const Expr& upper, const Expr& b) {
  const Expr d = rows_first(diagonal), l = rows_first(lower), u = rows_first(upper);
  const Expr right = moveaxis(b.operand(), -2, 0);
  const Row top{row_of(d, 0), row_of(u, 0), row_of(right, 0)};
  const PivotRow others{rows_from_1(l), rows_from_1(d), rows_from_1(u), rows_from_1(right)};
  const auto [last, pivots] = scan(eliminated, top, others);
  const Expr end = Expr(std::get<2>(last)) / Expr(std::get<0>(last));
  const Two start{end.tensor(), end.like(0).tensor()};
  const Expr xs = scan(substituted, start, pivots, {.reverse = true}).second;
  return moveaxis(concat({xs.tensor(), expand_dims(end.operand(), 0)}, 0), 0, -2);
}

}  // namespace

Tensor tridiagonal_solve(Operand below, Operand middle, Operand above, Operand right) {
  const trace_internal::PublicCall call("linalg::tridiagonal_solve", middle.at());
  const Expr d = numbers_of("diagonal", middle, 1);
  const int64_t n = d.tensor().dim(-1);
  const auto beside = [&](std::string_view name, const Operand& operand) {
    const Expr x = numbers_of(name, operand, 1);
    check_same_dtype(d, x, name);
    if (x.tensor().shape() != d.tensor().shape())
      trace_internal::refuse(name, " is ", x.tensor().shape(), "; must be ", d.tensor().shape(),
                             ", as diagonal is");
    return x;
  };
  const Expr l = beside("lower", below), u = beside("upper", above);
  const Expr b = numbers_of("b", right, 1);
  check_same_dtype(d, b);
  const bool is_vector = b.tensor().rank() == 1;
  if (b.tensor().dim(is_vector ? 0 : -2) != n) {
    trace_internal::refuse("b is ", b.tensor().shape(), "; must have ", n, " rows, as diagonal, ",
                           d.tensor().shape(), ", has");
  }
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    const auto [rows_of_d, all] =
        broadcast_batches(column(in[1]), is_vector ? column(in[3]) : in[3]);
    if (n == 0) return {is_vector ? swept(all) : all};
    const Dimensions sizes = swept(rows_of_d).dimensions();
    const auto batch = [&](const Expr& x) { return Expr(broadcast_to(x.tensor(), sizes)); };
    const Expr upper = where(Expr(iota(s32, {n}, 0)) < n - 1, in[2], in[2].like(0));
    const Expr x = solution_of(batch(in[0]), batch(in[1]), batch(upper), all);
    return {is_vector ? swept(x) : x};
  };
  return as_program("linalg::tridiagonal_solve", KnownOptions(), {l, d, u, b}, of)[0];
}

}  // namespace heddle::linalg
