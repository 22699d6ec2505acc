// What the functions of linear algebra share: operands checked to be matrices, formulas on batches
// of them, and LAPACK's routines as custom calls.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/trace/located.h"

namespace heddle::linalg_internal {

using trace_internal::Located;

// The operand, of f32, f64, c64 or c128 and of `rank` or more. errors: Error naming op and operand
Located numbers_of(std::string_view op, std::string_view name, const Operand& x, int64_t rank);
// A batch of matrices [.., m, n], and of square ones.
Located matrices_of(std::string_view op, std::string_view name, const Operand& x);
Located square_of(std::string_view op, std::string_view name, const Operand& x);
// errors: Error that names b where it has another dtype than a
void check_same_dtype(std::string_view op, const Located& a, const Located& b,
                      std::string_view name = "b");

int64_t rows(const Located& x);
int64_t columns(const Located& x);
// The axes before the last `count`.
Dimensions batch_of(const Located& x, size_t count = 2);
// The batch with axes behind it.
Dimensions with_axes(Dimensions batch, std::initializer_list<int64_t> axes);
DType real_dtype(DType dtype);
// From 1 up to the next number of the dtype, of its parts where it is complex.
double epsilon_of(DType dtype);

// a and b with their leading axes (all but the last two) broadcast to each other.
std::pair<Located, Located> broadcast_batches(const Located& a, const Located& b);
Located transposed(const Located& x);  // the last two axes
Located adjoint(const Located& x);
Located product(const Located& a, const Located& b);
// Ones on the diagonal of [batch.., m, n], of x's dtype.
Located identity(const Located& x, const Dimensions& batch, int64_t m, int64_t n);
Located hermitian_part(const Located& x);
// x[.., :m, :n].
Located corner(const Located& x, int64_t m, int64_t n);
// x with an axis of size 1 at its end: a vector as a column.
Located column(const Located& x);
Located swept(const Located& x);  // and without it

// Rows of b, or of a batch of such, in the order of permutation[.., m].
Located permuted_rows(const Located& b, const Located& permutation);

// The results of LAPACK's routine for the operands' dtype, such as "getrf", as JAX calls it:
// custom call lapack_sgetrf_ffi. `config` has its options: "{uplo = 76 : ui8}".
std::vector<Located> lapack(std::string_view routine, const std::vector<Located>& operands,
                            const std::vector<Shape>& results, std::string config);
// x where `info` of its matrix, [..], is 0, NaN elsewhere: the iteration did not converge.
Located if_converged(const Located& info, const Located& x);

// Runs `fn` as one program to the user: its results as tensors.
std::vector<Tensor> as_program(std::string_view op, SourceLocation at,
                               base::FunctionRef<std::vector<Located>()> fn);

}  // namespace heddle::linalg_internal
