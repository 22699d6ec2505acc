#include "heddle/numpy/math.h"

#include <cmath>
#include <numbers>

#include "heddle/numpy/float_limits.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/scan/own_rule.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using numpy_internal::of_floats;
using numpy_internal::of_inexact;
using numpy_internal::of_two;
using scan_internal::Tensors;

Expr is_inf_of(const Expr& x) { return ~is_finite(x) & ~is_nan(x); }

// Whether x has integers or pred, which have neither fractions nor infinities.
bool is_whole(const Operand& x) {
  const DType dtype = as_tensor(x).dtype();
  return dtype == pred || is_integer(dtype);
}

// The sign bit as the sign of the integer of the same bits; f8e8m0fnu has none.
Expr signbit_of(const Expr& x) {
  if (x.dtype() == f8e8m0fnu) return full(x.dimensions(), false, pred);
  const int64_t bits = bit_width(x.dtype());
  const DType integer = bits == 4 ? s4 : bits == 8 ? s8 : bits == 16 ? s16 : bits == 32 ? s32 : s64;
  return Expr(bitcast_convert(x.operand(), integer)) < 0;
}

// The remainder, moved by y if its sign is not that of y.
Expr mod_of(const Expr& x, const Expr& y) {
  Expr rest = x % (is_floating(y.dtype()) ? y : where(y == 0, 1, y));
  return where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest);
}

Expr floor_divide_integers(const Expr& x, const Expr& y) {
  Expr whole = x / y;
  if (is_unsigned(x.dtype())) return whole;
  return where((x % y != 0) & (sign(x) != sign(y)), whole - 1, whole);
}

// As CPython's float_divmod: it divides an exact multiple of y, so that the rounded quotient is
// next to an integer. It subtracts 1 if the remainder's sign is not that of y.
Expr floor_divide_floats(const Expr& x, const Expr& y) {
  Expr rest = x % where(y == 0, 1, y);
  Expr whole = where(y == 0, x, x - rest) / y;
  whole = where((rest != 0) & (sign(y) != sign(rest)), whole - 1, whole);
  return round(whole.operand());
}

// Integers as floats that can hold those of 32 bits and fewer, so that differences do not wrap.
Expr in_floats(const Expr& x) {
  if (!is_whole(x.operand())) return x;
  return x.astype(x.dtype() == pred || bit_width(x.dtype()) < 32 ? f32 : f64);
}

// Refuses pred and complex numbers.
void require_real_numbers(const Expr& x) {
  if (is_floating(x.dtype()) || is_integer(x.dtype())) return;
  trace_internal::refuse("operands are of ", to_string(x.dtype()),
                         "; they must be of integers or floats, cast them with astype(f32)");
}

// x / d; each part of a complex number, since a quotient of complex numbers would be NaN where one
// part is infinite.
Expr parts_over(const Expr& x, double d) {
  if (!is_complex(x.dtype())) return x / d;
  const Expr re = real(x.operand()), im = imag(x.operand());
  return complex((re / d).operand(), (im / d).operand());
}

}  // namespace

Tensor log2(Operand x) {
  return of_inexact("log2", x, [](const Expr& v) { return parts_over(log(v), std::numbers::ln2); });
}

Tensor log10(Operand x) {
  return of_inexact("log10", x,
                    [](const Expr& v) { return parts_over(log(v), std::numbers::ln10); });
}

Tensor exp2(Operand x) {
  return of_inexact("exp2", x, [](const Expr& v) { return power(2, v); });
}

Tensor trunc(Operand x) {
  const PublicCall call("trunc", x.at());
  if (is_whole(x)) return as_tensor(x);
  return of_floats("trunc", x, [](const Expr& v) { return where(v < 0, ceil(v), floor(v)); });
}

Tensor deg2rad(Operand x) {
  return of_floats("deg2rad", x, [](const Expr& v) { return v * (std::numbers::pi / 180); });
}

Tensor rad2deg(Operand x) {
  return of_floats("rad2deg", x, [](const Expr& v) { return v * (180 / std::numbers::pi); });
}

Tensor is_inf(Operand operand) {
  const PublicCall call("is_inf", operand.at());
  const Expr x(as_tensor(operand));
  if (is_whole(operand)) return full(x.dimensions(), false, pred);
  if (!is_complex(x.dtype())) return of_floats("is_inf", operand, is_inf_of);
  // A number with a NaN in one part may be infinite too.
  return one_program("is_inf", [&] {
    const Expr re = Expr(real(x.operand())), im = Expr(imag(x.operand()));
    return (is_inf_of(re) | is_inf_of(im)).tensor();
  });
}

Tensor signbit(Operand x) { return of_floats("signbit", x, signbit_of); }

// Its slopes are x / hypot and y / hypot; 0 at (0, 0).
Tensor hypot(Operand x, Operand y) {
  return of_floats("hypot", x, y, [](const Expr& a, const Expr& b) {
    const auto value = [](Tensors in) {
      const Expr p = abs(Expr(in[0])), q = abs(Expr(in[1]));
      const Expr high = maximum(p, q), ratio = minimum(p, q) / where(high == 0, 1, high);
      const Expr size = high * sqrt(1 + square(ratio));
      return where(is_inf_of(p) | is_inf_of(q), INFINITY, size).tensor();
    };
    const auto rule = [](Tensors in, const Tensor&, Tensors tangents) {
      const Expr a(in[0]), b(in[1]), high = maximum(abs(a), abs(b));
      const Expr safe = where((high == 0) | (high == INFINITY), 1, high);
      const auto part = [&](const Expr& x) {  // as a share of the greater one
        return where(high == INFINITY, where(is_inf_of(x), sign(x), x.like(0)), x / safe);
      };
      const Expr p = part(a), q = part(b), squares = square(p) + square(q);
      const Expr size = sqrt(where(squares == 0, 1, squares));
      return (p / size * Expr(tangents[0]) + q / size * Expr(tangents[1])).tensor();
    };
    return Expr(scan_internal::with_rule("hypot", {a.tensor(), b.tensor()}, value, rule));
  });
}

