#include "heddle/trace/formulas.h"

#include <cmath>
#include <numbers>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/floats.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::floating;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// A formula of one operand of floats.
template <class Fn>
Tensor formula(std::string_view op, const Operand& x, Fn&& fn) {
  const PublicCall call(op, x.at());
  Located value = floating(op, "x", x);
  return one_program(op, x.at(), [&] { return fn(value).tensor(); });
}

// A formula of two operands, broadcast against each other; `floats` refuses others.
template <class Fn>
Tensor formula(std::string_view op, const Operand& x, const Operand& y, bool floats, Fn&& fn) {
  const PublicCall call(op, x.at());
  return one_program(op, x.at(), [&] {
    OperandPair pair = unify(x, y);
    Located a(pair.a, x.at()), b(pair.b, x.at());
    if (floats) floating(op, "x", a.operand());
    return fn(a, b).tensor();
  });
}

Located is_inf_of(const Located& x) { return ~is_finite(x) & ~is_nan(x); }

// Integers and pred, which have neither fractions nor infinities.
bool is_whole(const Operand& x) {
  const DType dtype = as_tensor(x).dtype();
  return dtype == pred || is_integer(dtype);
}

// The sign bit as the sign of the integer of the same bits; f8e8m0fnu has none.
Located signbit_of(const Located& x) {
  if (x.dtype() == f8e8m0fnu) return x.with(full(x.dimensions(), {false, x.at()}, pred));
  const int64_t bits = bit_width(x.dtype());
  const DType integer = bits == 4 ? s4 : bits == 8 ? s8 : bits == 16 ? s16 : bits == 32 ? s32 : s64;
  return x.with(bitcast_convert(x.operand(), integer)) < 0;
}

// The remainder, moved by y where its sign is not that of y.
Located mod_of(const Located& x, const Located& y) {
  Located rest = x % (is_floating(y.dtype()) ? y : where(y == 0, 1, y));
  return where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest);
}

Located floor_divide_integers(const Located& x, const Located& y) {
  Located whole = x / y;
  if (is_unsigned(x.dtype())) return whole;
  return where((x % y != 0) & (sign(x) != sign(y)), whole - 1, whole);
}

// As CPython's float_divmod: exactly a multiple of y is divided, so that what is rounded is next to
// an integer, and 1 is taken off where the remainder's sign is not that of y.
Located floor_divide_floats(const Located& x, const Located& y) {
  Located rest = x % y;
  Located whole = where(y == 0, x, x - rest) / y;
  whole = where((rest != 0) & (sign(y) != sign(rest)), whole - 1, whole);
  return whole.with(round(whole.operand()));
}

// Integers as floats that hold those of 32 bits and fewer, so that differences do not go around.
Located in_floats(const Located& x) {
  if (!is_whole(x.operand())) return x;
  return x.astype(x.dtype() == pred || bit_width(x.dtype()) < 32 ? f32 : f64);
}

// Neither pred nor complex.
void require_real_numbers(std::string_view op, const Located& x) {
  if (is_floating(x.dtype()) || is_integer(x.dtype())) return;
  throw Error(trace_internal::invalid_argument(
                  op, ": operands are of ", to_string(x.dtype()),
                  "; they must be of integers or floats, cast them with astype(f32)"),
              x.at());
}

}  // namespace

Tensor log2(Operand x) {
  return formula("log2", x, [](const Located& v) { return log(v) / std::numbers::ln2; });
}

Tensor log10(Operand x) {
  return formula("log10", x, [](const Located& v) { return log(v) / std::numbers::ln10; });
}

Tensor exp2(Operand x) {
  return formula("exp2", x, [](const Located& v) { return power(2, v); });
}

Tensor trunc(Operand x) {
  const PublicCall call("trunc", x.at());
  if (is_whole(x)) return as_tensor(x);
  return formula("trunc", x, [](const Located& v) { return where(v < 0, ceil(v), floor(v)); });
}

Tensor deg2rad(Operand x) {
  return formula("deg2rad", x, [](const Located& v) { return v * (std::numbers::pi / 180); });
}

Tensor rad2deg(Operand x) {
  return formula("rad2deg", x, [](const Located& v) { return v * (180 / std::numbers::pi); });
}

Tensor is_inf(Operand operand) {
  const PublicCall call("is_inf", operand.at());
  const Located x(as_tensor(operand), operand.at());
  if (is_whole(operand)) return full(x.dimensions(), {false, x.at()}, pred);
  if (!is_complex(x.dtype())) return formula("is_inf", operand, is_inf_of);
  // Beside a NaN too.
  return one_program("is_inf", x.at(), [&] {
    const Located re = x.with(real(x.operand())), im = x.with(imag(x.operand()));
    return (is_inf_of(re) | is_inf_of(im)).tensor();
  });
}

Tensor signbit(Operand x) { return formula("signbit", x, signbit_of); }

