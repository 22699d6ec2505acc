// Matrices made of few numbers. Names are those of jax.scipy.linalg.
// errors: all throw Error (InvalidArgument) with the op, the operand's type, what it must be and
// the caller's line
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

// Matrices of one dtype along the diagonal, zeros elsewhere; vectors are rows, numbers [1, 1].
Tensor block_diag(const std::vector<Tensor>& blocks, SourceLocation at = SourceLocation::here());
// Constant along diagonals: first column [m], first row [n] (whose first element does not count),
// or the column's conjugate.
Tensor toeplitz(Operand column);
Tensor toeplitz(Operand column, Operand row);
// Constant along the other diagonals: first column [m], last row [n] (whose first element does not
// count), or zeros.
Tensor hankel(Operand column);
Tensor hankel(Operand column, Operand row);
// Each column is the one before it, moved down by one, the last element going to the top.
Tensor circulant(Operand column);
// The matrix whose eigenvalues are the roots of a polynomial [n], the highest power first:
// [n - 1, n - 1].
Tensor companion(Operand coefficients);
// The first row [n], and survival [n - 1] below the diagonal: how many of each age there are next.
Tensor leslie(Operand fertility, Operand survival);
// 1 / (i + j + 1), of n x n.
Tensor hilbert(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());
// 1 and -1, with orthogonal rows, n a power of 2. source: J. Sylvester's construction
Tensor hadamard(base::Int n, DType dtype = s32, SourceLocation at = SourceLocation::here());

}  // namespace heddle::linalg