Tensor logaddexp(Operand x, Operand y) {
  return of_floats("logaddexp", x, y, [](const Expr& a, const Expr& b) {
    const Expr are_infinite = (a == b) & ~is_finite(a);  // whose difference would be NaN
    Expr apart = where(are_infinite, 0, a - b);
    // At a = b both parts have the slopes of a > b.
    return where(are_infinite, 0.5 * a + 0.5 * b,
                 where(apart >= 0, a, b) + log1p(exp(-abs(apart))));
  });
}

Tensor copysign(Operand x, Operand y) {
  return of_floats("copysign", x, y, [](const Expr& a, const Expr& b) {
    return where(signbit_of(a) == signbit_of(b), a, -a);
  });
}

Tensor mod(Operand x, Operand y) {
  return of_two("mod", x, y, [](const Expr& a, const Expr& b) {
    require_real_numbers(a);
    return mod_of(a, b);
  });
}

Tensor remainder(Operand x, Operand y) {
  return one_program("remainder", x.at(), [&] { return mod(x, y); });
}

Tensor true_divide(Operand x, Operand y) {
  const PublicCall call("true_divide", x.at());
  constexpr std::string_view kOp = "true_divide";
  const Operand& typed = x.is_tensor() ? x : y;
  const DType given = as_tensor(typed).dtype();
  const bool is_exact = typed.is_tensor() && is_whole(typed);
  const DType dtype = !typed.is_tensor()       ? f32
                      : !is_exact              ? given
                      : bit_width(given) == 64 ? f64
                                               : f32;
  return one_program(kOp, [&] {
    if (x.is_tensor() && y.is_tensor() && given != as_tensor(y).dtype())
      return divide(x, y);  // the error of two dtypes
    auto as_float = [&](const Operand& operand) {
      return operand.is_tensor() ? operand.tensor().astype(dtype)
                                 : constant_like(rounded(operand, dtype), dtype);
    };
    const Tensor a = as_float(x), b = as_float(y);
    return divide(a, b);
  });
}

Tensor floor_divide(Operand x, Operand y) {
  return of_two("floor_divide", x, y, [](const Expr& a, const Expr& b) {
    require_real_numbers(a);
    return is_floating(a.dtype()) ? floor_divide_floats(a, b) : floor_divide_integers(a, b);
  });
}

Tensor conj(Operand operand) {
  const PublicCall call("conj", operand.at());
  Expr x(as_tensor(operand));
  if (!is_complex(x.dtype())) return x.tensor();
  return one_program(
      "conj", [&] { return complex(real(x.operand()), (-Expr(imag(x.operand()))).operand()); });
}

Tensor angle(Operand operand) {
  const PublicCall call("angle", operand.at());
  Expr x(as_tensor(operand));
  if (!is_complex(x.dtype()))
    return of_floats("angle", operand, [](const Expr& v) {
      return where(is_nan(v), v, where(signbit_of(v), v.like(std::numbers::pi), v.like(0)));
    });
  return one_program("angle", [&] { return atan2(imag(x.operand()), real(x.operand())); });
}

Tensor iscomplex(Operand operand) {
  const PublicCall call("iscomplex", operand.at());
  const trace_internal::OnDeviceOf device(operand);
  const Tensor x = as_tensor(operand);
  return one_program("iscomplex", [&] {
    if (!is_complex(x.dtype())) return full(x.shape().dimensions(), false, pred);
    return not_equal(imag(x), 0);
  });
}

Tensor isreal(Operand operand) {
  const trace_internal::OnDeviceOf device(operand);
  return one_program("isreal", operand.at(), [&] { return logical_not(iscomplex(operand)); });
}

Tensor nan_to_num(Operand x, double nan) {
  const PublicCall call("nan_to_num", x.at());
  if (is_whole(x)) return as_tensor(x);
  if (is_complex(as_tensor(x).dtype()))
    return one_program("nan_to_num", [&] {
      const Tensor re = nan_to_num(real(x), nan), im = nan_to_num(imag(x), nan);
      return complex(re, im);
    });
  return of_floats("nan_to_num", x, [&](const Expr& v) {
    trace_internal::require_ieee_float("x", v.dtype());
    const double largest = float_limits(v.dtype()).largest;
    return where(is_nan(v), nan, where(v > largest, largest, where(v < -largest, -largest, v)));
  });
}

Tensor is_close(Operand x, Operand y, const Tolerance& within) {
  return of_two("is_close", x, y, [&](const Expr& given, const Expr& to) {
    const Expr a = in_floats(given), b = in_floats(to);
    const Expr are_finite = is_finite(a) & is_finite(b);
    const Expr apart = where(are_finite, a - b, 0), size = where(are_finite, b, 0);
    Expr near = abs(apart) <= within.absolute + within.relative * abs(size);
    Expr close = (a == b) | (are_finite & near);
    return within.equal_nan ? close | (is_nan(a) & is_nan(b)) : close;
  });
}

Tensor all_close(Operand x, Operand y, const Tolerance& within) {
  return one_program("all_close", x.at(), [&] { return all(is_close(x, y, within)); });
}

}  // namespace heddle
