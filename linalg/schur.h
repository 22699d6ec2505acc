// Schur's and Hessenberg's forms, and equations that are solved by them. Names are those of
// jax.scipy.linalg; matrices, batches, dtypes and errors as in linalg/factors.h. A matrix with an
// element that is not finite, or whose iteration does not converge, has NaN everywhere in its
// results, but for hessenberg, which iterates nothing.
#pragma once

#include <cstdint>
#include <functional>

#include "heddle/base/containers/fields.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

// a[.., n, n] = q h q^H with unitary q[.., n, n] and h[.., n, n] zero below the first diagonal
// under the main one.
struct Hessenberg {
  Tensor h;  // [.., n, n], of a's dtype
  Tensor q;  // [.., n, n], of a's dtype
  static constexpr auto kFields = fields(field("h", &Hessenberg::h), field("q", &Hessenberg::q));
};
// a[.., n, n] as q h q^H, with h zero below the first diagonal under the main one.
Hessenberg hessenberg(Operand a);

// a[.., n, n] = z t z^H with unitary z[.., n, n]. kComplex: t upper triangular with a's eigenvalues
// on its diagonal, both complex. kReal: of real a both real, t with blocks of 2 x 2 on its diagonal
// for pairs of complex eigenvalues; of complex a as kComplex.
enum class SchurForm : uint8_t { kReal, kComplex };
struct Schur {
  Tensor t;  // [.., n, n], of a's dtype; of real a complex where kComplex
  Tensor z;  // [.., n, n], of t's dtype
  static constexpr auto kFields = fields(field("t", &Schur::t), field("z", &Schur::z));
};
// a[.., n, n] as z t z^H, with t triangular, or nearly so in the real form.
Schur schur(Operand a, SchurForm form = SchurForm::kReal);
// The real form as the complex one, by a rotation for each block.
Schur rsf2csf(Operand t, Operand z);

// The s[.., n, n], complex, with s s = a[.., n, n] whose eigenvalues have no negative real part.
// NaN where a singular a has no root of that kind. source: A. Bjorck and S. Hammarling, Linear
// Algebra and its Applications 52/53 (1983), 127-140
Tensor sqrtm(Operand a);

// The function of a[.., n, n] that is `fn` of its eigenvalues: `fn` is traced on them, [.., n],
// complex, and gives as many. Complex; inexact where eigenvalues are equal or near to each other
// and a is not normal. source: B. N. Parlett, Linear Algebra and its Applications 14 (1976),
// 117-121. errors: Error for an empty `fn`, too
Tensor funm(Operand a, const std::function<Tensor(const Tensor&)>& fn);
// The same of one of Heddle's functions, by its name: funm(a, exp).
Tensor funm(Operand a, Tensor (*fn)(Operand));

// x[.., m, n] with a x + x b = c, for a[.., m, m], b[.., n, n] and c[.., m, n] of one dtype, whose
// leading axes broadcast. Not finite where an eigenvalue of a is minus one of b.
// source: R. H. Bartels and G. W. Stewart, Communications of the ACM 15(9) (1972), 820-826
Tensor solve_sylvester(Operand a, Operand b, Operand c);

}  // namespace heddle::linalg
