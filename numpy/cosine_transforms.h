// Transforms of sequences with a symmetry: of Hermitian ones, and of even ones by cosines. Names
// and meaning are those of jax.numpy.fft and jax.scipy.fft.
// errors: all throw Error (InvalidArgument) with the op, what x is, what it had to be, and the
// caller's line
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/numpy/fft.h"
#include "heddle/trace/axis_list.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// The fft of a Hermitian sequence, from its first half x: n real numbers, 2 (size - 1) unless
// given. The elements past x's last are the conjugates of those before it.
Tensor hfft(Operand x, const Fft& over = {});
// The inverse of hfft: the first n / 2 + 1 elements of the Hermitian sequence that hfft turns into
// real x.
Tensor ihfft(Operand x, const Fft& over = {});

// out[k] = 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n)), along an axis of f32 or f64; where
// ortho times sqrt(1 / (2 n)), out[0] times sqrt(1 / (4 n)). And back. source: J. Makhoul, IEEE
// Trans. ASSP 28 (1980): one fft of n elements
struct Cosine {
  base::Int axis = -1;
  base::Flag ortho = false;
};
// The cosine transform (DCT-II) along an axis of f32 or f64.
Tensor dct(Operand x, const Cosine& over = {});
// The inverse of dct.
Tensor idct(Operand x, const Cosine& over = {});
// dct along several axes, by default all, one after the other.
Tensor dctn(Operand x, const AxisList& axes = kAllAxes, base::Flag ortho = false);
// The inverse of dctn: idct along several axes, by default all.
Tensor idctn(Operand x, const AxisList& axes = kAllAxes, base::Flag ortho = false);

}  // namespace heddle
