// Shared by the functions of linear algebra: checks of matrices, formulas on batches of them, and
// LAPACK's routines as custom calls.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::linalg_internal {

using trace_internal::Expr;
using trace_internal::FixedNumber;
using trace_internal::KnownOptions;

// The operand, which must have f32, f64, c64 or c128 and rank `rank` or more. errors: Error naming
// the operand
Expr numbers_of(std::string_view name, const Operand& x, int64_t rank);
// A batch of matrices [.., m, n], and of square ones.
Expr matrices_of(std::string_view name, const Operand& x);
Expr square_of(std::string_view name, const Operand& x);
// errors: Error that names b if it has another dtype than a
void check_same_dtype(const Expr& a, const Expr& b, std::string_view name = "b");

int64_t rows(const Expr& x);
int64_t columns(const Expr& x);
// The axes before the last `count`.
Dimensions batch_of(const Expr& x, size_t count = 2);
// The batch, then further axes.
Dimensions with_axes(Dimensions batch, std::initializer_list<int64_t> axes);
DType real_dtype(DType dtype);
// The distance from 1 to the next number of the dtype, or of its parts if it is complex.
double epsilon_of(DType dtype);

// a and b with their leading axes (all but the last two) broadcast to each other.
std::pair<Expr, Expr> broadcast_batches(const Expr& a, const Expr& b);
Expr transposed(const Expr& x);  // the last two axes
Expr adjoint(const Expr& x);
Expr product(const Expr& a, const Expr& b);
// Ones on the diagonal of [batch.., m, n], of x's dtype.
Expr identity(const Expr& x, const Dimensions& batch, int64_t m, int64_t n);
Expr hermitian_part(const Expr& x);
// x[.., :m, :n].
Expr corner(const Expr& x, int64_t m, int64_t n);
// x with an axis of size 1 at its end: a vector as a column.
Expr column(const Expr& x);
Expr swept(const Expr& x);  // and without it

// Rows of b, or of a batch of matrices, in the order of permutation[.., m].
Expr permuted_rows(const Expr& b, const Expr& permutation);

// The results of LAPACK's routine for the operands' dtype, such as "getrf", as JAX calls it:
// custom call lapack_sgetrf_ffi. `config` has its options: "{uplo = 76 : ui8}".
std::vector<Expr> lapack(std::string_view routine, const std::vector<Expr>& operands,
                         const std::vector<Shape>& results, std::string config);
// x if `info` of its matrix, [..], is 0; else NaN, since the iteration did not converge.
Expr if_converged(const Expr& info, const Expr& x);

// The results of `fn` at a, as one call whose derivative is the one of this name
// (hlo/derivative.h).
std::vector<Expr> with_derivative(std::string_view name, const Expr& a,
                                  base::FunctionRef<std::vector<Expr>(const Expr& a)> fn);

// Runs `fn` as one program of the user's, and gives its results as tensors.
std::vector<Tensor> as_program(std::string_view op, base::FunctionRef<std::vector<Expr>()> fn);
// The same of operands, by the program that is known for their types and the options.
inline std::vector<Tensor> as_program(
    std::string_view op, const KnownOptions& options, const std::vector<Expr>& operands,
    base::FunctionRef<std::vector<Expr>(std::span<const Expr>)> fn) {
  return trace_internal::in_program(op, options, operands, fn);
}

}  // namespace heddle::linalg_internal
