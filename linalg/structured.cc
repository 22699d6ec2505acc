#include "heddle/linalg/structured.h"

#include <bit>

#include "heddle/numpy/manipulation.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/vectors.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using trace_internal::Expr;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::vector_of;

// m x n elements of `line`: [i, j] is the element at start + row * i + step * j.
Expr along_diagonals(const Expr& line, int64_t m, int64_t n, int64_t start, int64_t row,
                     int64_t step) {
  const Expr i = iota(s32, {m, n}, 0);
  const Expr j = iota(s32, {m, n}, 1);
  return take(line.operand(), (start + i * row + j * step).operand());
}

// All but the first element.
Expr rest_of(const Expr& x) { return slice_in_dim(x.operand(), 1, x.tensor().size()); }

Tensor toeplitz_of(const Expr& column, const Expr& row) {
  const int64_t m = column.tensor().size(), n = row.tensor().size();
  // The column upwards, then the row: the diagonals from the lower left corner on.
  const Tensor up = flip(column.operand());
  const Expr line = concat({up, rest_of(row).tensor()}, 0);
  return along_diagonals(line, m, n, m - 1, -1, 1).tensor();
}

Tensor hankel_of(const Expr& column, const Expr& row) {
  const int64_t m = column.tensor().size(), n = row.tensor().size();
  const Expr line = concat({column.tensor(), rest_of(row).tensor()}, 0);
  return along_diagonals(line, m, n, 0, 1, 1).tensor();
}

Tensor of_column_and_row(std::string_view op, const Operand& column, const Operand& row,
                         Tensor (*of)(const Expr& column, const Expr& row)) {
  Expr c = vector_of("column", column, 1), r = vector_of("row", row, 1);
  return one_program(op, [&] { return of(c, r); });
}

}  // namespace

Tensor block_diag(const std::vector<Tensor>& blocks, SourceLocation at) {
  const PublicCall call("linalg::block_diag", at);
  if (blocks.empty()) trace_internal::refuse("has no blocks; give at least one");
  return one_program("linalg::block_diag", [&] {
    std::vector<Tensor> matrices;
    int64_t width = 0;
    for (const Tensor& block : blocks) {
      Tensor matrix = atleast_2d(block);
      if (matrix.rank() != 2)
        trace_internal::refuse("a block is ", block.shape(),
                               "; it must be a matrix, a vector or a number");
      width += matrix.dim(1);
      matrices.push_back(matrix);
    }
    std::vector<Tensor> rows;
    int64_t before = 0;
    for (const Tensor& matrix : matrices) {
      const int64_t behind = width - before - matrix.dim(1);
      rows.push_back(pad(matrix, 0, {{}, {before, behind}}));
      before += matrix.dim(1);
    }
    return concat(rows, 0);
  });
}

Tensor toeplitz(Operand column) {
  const PublicCall call("linalg::toeplitz", column.at());
  Expr c = vector_of("column", column, 1);
  return one_program("linalg::toeplitz", [&] { return toeplitz_of(c, Expr(conj(c.operand()))); });
}

Tensor toeplitz(Operand column, Operand row) {
  const PublicCall call("linalg::toeplitz", column.at());
  return of_column_and_row("linalg::toeplitz", column, row, toeplitz_of);
}

Tensor hankel(Operand column) {
  const PublicCall call("linalg::hankel", column.at());
  Expr c = vector_of("column", column, 1);
  return one_program("linalg::hankel", [&] { return hankel_of(c, c.like(0)); });
}

Tensor hankel(Operand column, Operand row) {
  const PublicCall call("linalg::hankel", column.at());
  return of_column_and_row("linalg::hankel", column, row, hankel_of);
}

Tensor circulant(Operand column) {
  const PublicCall call("linalg::circulant", column.at());
  Expr c = vector_of("column", column, 1);
  return one_program("linalg::circulant", [&] {
    const int64_t n = c.tensor().size();
    // Twice the column upwards: row i begins at its element 0.
    const Tensor up = flip(c.operand());
    const Expr line = concat({up, up}, 0);
    return along_diagonals(line, n, n, n - 1, -1, 1).tensor();
  });
}

Tensor companion(Operand coefficients) {
  const PublicCall call("linalg::companion", coefficients.at());
  Expr c = vector_of("coefficients", coefficients, 2);
  if (!is_floating(c.dtype()) && !is_complex(c.dtype()))
    trace_internal::refuse("coefficients are ", c.tensor().shape(),
                           "; they must be floats or complex numbers");
  return one_program("linalg::companion", [&] {
    const int64_t n = c.tensor().size() - 1;
    const Expr first = slice_in_dim(c.operand(), 0, 1);
    const Tensor row = reshape((-rest_of(c) / first).operand(), {1, n});
    return concat({row, eye(n - 1, n, 0, c.dtype())}, 0);
  });
}

Tensor leslie(Operand fertility, Operand survival) {
  const PublicCall call("linalg::leslie", fertility.at());
  Expr f = vector_of("fertility", fertility, 1);
  Expr s = vector_of("survival", survival);
  const int64_t n = f.tensor().size();
  if (s.tensor().size() != n - 1 || s.dtype() != f.dtype())
    trace_internal::refuse("survival is ", s.tensor().shape(), "; fertility is ",
                           f.tensor().shape(),
                           ", survival must be of its dtype and have one element less");
  return one_program("linalg::leslie", [&] {
    const Tensor row = reshape(f.operand(), {1, n});
    if (n == 1) return row;
    const Tensor below = pad(diag(s.operand()), 0, {{}, {0, 1}});
    return concat({row, below}, 0);
  });
}

Tensor hilbert(base::Int n, DType dtype, SourceLocation at) {
  const PublicCall call("linalg::hilbert", at);
  if (n < 0 || !is_floating(dtype))
    trace_internal::refuse("n is ", n, " and dtype ", to_string(dtype),
                           "; n must be 0 or more and dtype of floats");
  return one_program("linalg::hilbert", [&] {
    const DType wide = dtype == f64 ? f64 : f32;
    const Expr i(iota(wide, {n, n}, 0)), j(iota(wide, {n, n}, 1));
    return (1 / (i + j + 1)).astype(dtype).tensor();
  });
}

Tensor hadamard(base::Int n, DType dtype, SourceLocation at) {
  const PublicCall call("linalg::hadamard", at);
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
    trace_internal::refuse("n is ", n, "; it must be a power of 2");
  return one_program("linalg::hadamard", [&] {
    // -1 to the number of 1 bits that i and j share.
    const Expr i(iota(s32, {n, n}, 0)), j(iota(s32, {n, n}, 1));
    const Expr shared = population_count((i & j).operand());
    return (1 - 2 * (shared & 1)).astype(dtype).tensor();
  });
}

}  // namespace heddle::linalg
