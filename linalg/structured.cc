#include "heddle/linalg/structured.h"

#include <bit>

#include "heddle/trace/arranging.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/matrices.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/vectors.h"

namespace heddle::linalg {
namespace {

using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::vector_of;

// m x n elements of `line`, [i, j] being that at start + row * i + step * j.
Located along_diagonals(const Located& line, int64_t m, int64_t n, int64_t start, int64_t row,
                        int64_t step) {
  const Located i = line.with(iota(s32, {m, n}, 0, line.at()));
  const Located j = line.with(iota(s32, {m, n}, 1, line.at()));
  return line.with(take(line.operand(), (start + i * row + j * step).operand()));
}

// All but the first element.
Located rest_of(const Located& x) {
  return x.with(slice_in_dim(x.operand(), 1, x.tensor().size()));
}

Tensor toeplitz_of(const Located& column, const Located& row) {
  const int64_t m = column.tensor().size(), n = row.tensor().size();
  // The column upwards, then the row: diagonals from the lower left corner on.
  const Tensor up = flip(column.operand());
  const Located line = column.with(concat({up, rest_of(row).tensor()}, 0, column.at()));
  return along_diagonals(line, m, n, m - 1, -1, 1).tensor();
}

Tensor hankel_of(const Located& column, const Located& row) {
  const int64_t m = column.tensor().size(), n = row.tensor().size();
  const Located line =
      column.with(concat({column.tensor(), rest_of(row).tensor()}, 0, column.at()));
  return along_diagonals(line, m, n, 0, 1, 1).tensor();
}

}  // namespace

Tensor block_diag(const std::vector<Tensor>& blocks, SourceLocation at) {
  const PublicCall call("linalg::block_diag", at);
  if (blocks.empty())
    throw Error(trace_internal::invalid_argument("linalg::block_diag",
                                                 ": has no blocks; give at least one"),
                at);
  return one_program("linalg::block_diag", at, [&] {
    std::vector<Tensor> matrices;
    int64_t width = 0;
    for (const Tensor& block : blocks) {
      Tensor matrix = atleast_2d({block, at});
      if (matrix.rank() != 2)
        throw Error(
            trace_internal::invalid_argument("linalg::block_diag", ": a block is ", block.shape(),
                                             "; it must be a matrix, a vector or a number"),
            at);
      width += matrix.dim(1);
      matrices.push_back(matrix);
    }
    std::vector<Tensor> rows;
    int64_t before = 0;
    for (const Tensor& matrix : matrices) {
      const int64_t behind = width - before - matrix.dim(1);
      rows.push_back(pad({matrix, at}, {0, at}, {{}, {before, behind}}));
      before += matrix.dim(1);
    }
    return concat(rows, 0, at);
  });
}

Tensor toeplitz(Operand column) {
  const PublicCall call("linalg::toeplitz", column.at());
  Located c = vector_of("linalg::toeplitz", "column", column, 1);
  return one_program("linalg::toeplitz", c.at(),
                     [&] { return toeplitz_of(c, c.with(conj(c.operand()))); });
}

Tensor toeplitz(Operand column, Operand row) {
  const PublicCall call("linalg::toeplitz", column.at());
  Located c = vector_of("linalg::toeplitz", "column", column, 1),
          r = vector_of("linalg::toeplitz", "row", row, 1);
  return one_program("linalg::toeplitz", c.at(), [&] { return toeplitz_of(c, r); });
}

Tensor hankel(Operand column) {
  const PublicCall call("linalg::hankel", column.at());
  Located c = vector_of("linalg::hankel", "column", column, 1);
  return one_program("linalg::hankel", c.at(), [&] { return hankel_of(c, c.like(0)); });
}

Tensor hankel(Operand column, Operand row) {
  const PublicCall call("linalg::hankel", column.at());
  Located c = vector_of("linalg::hankel", "column", column, 1),
          r = vector_of("linalg::hankel", "row", row, 1);
  return one_program("linalg::hankel", c.at(), [&] { return hankel_of(c, r); });
}

Tensor circulant(Operand column) {
  const PublicCall call("linalg::circulant", column.at());
  Located c = vector_of("linalg::circulant", "column", column, 1);
  return one_program("linalg::circulant", c.at(), [&] {
    const int64_t n = c.tensor().size();
    // Twice the column upwards: row i begins where its element 0 stands.
    const Tensor up = flip(c.operand());
    const Located line = c.with(concat({up, up}, 0, c.at()));
    return along_diagonals(line, n, n, n - 1, -1, 1).tensor();
  });
}

Tensor companion(Operand coefficients) {
  const PublicCall call("linalg::companion", coefficients.at());
  Located c = vector_of("linalg::companion", "coefficients", coefficients, 2);
  if (!is_floating(c.dtype()) && !is_complex(c.dtype()))
    throw Error(trace_internal::invalid_argument("linalg::companion", ": coefficients are ",
                                                 c.tensor().shape(),
                                                 "; they must be floats or complex numbers"),
                c.at());
  return one_program("linalg::companion", c.at(), [&] {
    const int64_t n = c.tensor().size() - 1;
    const Located first = c.with(slice_in_dim(c.operand(), 0, 1));
    const Tensor row = reshape((-rest_of(c) / first).operand(), {1, n});
    return concat({row, eye(n - 1, n, 0, c.dtype(), c.at())}, 0, c.at());
  });
}

Tensor leslie(Operand fertility, Operand survival) {
  const PublicCall call("linalg::leslie", fertility.at());
  Located f = vector_of("linalg::leslie", "fertility", fertility, 1);
  Located s = vector_of("linalg::leslie", "survival", survival);
  const int64_t n = f.tensor().size();
  if (s.tensor().size() != n - 1 || s.dtype() != f.dtype())
    throw Error(
        trace_internal::invalid_argument(
            "linalg::leslie", ": survival is ", s.tensor().shape(), "; fertility is ",
            f.tensor().shape(), ", survival must be of its dtype and have one element less"),
        f.at());
  return one_program("linalg::leslie", f.at(), [&] {
    const Tensor row = reshape(f.operand(), {1, n});
    if (n == 1) return row;
    const Tensor below = pad({diag(s.operand()), f.at()}, {0, f.at()}, {{}, {0, 1}});
    return concat({row, below}, 0, f.at());
  });
}

Tensor hilbert(base::Int n, DType dtype, SourceLocation at) {
  const PublicCall call("linalg::hilbert", at);
  if (n < 0 || !is_floating(dtype))
    throw Error(trace_internal::invalid_argument("linalg::hilbert", ": n is ", n, " and dtype ",
                                                 to_string(dtype),
                                                 "; n must be 0 or more and dtype of floats"),
                at);
  return one_program("linalg::hilbert", at, [&] {
    const DType wide = dtype == f64 ? f64 : f32;
    const Located i(iota(wide, {n, n}, 0, at), at), j(iota(wide, {n, n}, 1, at), at);
    return (1 / (i + j + 1)).astype(dtype).tensor();
  });
}

Tensor hadamard(base::Int n, DType dtype, SourceLocation at) {
  const PublicCall call("linalg::hadamard", at);
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
    throw Error(trace_internal::invalid_argument("linalg::hadamard", ": n is ", n,
                                                 "; it must be a power of 2"),
                at);
  return one_program("linalg::hadamard", at, [&] {
    // -1 to the number of 1 bits that i and j share.
    const Located i(iota(s32, {n, n}, 0, at), at), j(iota(s32, {n, n}, 1, at), at);
    const Located shared = i.with(population_count((i & j).operand()));
    return (1 - 2 * (shared & 1)).astype(dtype).tensor();
  });
}

}  // namespace heddle::linalg
