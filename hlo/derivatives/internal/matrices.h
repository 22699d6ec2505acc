// Formulas on batches of matrices [.., m, n], for the rules of factors.
#pragma once

#include "heddle/hlo/value.h"

namespace heddle::hlo {

// The row and the column of each element.
inline Value rows(const Value& x) { return x.graph().iota(x.sizes(), x.rank() - 2); }
inline Value columns(const Value& x) { return x.graph().iota(x.sizes(), x.rank() - 1); }

inline int64_t row_count(const Value& x) { return x.size(x.rank() - 2); }
inline int64_t column_count(const Value& x) { return x.size(x.rank() - 1); }

inline Value adjoint(const Value& x) { return conjugate(swap_last(x)); }

// One triangle, and zeros; `strict`: without the diagonal.
Value triangle(const Value& x, bool lower, bool strict);
// The diagonal, and zeros.
Value diagonal_part(const Value& x);
// The diagonal itself: [.., n].
Value diagonal(const Value& x);
// The Hermitian matrix of which x has this triangle.
Value hermitian_of(const Value& x, bool lower);
// Ones on the diagonal of x's sizes, from row `first` on.
Value ones_on_diagonal(const Value& x, int64_t first = 0);

// x of a triangle's equations with b on the right.
Value solve(const Value& a, const Value& b, const TriangularSolveAttrs& attrs);

// dL of L L^H = A, of the lower triangle of dA.
Value cholesky_jvp(const Value& l, const Value& da);

}  // namespace heddle::hlo
