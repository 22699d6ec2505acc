// Matrices from vectors, vectors from matrices, and further products of both; others are in
// trace/ops/contraction/contractions.h. Names are those of jax.numpy; matrices are the last two
// axes.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Diagonal k of the axes `rows` and `columns`, as a new last axis: [m, n, ..] -> [.., length];
// above the main one where k > 0. Of stacked matrices [.., m, n]: diagonal(x, k, -2, -1).
Tensor diagonal(Operand x, base::Int k = 0, base::Int rows = 0, base::Int columns = 1);
// The matrix [n + |k|, n + |k|] with a vector [n] on diagonal k and zeros elsewhere; for a matrix,
// its diagonal k.
Tensor diag(Operand x, base::Int k = 0);

// Sum of products along the last axes: [.., n] and [..', n] -> [.., ..'].
Tensor inner(Operand x, Operand y);
// Sum of conj(x) * y over all elements: x and y have one size.
Tensor vdot(Operand x, Operand y);
// The sum of conj(x) * y for vectors [.., n], whose leading axes broadcast: [..].
Tensor vecdot(Operand x, Operand y);
Tensor matvec(Operand a, Operand x);  // a x of matrices a[.., m, n] and vectors x[.., n]: [.., m]
// conj(x) a of vectors x[.., m] and matrices a[.., m, n]: [.., n].
Tensor vecmat(Operand x, Operand a);
// The vector product of the last axes, which have size 3; the others broadcast.
Tensor cross(Operand x, Operand y);
// Kronecker's product, of one rank: axis i has size x.dim(i) * y.dim(i).
Tensor kron(Operand x, Operand y);

// Coordinates of a grid: for vectors [n0], [n1], .. as many arrays, where array i holds vector i
// along its axis. kRowsFirst ("ij") gives shapes [n0, n1, ..], kColumnsFirst ("xy", as in
// jax.numpy) [n1, n0, ..].
enum class GridOrder : uint8_t { kRowsFirst, kColumnsFirst };
// Coordinates of a grid: an array for each vector, of all sizes.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                             GridOrder order = GridOrder::kColumnsFirst,
                             SourceLocation at = SourceLocation::here());
// The same of two vectors and of three: auto [x, y] = meshgrid(xs, ys).
std::array<Tensor, 2> meshgrid(const Tensor& x, const Tensor& y,
                               GridOrder order = GridOrder::kColumnsFirst,
                               SourceLocation at = SourceLocation::here());
std::array<Tensor, 3> meshgrid(const Tensor& x, const Tensor& y, const Tensor& z,
                               GridOrder order = GridOrder::kColumnsFirst,
                               SourceLocation at = SourceLocation::here());

}  // namespace heddle
