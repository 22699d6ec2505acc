// Discrete Fourier transforms. Names and meaning are those of jax.numpy.fft; each is HLO's fft,
// over one to three axes, with transposes and padding where needed.
//
// x may be real (f32, f64) or complex (c64, c128); results are complex of the same precision, but
// for irfft, whose result is real. errors: all throw Error (InvalidArgument) with the op, what x
// is, what it had to be, and the caller's line
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/axis_list.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// What a transform of n elements is divided by: kBackward leaves the forward one as it is and
// divides the inverse by n; kOrtho divides both by sqrt(n); kForward the forward one by n.
enum class FftScale : uint8_t { kBackward, kOrtho, kForward };

// Over one axis. `n` is its length before the transform (for irfft, of the result): x is cut off or
// padded with zeros at the end; unless given it is the length it has (for irfft 2 * (size - 1)).
struct Fft {
  std::optional<base::Int> n = {};
  base::Int axis = -1;
  FftScale scale = FftScale::kBackward;
};
// out[k] = sum over j of x[j] * exp(-2 pi i j k / n); the inverse has +2 pi i.
Tensor fft(Operand x, const Fft& over = {});
Tensor ifft(Operand x, const Fft& over = {});  // The inverse of fft along an axis
// The fft of real x: its first n / 2 + 1 elements. The others are their conjugates.
Tensor rfft(Operand x, const Fft& over = {});
// The inverse of rfft: n real numbers, 2 (size - 1) unless given. It ignores an imaginary part of
// the result.
Tensor irfft(Operand x, const Fft& over = {});

// fft of length n: fft(x, 8), as in numpy.
template <std::integral N>
Tensor fft(Operand x, N n, base::Int axis = -1) {
  return fft(x, {.n = n, .axis = axis});
}
// ifft of length n: ifft(x, 8), as in numpy.
template <std::integral N>
Tensor ifft(Operand x, N n, base::Int axis = -1) {
  return ifft(x, {.n = n, .axis = axis});
}
// rfft of length n: rfft(x, 8), as in numpy.
template <std::integral N>
Tensor rfft(Operand x, N n, base::Int axis = -1) {
  return rfft(x, {.n = n, .axis = axis});
}
// irfft of length n: irfft(x, 8), as in numpy.
template <std::integral N>
Tensor irfft(Operand x, N n, base::Int axis = -1) {
  return irfft(x, {.n = n, .axis = axis});
}

// Over several axes. `n` has one length an axis, or none: the lengths they have. Real transforms
// halve the last axis listed.
struct FftN {
  base::OnlyByName by_name = base::OnlyByName();  // {0, 1} could be lengths or axes
  base::Ints n = {};
  AxisList axes = kAllAxes;  // not given: the last as many as n has; without n all (fft2: last 2)
  FftScale scale = FftScale::kBackward;
};
// fft (ifft) along each axis: out[k1, .., kd] = sum over j1, .., jd of
// x[j1, .., jd] exp(-2 pi i (j1 k1 / n1 + .. + jd kd / nd)). x[.., n1, .., nd] -> the same shape.
Tensor fftn(Operand x, const FftN& over = {});
Tensor ifftn(Operand x, const FftN& over = {});  // The inverse of fftn: ifft along each axis
// The same of real x: rfft along the last axis, fft along the others. x[.., n1, .., nd] ->
// [.., n1, .., nd / 2 + 1]; and back, to [.., n1, .., 2 (nd - 1)] unless n says otherwise.
Tensor rfftn(Operand x, const FftN& over = {});
Tensor irfftn(Operand x, const FftN& over = {});  // The inverse of rfftn: real numbers
// fftn (ifftn, rfftn, irfftn) over the last two axes: x[.., n1, n2].
Tensor fft2(Operand x, const FftN& over = {});
// The inverse of fft2: ifftn over the last two axes.
Tensor ifft2(Operand x, const FftN& over = {});
// fft2 of real x: [.., n1, n2] -> [.., n1, n2 / 2 + 1].
Tensor rfft2(Operand x, const FftN& over = {});
Tensor irfft2(Operand x, const FftN& over = {});  // The inverse of rfft2: real numbers

// Frequencies of the n elements of fft (the n / 2 + 1 of rfft), in cycles per unit of `spacing`:
// 0, 1, .., then the negative ones, over n * spacing.
Tensor fftfreq(base::Int n, double spacing = 1, DType dtype = f32,
               SourceLocation at = SourceLocation::here());
// Frequencies of the n / 2 + 1 elements of rfft, in cycles per unit of `spacing`.
Tensor rfftfreq(base::Int n, double spacing = 1, DType dtype = f32,
                SourceLocation at = SourceLocation::here());
// Frequency 0 to the middle of the axes (by default all), and back.
Tensor fftshift(Operand x, const AxisList& axes = kAllAxes);
// The inverse of fftshift: the middle of the axes (by default all) to position 0.
Tensor ifftshift(Operand x, const AxisList& axes = kAllAxes);

}  // namespace heddle
