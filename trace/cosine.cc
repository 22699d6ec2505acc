#include "heddle/trace/cosine.h"

#include <cmath>
#include <numbers>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// x with the axis last, of f32 or f64 and with elements there.
Located with_axis_last(std::string_view op, const Operand& operand, int64_t axis) {
  Located x(as_tensor(operand), operand.at());
  const Tensor& t = x.tensor();
  const int64_t along = axis_of(op, t.shape(), axis, x.at());
  if ((t.dtype() != f32 && t.dtype() != f64) || t.dim(along) == 0)
    throw Error(trace_internal::invalid_argument(op, ": x is ", t.shape(),
                                                 "; it must be of f32 or f64, with "
                                                 "elements along axis ",
                                                 axis),
                x.at());
  return x.with(moveaxis(x.operand(), along, -1));
}

// start:limit:step of the last axis.
Located every(const Located& x, int64_t start, int64_t step) {
  return x.with(slice_in_dim(x.operand(), start, x.tensor().dim(-1), step, -1));
}
Located reversed(const Located& x) { return x.with(flip(x.operand(), {-1})); }
Located joined(const Located& a, const Located& b) {
  return a.with(concat({a.tensor(), b.tensor()}, -1, a.at()));
}

// exp(i pi k sign / (2 n)) for k = 0 .. n - 1.
Located turns(const Located& x, double sign) {
  const int64_t n = x.tensor().dim(-1);
  Located k(iota(x.dtype(), {n}, 0, x.at()), x.at());
  Located angle = k * (sign * std::numbers::pi / (2.0 * static_cast<double>(n)));
  return x.with(complex(cos(angle).operand(), sin(angle).operand()));
}

// What an orthonormal transform multiplies with, for k = 0 .. n - 1.
Located weights(const Located& x) {
  const auto n = static_cast<double>(x.tensor().dim(-1));
  Located k(iota(s32, {x.tensor().dim(-1)}, 0, x.at()), x.at());
  Located others(full({}, {std::sqrt(1 / (2 * n)), x.at()}, x.dtype()), x.at());
  return where(k == 0, others.like(std::sqrt(1 / (4 * n))), others);
}

// Even elements forwards, then odd ones backwards.
Located dct_of(const Located& x) {
  const Located mixed =
      x.tensor().dim(-1) == 1 ? x : joined(every(x, 0, 2), reversed(every(x, 1, 2)));
  const Located spectrum = x.with(fft(mixed.operand())) * turns(x, -1);
  return x.with(real(spectrum.operand())) * 2;
}

Located idct_of(const Located& y) {
  const int64_t n = y.tensor().dim(-1);
  if (n == 1) return y * 0.5;
  // Element n - k stands beside element k; beside element 0 a zero.
  const Located zero = every(y, 0, n).with(zeros_like(every(y, 0, n).operand()));
  const Located other = joined(zero, reversed(every(y, 1, 1)));
  const Located half = y.with(complex(y.operand(), (-other).operand())) * turns(y, 1);
  const Located mixed = y.with(real({ifft(half.operand()), y.at()})) * 0.5;
  const int64_t even = (n + 1) / 2;
  const Located first = y.with(slice_in_dim(mixed.operand(), 0, even, 1, -1));
  const Located second = reversed(y.with(slice_in_dim(mixed.operand(), even, n, 1, -1)));
  // Both apart by zeros between their elements, and added.
  std::vector<Padding> evens(static_cast<size_t>(y.tensor().rank())), odds = evens;
  evens.back() = {.high = n - (2 * even - 1), .interior = 1};
  odds.back() = {.low = 1, .high = n % 2, .interior = 1};
  return y.with(pad(first.operand(), {0, y.at()}, evens)) +
         y.with(pad(second.operand(), {0, y.at()}, odds));
}

}  // namespace

Tensor hfft(Operand operand, const Fft& over) {
  const PublicCall call("hfft", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  const int64_t along = axis_of("hfft", x.shape(), over.axis, at);
  return one_program("hfft", at, [&] {
    // The inverse transform of the conjugate, divided by what the forward one is divided by.
    Fft back{.n = over.n, .axis = along, .scale = over.scale};
    if (over.scale == FftScale::kBackward) back.scale = FftScale::kForward;
    if (over.scale == FftScale::kForward) back.scale = FftScale::kBackward;
    return irfft({conj(operand), at}, back);
  });
}

Tensor ihfft(Operand operand, const Fft& over) {
  const PublicCall call("ihfft", operand.at());
  SourceLocation at = operand.at();
  return one_program("ihfft", at, [&] {
    Fft forth = over;
    if (over.scale == FftScale::kBackward) forth.scale = FftScale::kForward;
    if (over.scale == FftScale::kForward) forth.scale = FftScale::kBackward;
    return conj({rfft(operand, forth), at});
  });
}

Tensor dct(Operand operand, const Cosine& over) {
  return one_program("dct", operand.at(), [&] {
    const Located x = with_axis_last("dct", operand, over.axis);
    const Located out = dct_of(x);
    return moveaxis((over.ortho ? out * weights(x) : out).operand(), -1, over.axis);
  });
}

namespace {

// `transform` along each of the axes.
Tensor along_each(std::string_view op, const Operand& operand, const AxisList& given, bool ortho,
                  Tensor (*transform)(Operand, const Cosine&)) {
  const PublicCall call(op, operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand);
  const std::vector<int64_t> axes =
      trace_internal::axes_of(op, x.shape(), given.of_rank(x.rank()), at);
  return one_program(op, at, [&] {
    Tensor out = x;
    for (int64_t axis : axes) out = transform({out, at}, {.axis = axis, .ortho = ortho});
    return out;
  });
}

}  // namespace

Tensor dctn(Operand x, const AxisList& axes, bool ortho) {
  return along_each("dctn", x, axes, ortho, dct);
}

Tensor idctn(Operand x, const AxisList& axes, bool ortho) {
  return along_each("idctn", x, axes, ortho, idct);
}

Tensor idct(Operand operand, const Cosine& over) {
  return one_program("idct", operand.at(), [&] {
    const Located y = with_axis_last("idct", operand, over.axis);
    const Located out = idct_of(over.ortho ? y / weights(y) : y);
    return moveaxis(out.operand(), -1, over.axis);
  });
}

}  // namespace heddle
