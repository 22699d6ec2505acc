#include "heddle/numpy/float_limits.h"

#include <cmath>

#include "heddle/numpy/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// Of an IEEE format with so many stored mantissa bits whose exponents reach from `least` to `most`.
FloatLimits limits_of(int mantissa_bits, int least, int most) {
  double ulp = std::ldexp(1.0, -mantissa_bits);
  return {.mantissa_bits = mantissa_bits,
          .epsilon = ulp,
          .epsilon_below = ulp / 2,
          .smallest_normal = std::ldexp(1.0, least),
          .smallest_positive = std::ldexp(1.0, least - mantissa_bits),
          .largest = std::ldexp(2.0 - ulp, most)};
}

Expr bits_of(const Expr& x, DType as) { return bitcast_convert(x.operand(), as); }

// The bits of a float other than 0 grow with its size, so adding one gives the next float away from
// 0.
Expr next_bits(const Expr& x, const Expr& y) {
  DType bits = bit_width(x.dtype()) == 64 ? u64 : bit_width(x.dtype()) == 32 ? u32 : u16;
  Expr from = bits_of(x, bits);
  Expr to = bits_of(y, bits);
  uint64_t sign = uint64_t{1} << (bit_width(bits) - 1);
  Expr size_from = from & (sign - 1);
  Expr size_to = to & (sign - 1);
  Expr inward = (size_from > size_to) | ((from & sign) != (to & sign));
  Expr stepped = where(inward, from - 1, from + 1);
  Expr from_zero = (to & sign) | 1;
  return bits_of(where(size_from == 0, from_zero, stepped), x.dtype());
}

}  // namespace

bool has_float_limits(DType dtype) {
  return dtype == f16 || dtype == bf16 || dtype == f32 || dtype == f64;
}

FloatLimits float_limits(DType dtype, SourceLocation at) {
  const PublicCall call("float_limits", at);
  if (dtype == f16) return limits_of(10, -14, 15);
  if (dtype == bf16) return limits_of(7, -126, 127);
  if (dtype == f32) return limits_of(23, -126, 127);
  if (dtype == f64) return limits_of(52, -1022, 1023);
  trace_internal::refuse("dtype is ", to_string(dtype), "; it must be f16, bf16, f32 or f64");
}

IntegerLimits integer_limits(DType dtype, SourceLocation at) {
  const PublicCall call("integer_limits", at);
  if (!is_integer(dtype))
    trace_internal::refuse("dtype is ", to_string(dtype),
                           "; it must be of integers, ask float_limits of floats");
  const int64_t bits = bit_width(dtype);
  const uint64_t top = (uint64_t{1} << (bits - 1)) - 1;
  if (is_unsigned(dtype)) return {bits, 0, 2 * top + 1};
  return {bits, -static_cast<int64_t>(top) - 1, top};
}

Tensor nextafter(Operand x, Operand y) {
  const PublicCall call("nextafter", x.at());
  OperandPair pair = unify(x, y);
  trace_internal::require_ieee_float("x", pair.a.dtype());
  return one_program("nextafter", [&] {
    Expr from(pair.a);
    Expr to(pair.b);
    Expr moved = where(from == to, to, next_bits(from, to));
    return where(is_nan(from) | is_nan(to), from + to, moved).tensor();
  });
}

namespace trace_internal {

void require_ieee_float(std::string_view what, DType dtype) {
  if (has_float_limits(dtype)) return;
  // If the caller asks for a dtype, there is nothing to cast.
  refuse(what, " is ", to_string(dtype), "; it must be f16, bf16, f32 or f64",
         what == "dtype" ? "" : ", cast it with astype(f32)");
}

}  // namespace trace_internal
}  // namespace heddle
