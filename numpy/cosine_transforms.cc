#include "heddle/numpy/cosine_transforms.h"

#include <cmath>
#include <numbers>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// x with the axis last, of f32 or f64 and with elements there.
Expr with_axis_last(const Operand& operand, int64_t axis) {
  Expr x(as_tensor(operand));
  const Tensor& t = x.tensor();
  const int64_t along = axis_of(t.shape(), axis);
  if ((t.dtype() != f32 && t.dtype() != f64) || t.dim(along) == 0)
    trace_internal::refuse("x is ", t.shape(),
                           "; it must be of f32 or f64, with "
                           "elements along axis ",
                           axis);
  return moveaxis(x.operand(), along, -1);
}

// start:limit:step of the last axis.
Expr every(const Expr& x, int64_t start, int64_t step) {
  return slice_in_dim(x.operand(), start, x.tensor().dim(-1), step, -1);
}
Expr reversed(const Expr& x) { return flip(x.operand(), {-1}); }
Expr joined(const Expr& a, const Expr& b) { return concat({a.tensor(), b.tensor()}, -1); }

// exp(i pi k sign / (2 n)) for k = 0 .. n - 1.
Expr turns(const Expr& x, double sign) {
  const int64_t n = x.tensor().dim(-1);
  Expr k(iota(x.dtype(), {n}, 0));
  Expr angle = k * (sign * std::numbers::pi / (2.0 * static_cast<double>(n)));
  return complex(cos(angle).operand(), sin(angle).operand());
}

// The factors of an orthonormal transform, for k = 0 .. n - 1.
Expr weights(const Expr& x) {
  const auto n = static_cast<double>(x.tensor().dim(-1));
  Expr k(iota(s32, {x.tensor().dim(-1)}, 0));
  Expr others(full({}, std::sqrt(1 / (2 * n)), x.dtype()));
  return where(k == 0, others.like(std::sqrt(1 / (4 * n))), others);
}

// Even elements forwards, then odd ones backwards.
Expr dct_of(const Expr& x) {
  const Expr mixed = x.tensor().dim(-1) == 1 ? x : joined(every(x, 0, 2), reversed(every(x, 1, 2)));
  const Expr spectrum = Expr(fft(mixed.operand())) * turns(x, -1);
  return Expr(real(spectrum.operand())) * 2;
}

Expr idct_of(const Expr& y) {
  const int64_t n = y.tensor().dim(-1);
  if (n == 1) return y * 0.5;
  // Element n - k is beside element k; a zero is beside element 0.
  const Expr zero = zeros_like(every(y, 0, n).operand());
  const Expr other = joined(zero, reversed(every(y, 1, 1)));
  const Expr half = Expr(complex(y.operand(), (-other).operand())) * turns(y, 1);
  const Expr mixed = Expr(real(ifft(half.operand()))) * 0.5;
  const int64_t even = (n + 1) / 2;
  const Expr first = slice_in_dim(mixed.operand(), 0, even, 1, -1);
  const Expr second = reversed(Expr(slice_in_dim(mixed.operand(), even, n, 1, -1)));
  // Both get zeros between their elements, and are added.
  std::vector<Padding> evens(static_cast<size_t>(y.tensor().rank())), odds = evens;
  evens.back() = {.high = n - (2 * even - 1), .interior = 1};
  odds.back() = {.low = 1, .high = n % 2, .interior = 1};
  return Expr(pad(first.operand(), 0, evens)) + Expr(pad(second.operand(), 0, odds));
}

}  // namespace

Tensor hfft(Operand operand, const Fft& over) {
  const PublicCall call("hfft", operand.at());
  Tensor x = as_tensor(operand);
  const int64_t along = axis_of(x.shape(), over.axis);
  return one_program("hfft", [&] {
    // The inverse transform of the conjugate, with the divisor of the forward one.
    Fft back{.n = over.n, .axis = along, .scale = over.scale};
    if (over.scale == FftScale::kBackward) back.scale = FftScale::kForward;
    if (over.scale == FftScale::kForward) back.scale = FftScale::kBackward;
    return irfft(conj(operand), back);
  });
}

Tensor ihfft(Operand operand, const Fft& over) {
  const PublicCall call("ihfft", operand.at());
  return one_program("ihfft", [&] {
    Fft forth = over;
    if (over.scale == FftScale::kBackward) forth.scale = FftScale::kForward;
    if (over.scale == FftScale::kForward) forth.scale = FftScale::kBackward;
    return conj(rfft(operand, forth));
  });
}

Tensor dct(Operand operand, const Cosine& over) {
  return one_program("dct", operand.at(), [&] {
    const Expr x = with_axis_last(operand, over.axis);
    const Expr out = dct_of(x);
    return moveaxis((over.ortho ? out * weights(x) : out).operand(), -1, over.axis);
  });
}

namespace {

// `transform` along each of the axes.
Tensor along_each(std::string_view op, const Operand& operand, const AxisList& given, bool ortho,
                  Tensor (*transform)(Operand, const Cosine&)) {
  const PublicCall call(op, operand.at());
  Tensor x = as_tensor(operand);
  const bool is_all = given.is_all() || given.list().empty();  // {} before `ortho`
  const std::vector<int64_t> axes =
      trace_internal::axes_of(x.shape(), (is_all ? AxisList(kAllAxes) : given).of_rank(x.rank()));
  return one_program(op, [&] {
    Tensor out = x;
    for (int64_t axis : axes) out = transform(out, {.axis = axis, .ortho = ortho});
    return out;
  });
}

}  // namespace

Tensor dctn(Operand x, const AxisList& axes, base::Flag ortho) {
  return along_each("dctn", x, axes, ortho, dct);
}

Tensor idctn(Operand x, const AxisList& axes, base::Flag ortho) {
  return along_each("idctn", x, axes, ortho, idct);
}

Tensor idct(Operand operand, const Cosine& over) {
  return one_program("idct", operand.at(), [&] {
    const Expr y = with_axis_last(operand, over.axis);
    const Expr out = idct_of(over.ortho ? y / weights(y) : y);
    return moveaxis(out.operand(), -1, over.axis);
  });
}

}  // namespace heddle
