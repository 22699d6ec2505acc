// Arrays of positions, triangles and powers, and functions of such positions. Names are those of
// jax.numpy.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Ones on and below diagonal k of a rows x columns matrix; as many columns as rows unless given.
Tensor tri(base::Int rows, std::optional<base::Int> columns = {}, base::Int k = 0,
           DType dtype = f32, SourceLocation at = SourceLocation::here());

// Rows and columns, s32, of the elements of a rows x columns matrix (as many as rows unless given)
// that tril (triu) keeps, row by row: x[{t[0], t[1]}].
std::vector<Tensor> tril_indices(base::Int rows, base::Int k = 0,
                                 std::optional<base::Int> columns = {},
                                 SourceLocation at = SourceLocation::here());
// Rows and columns, s32, of the elements that triu keeps of a rows x columns matrix.
std::vector<Tensor> triu_indices(base::Int rows, base::Int k = 0,
                                 std::optional<base::Int> columns = {},
                                 SourceLocation at = SourceLocation::here());
// 0 .. n - 1 for each of so many axes.
std::vector<Tensor> diag_indices(base::Int n, base::Int axes = 2,
                                 SourceLocation at = SourceLocation::here());
// s32[rank, shape..]: entry i holds the positions along axis i.
Tensor indices(const base::Ints& shape, SourceLocation at = SourceLocation::here());
// Vectors as the axes of one grid: vector i is [.., size, ..] with sizes 1, so that x[{grid[0],
// grid[1]}] takes all pairs. In numpy `ix_`.
std::vector<Tensor> open_grid(const std::vector<Tensor>& vectors,
                              SourceLocation at = SourceLocation::here());

// Positions along each axis of `shape` of those in the flattened array, which are clamped; negative
// ones count from the end. They have the dtype of `flat`, but s64 where it does not hold the number
// of elements, and 32 bits at least. And back: one tensor of integers for each axis, clamped
// likewise, but that negative ones count as 0.
std::vector<Tensor> unravel_index(Operand flat, const base::Ints& shape);
// s32 positions in the flattened array of those along each axis of `shape`; those outside are
// clamped.
Tensor ravel_multi_index(const std::vector<Tensor>& positions, const base::Ints& shape,
                         SourceLocation at = SourceLocation::here());

// The vector x, flattened, on diagonal k of a square matrix.
Tensor diagflat(Operand x, base::Int k = 0);
// x of rank 2 or more, whose axes have one size (a matrix's need not), with `value` where all
// positions are equal: a number, or a vector repeated as often as it fits.
Tensor fill_diagonal(Operand x, Operand value);
// Powers of a vector [n] as columns [n, columns], n of them unless given: from the highest to x^0,
// or from x^0 on where increasing.
Tensor vander(Operand x, std::optional<base::Int> columns = {}, base::Flag increasing = false);

// `count` numbers evenly from start to stop in the exponent: base^start .. base^stop, and start ..
// stop. errors: geomspace unless both have one sign
Tensor logspace(double start, double stop, base::Int count = 50, double base = 10,
                DType dtype = f32, SourceLocation at = SourceLocation::here());
template <std::same_as<bool> Endpoint>
trace_internal::Refused logspace(double, double, base::Int, Endpoint, double = 10, DType = f32) {
  static_assert(!sizeof(Endpoint),
                "logspace has no endpoint: write power(base, linspace(start, stop, count, false))");
  return {};
}
// `count` numbers evenly in the exponent from start to stop.
Tensor geomspace(double start, double stop, base::Int count = 50, DType dtype = f32,
                 SourceLocation at = SourceLocation::here());

// Windows of n points, 1 in their middle: 1 - |2 i / (n - 1) - 1|; cosines of that, 0.54 - 0.46
// cos, 0.5 - 0.5 cos; 0.42 - 0.5 cos + 0.08 cos of twice the angle.
Tensor bartlett(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());
// A window of n points, 1 in its middle: 0.54 - 0.46 cos.
Tensor hamming(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());
// A window of n points, 1 in its middle: 0.5 - 0.5 cos.
Tensor hanning(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());
// A window of n points, 1 in its middle: 0.42 - 0.5 cos + 0.08 cos of twice the angle.
Tensor blackman(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());

}  // namespace heddle
