// Functions of whole order that come from recurrences: Bessel functions of the first kind and
// spherical harmonics. Names are those of jax.scipy.special; both take the greatest order, since
// shapes and trip counts cannot depend on values.
//
// docs/functions.md has the measured greatest errors. errors: both throw Error (InvalidArgument)
// with the op, the operand types and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// J of the orders 0 .. v at z[..], in rows: [v + 1, ..] of z's dtype, f16, bf16, f32 or f64 (f16
// and bf16 are computed in f32); 0 at the infinities. Unlike JAX's, right for all z, and so without
// the number of its steps. source: J. Miller's recurrence downward, DLMF 3.6(v) and 10.12.4, for
// |z| up to 25 or 2 v; Hankel's expansion DLMF 10.17.3 and the recurrence upward beyond. errors: v
// < 0. cost: a loop of about 60 or 4 v steps, each on all rows
Tensor bessel_jn(Operand z, base::Int v);

// The spherical harmonic of degree n and order m at the polar angle theta (from 0 to pi) and the
// azimuth phi, orthonormal on the sphere, with the sign (-1)^m of Condon and Shortley: c64, of f64
// angles c128. n and m are integers, theta and phi floats of one dtype; all broadcast. Degrees
// above n_max count as n_max; 0 where |m| > n. source: the recurrence DLMF 14.10.3 in the degree,
// for normalised functions, from DLMF 14.7.15. errors: n_max < 0, n or m of floats. cost: a loop of
// n_max steps
Tensor sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, base::Int n_max);

}  // namespace heddle::special