Tensor hypot(Operand x, Operand y) {
  return formula("hypot", x, y, /*floats=*/true, [](const Located& a, const Located& b) {
    Located high = maximum(abs(a), abs(b));
    Located low = minimum(abs(a), abs(b));
    Located ratio = low / where(high == 0, 1, high);
    return where(is_inf_of(a) | is_inf_of(b), INFINITY, high * sqrt(1 + square(ratio)));
  });
}

Tensor logaddexp(Operand x, Operand y) {
  return formula("logaddexp", x, y, /*floats=*/true, [](const Located& a, const Located& b) {
    Located apart = a - b;  // NaN of equal infinities
    return where(is_nan(apart), a + b, maximum(a, b) + log1p(exp(-abs(apart))));
  });
}

Tensor copysign(Operand x, Operand y) {
  return formula("copysign", x, y, /*floats=*/true, [](const Located& a, const Located& b) {
    return where(signbit_of(a) == signbit_of(b), a, -a);
  });
}

Tensor mod(Operand x, Operand y) {
  return formula("mod", x, y, /*floats=*/false, [](const Located& a, const Located& b) {
    require_real_numbers("mod", a);
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
  return one_program(kOp, x.at(), [&] {
    if (x.is_tensor() && y.is_tensor() && given != as_tensor(y).dtype())
      return divide(x, y);  // the error of two dtypes
    auto as_float = [&](const Operand& operand) {
      return operand.is_tensor() ? operand.tensor().astype(dtype, x.at())
                                 : constant_like(rounded(operand, dtype), dtype);
    };
    const Tensor a = as_float(x), b = as_float(y);
    return divide({a, x.at()}, {b, x.at()});
  });
}

Tensor floor_divide(Operand x, Operand y) {
  return formula("floor_divide", x, y, /*floats=*/false, [](const Located& a, const Located& b) {
    require_real_numbers("floor_divide", a);
    return is_floating(a.dtype()) ? floor_divide_floats(a, b) : floor_divide_integers(a, b);
  });
}

Tensor conj(Operand operand) {
  const PublicCall call("conj", operand.at());
  Located x(as_tensor(operand), operand.at());
  if (!is_complex(x.dtype())) return x.tensor();
  return one_program("conj", x.at(), [&] {
    return complex({real(x.operand()), x.at()}, (-x.with(imag(x.operand()))).operand());
  });
}

Tensor angle(Operand operand) {
  const PublicCall call("angle", operand.at());
  Located x(as_tensor(operand), operand.at());
  if (!is_complex(x.dtype()))
    return formula("angle", operand, [](const Located& v) {
      return where(is_nan(v), v, where(signbit_of(v), v.like(std::numbers::pi), v.like(0)));
    });
  return one_program("angle", x.at(), [&] {
    return atan2({imag(x.operand()), x.at()}, {real(x.operand()), x.at()});
  });
}

Tensor iscomplex(Operand operand) {
  const PublicCall call("iscomplex", operand.at());
  const Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  return one_program("iscomplex", at, [&] {
    if (!is_complex(x.dtype())) return full(x.shape().dimensions(), {false, at}, pred);
    return not_equal({imag({x, at}), at}, {0, at});
  });
}

Tensor isreal(Operand operand) {
  return one_program("isreal", operand.at(), [&] {
    return logical_not({iscomplex(operand), operand.at()});
  });
}

Tensor nan_to_num(Operand x, double nan) {
  const PublicCall call("nan_to_num", x.at());
  if (is_whole(x)) return as_tensor(x);
  if (is_complex(as_tensor(x).dtype()))
    return one_program("nan_to_num", x.at(), [&] {
      const Tensor re = nan_to_num({real(x), x.at()}, nan), im = nan_to_num({imag(x), x.at()}, nan);
      return complex({re, x.at()}, {im, x.at()});
    });
  return formula("nan_to_num", x, [&](const Located& v) {
    trace_internal::require_ieee_float("nan_to_num", "x", v.dtype(), v.at());
    const double largest = float_limits(v.dtype()).largest;
    Located finite = minimum(maximum(v, -largest), largest);
    return where(is_nan(v), nan, finite);
  });
}

Tensor is_close(Operand x, Operand y, const Tolerance& within) {
  return formula("is_close", x, y, /*floats=*/false, [&](const Located& given, const Located& to) {
    const Located a = in_floats(given), b = in_floats(to);
    Located near = abs(a - b) <= within.absolute + within.relative * abs(b);
    Located close = (a == b) | (is_finite(a) & is_finite(b) & near);
    return within.equal_nan ? close | (is_nan(a) & is_nan(b)) : close;
  });
}

Tensor all_close(Operand x, Operand y, const Tolerance& within) {
  return one_program("all_close", x.at(), [&] { return all({is_close(x, y, within), x.at()}); });
}

}  // namespace heddle
