// One call of a LAPACK routine, to be written as HLO.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform::lapack {

// Types of operands and results with all leading dimensions of the batch as one: T[b,m,n], T[b,n],
// s32[b]. Results are those of the routine in interpreter/linalg (docs/custom_calls.md).
struct Problem {
  std::vector<Shape> operands;
  std::vector<Shape> results;
  std::string config;    // `{uplo = 76 : ui8}`
  bool unrolls = false;  // no loops over the columns of small matrices

  // The letter of an option; '\0' without the option.
  [[nodiscard]] char option(std::string_view name) const;
  // `left = true`.
  [[nodiscard]] bool flag(std::string_view name) const;
};

// Each returns a module from the operands to a tuple of the results.

// syevd and heevd: two-sided Jacobi rotations of disjoint pairs of rows and columns at once, in
// sweeps until the elements off the diagonal are below the rounding of the matrix (at most
// kMaxSweeps). source: Brent and Luk, The Solution of Singular-Value and Symmetric Eigenvalue
// Problems on Multiprocessor Arrays, 1985
StatusOr<hlo::Module> eigh_module(const Problem& problem);

// gesdd and gesvd: one-sided Jacobi rotations of pairs of columns, of R where a = Q R has more rows
// than columns. Columns of u that belong to no value come from reflectors.
// source: Hestenes, Inversion of Matrices by Biorthogonalization, 1958
StatusOr<hlo::Module> svd_module(const Problem& problem);

// getrf: the factors in one matrix, pivots counted from 1, and the number of the first pivot that
// is zero, else 0. A loop over the columns, in the order of operations of LAPACK's getf2.
// Where the problem unrolls, up to 8 rows and columns are written out.
StatusOr<hlo::Module> lu_module(const Problem& problem);

// ormqr and unmqr: a loop over the reflectors.
StatusOr<hlo::Module> ormqr_module(const Problem& problem);

// gtsv: a loop down the rows with partial pivoting, and one up again.
StatusOr<hlo::Module> tridiagonal_module(const Problem& problem);

}  // namespace heddle::transform::lapack
