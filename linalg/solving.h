// Linear equations and determinants. Names are those of jax.numpy.linalg; matrices, batches, dtypes
// and errors as in linalg/factors.h. Singular matrices are no error: their solutions are inf or NaN
// by a division by 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/linalg/factors.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

// x with a x = b, by LU with row exchanges. a[.., n, n]; b[n], one column, or b[.., n, k]; leading
// axes broadcast. x has b's shape, with the broadcast leading axes.
Tensor solve(Operand a, Operand b);
// a[.., n, n] -> its inverse: solve(a, identity).
Tensor inv(Operand a);

// The same of factors that there are: lu(a), or L of cholesky(a) (the upper triangle U where not
// `lower`).
Tensor lu_solve(const Lu& factors, Operand b);
// The x of a x = b by the factor L of cholesky(a), or its U where not `lower`.
Tensor cho_solve(Operand factor, Operand b, base::Flag lower = true);
// x with op(a) x = b for one triangle of a[.., n, n], the other not being looked at; b as for
// solve.
struct SolveTriangular {
  base::Flag lower = false;
  base::Flag transpose_a = false;    // op(a) = a^T
  base::Flag conjugate_a = false;    // op(a) = conj(a), with transpose_a a^H
  base::Flag unit_diagonal = false;  // ones stand for a's diagonal
};
// The x of op(a) x = b for one triangle of a.
Tensor solve_triangular(Operand a, Operand b, const SolveTriangular& options = {});

// x with t x = b, for t with `diagonal`[.., n] and the entries `lower` and `upper` beside it, of
// its shape: row i of t is lower[i], diagonal[i], upper[i]; lower[0] and upper[n - 1] are not
// looked at. b as for solve. Rows are exchanged where the one below has the greater pivot.
// source   LAPACK's gtsv; the arguments are those of jax.lax.linalg.tridiagonal_solve
// cost     two loops of n steps
Tensor tridiagonal_solve(Operand lower, Operand diagonal, Operand upper, Operand b);

// x with tensordot(a, x, x.rank()) = b, for a of b's axes and then x's, both of as many elements.
Tensor tensorsolve(Operand a, Operand b);
// The inverse of a as a matrix, whose first `axes` axes are its rows, of as many elements as the
// others: [columns.., rows..].
Tensor tensorinv(Operand a, base::Int axes = 2);

// The polynomial of a degree that is nearest to points x[n], y[n] or y[n, k], by least squares: its
// coefficients [degree + 1] or [degree + 1, k], the highest power first. Singular values up to
// n epsilon times the greatest count as 0. source: numpy.polyfit, with columns scaled to length 1
Tensor polyfit(Operand x, Operand y, base::Int degree);
// The roots of a polynomial p[n], the highest power first: [n - 1], complex, in no order. NaN comes
// last, once for each zero in front of the highest power there is. source: the eigenvalues of its
// companion matrix, as numpy.roots
Tensor roots(Operand p);

// a[.., n, n] -> [..]: the product of U's diagonal, times -1 for each exchange of rows; 1 where n
// is 0.
Tensor det(Operand a);
// Where the determinant itself may overflow: det = sign * exp(logabsdet). sign[..] has a's dtype
// (1, -1 or 0; complex: of magnitude 1 or 0), logabsdet[..] is real; 0 and -inf of a singular
// matrix.
struct Slogdet {
  Tensor sign;       // [..], of a's dtype
  Tensor logabsdet;  // [..], real
  static constexpr auto kFields =
      fields(field("sign", &Slogdet::sign), field("logabsdet", &Slogdet::logabsdet));
};
// The sign of the determinant of a[.., n, n], and the logarithm of its magnitude.
Slogdet slogdet(Operand a);

// x[.., n, k] with the least |x| of those with the least |a x - b|, for a[.., m, n] and b[.., m,
// k], by the singular values s[.., min(m, n)] of a. b[m] is one column, and x then [.., n].
// Singular values below rcond times the greatest count as 0; rcond is the dtype's epsilon times
// max(m, n) unless given. residuals[.., k]: squares of |a x - b|, real; rank s32[..]: singular
// values kept.
struct Lstsq {
  Tensor x;          // [.., n, k], or [.., n] for b[m]
  Tensor residuals;  // [.., k], real; [.., 1] for b[m]
  Tensor rank;       // s32[..]
  Tensor s;          // [.., min(m, n)], real, descending
  static constexpr auto kFields =
      fields(field("x", &Lstsq::x), field("residuals", &Lstsq::residuals),
             field("rank", &Lstsq::rank), field("s", &Lstsq::s));
};
// The least x of those with the least |a x - b|, by singular values.
Lstsq lstsq(Operand a, Operand b, std::optional<double> rcond = {});
// a[.., m, n] -> [.., n, m], the inverse of Moore and Penrose, by singular values; those up to rtol
// times the greatest count as 0. rtol is 10 max(m, n) epsilon unless given.
Tensor pinv(Operand a, std::optional<double> rtol = {});
// a[.., m, n] -> s32[..]: how many singular values are above rtol times the greatest. rtol is
// max(m, n) epsilon unless given.
Tensor matrix_rank(Operand a, std::optional<double> rtol = {});

}  // namespace heddle::linalg
