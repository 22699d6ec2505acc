#include "heddle/trace/numbers.h"

#include <cmath>
#include <numbers>

#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/floats.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::floating;
using trace_internal::in_program;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, Fn&& fn) {
  const PublicCall call(op, x.at());
  Located value = floating(op, "x", x);
  return one_program(op, x.at(), [&] { return fn(value).tensor(); });
}

// A formula of two floats, broadcast against each other.
template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, const Operand& y, Fn&& fn) {
  const PublicCall call(op, x.at());
  return one_program(op, x.at(), [&] {
    OperandPair pair = unify(x, y);
    Located a(pair.a, x.at()), b(pair.b, x.at());
    floating(op, "x", a.operand());
    return fn(a, b).tensor();
  });
}

Located truncated(const Located& x) { return where(x < 0, ceil(x), floor(x)); }
// |x| with the sign of y.
Located signed_as(const Located& x, const Located& y) {
  return x.with(copysign(x.operand(), y.operand()));
}

// The layout of an IEEE float.
struct Layout {
  DType bits;            // the unsigned integer of its width
  int64_t mantissa;      // stored bits
  int64_t bias;          // of the exponent
  int64_t exponent_max;  // of a number that is not finite
  uint64_t all;          // bits
};
Layout layout_of(DType dtype) {
  const int64_t width = bit_width(dtype), mantissa = float_limits(dtype).mantissa_bits;
  const int64_t exponent_max = (int64_t{1} << (width - 1 - mantissa)) - 1;
  return {width == 16   ? u16
          : width == 32 ? u32
                        : u64,
          mantissa, exponent_max / 2, exponent_max, ~uint64_t{0} >> (64 - width)};
}

// 2^n, for n (s32) from the least normal number's exponent to the greatest.
Located power_of_two(const Located& n, DType dtype) {
  const Layout layout = layout_of(dtype);
  const Located bits = (n + layout.bias).astype(layout.bits) << layout.mantissa;
  return n.with(bitcast_convert(bits.operand(), dtype));
}

// The bits of 2^-1, where the exponent was.
FrexpResult frexp_of(const Located& x) {
  const Layout layout = layout_of(x.dtype());
  const int64_t lift = layout.mantissa + 1;
  const Located is_small = abs(x) < float_limits(x.dtype()).smallest_normal;
  const Located normal = where(is_small, x * std::ldexp(1.0, static_cast<int>(lift)), x);
  const Located bits = x.with(bitcast_convert(normal.operand(), layout.bits));
  const auto mask = static_cast<uint64_t>(layout.exponent_max) << layout.mantissa;
  const Located stored = ((bits & mask) >> layout.mantissa).astype(s32);
  const Located half =
      (bits & (layout.all & ~mask)) | (static_cast<uint64_t>(layout.bias - 1) << layout.mantissa);
  const Located has_parts = is_finite(x) & (x != 0);
  const Located exponent = stored - (layout.bias - 1) - where(is_small, stored.like(lift), 0);
  return {where(has_parts, x.with(bitcast_convert(half.operand(), x.dtype())), x).tensor(),
          where(has_parts, exponent, 0).tensor()};
}

}  // namespace

Tensor around(Operand operand, base::Int decimals) {
  const PublicCall call("around", operand.at());
  Located x(as_tensor(operand), operand.at());
  if (is_integer(x.dtype()) && decimals >= 0) return x.tensor();
  floating("around", "x", operand);
  return one_program("around", x.at(), [&] {
    if (decimals == 0) return round(x.operand());
    // The powers of 10 overflow 16-bit floats, and their digits do.
    const Located wide = bit_width(x.dtype()) < 32 ? x.astype(f32) : x;
    const double factor = std::pow(10.0, static_cast<double>(std::abs(decimals)));
    const Located scaled = decimals > 0 ? wide * factor : wide / factor;
    const Located whole = x.with(round(scaled.operand()));
    const Located out = decimals > 0 ? whole / factor : whole * factor;
    return where(is_finite(scaled), out, wide).astype(x.dtype()).tensor();
  });
}

Tensor is_posinf(Operand x) {
  return of_floats("is_posinf", x, [](const Located& v) { return v == INFINITY; });
}

Tensor is_neginf(Operand x) {
  return of_floats("is_neginf", x, [](const Located& v) { return v == -INFINITY; });
}

Tensor heaviside(Operand x, Operand at_zero) {
  return of_floats("heaviside", x, at_zero, [](const Located& v, const Located& h) {
    return where(v == 0, h, where(is_nan(v), v, (v > 0).astype(v.dtype())));
  });
}

Tensor logaddexp2(Operand x, Operand y) {
  return of_floats("logaddexp2", x, y, [](const Located& a, const Located& b) {
    Located apart = a - b;  // NaN of equal infinities
    Located more = log1p(power(2, -abs(apart))) / std::numbers::ln2;
    return where(is_nan(apart), a + b, where(a == b, a + 1, maximum(a, b) + more));
  });
}

Tensor fmod(Operand x, Operand y) {
  return one_program("fmod", x.at(), [&] {
    const OperandPair pair = unify(x, y);
    const Located a(pair.a, x.at()), b(pair.b, x.at());
    // What is left of a division by 1 is 0.
    return (is_integer(a.dtype()) ? a % where(b == 0, 1, b) : a % b).tensor();
  });
}

Tensor fmax(Operand x, Operand y) {
  return of_floats("fmax", x, y, [](const Located& a, const Located& b) {
    return where((a > b) | is_nan(b), a, b);
  });
}

Tensor fmin(Operand x, Operand y) {
  return of_floats("fmin", x, y, [](const Located& a, const Located& b) {
    return where((a < b) | is_nan(b), a, b);
  });
}

DivmodResult divmod(Operand x, Operand y) {
  const PublicCall call("divmod", x.at());
  std::vector<Tensor> out = in_program("divmod", x.at(), [&] {
    return std::vector<Tensor>{floor_divide(x, y), mod(x, y)};
  });
  return {out[0], out[1]};
}

ModfResult modf(Operand operand) {
  const PublicCall call("modf", operand.at());
  Located x = floating("modf", "x", operand);
  std::vector<Tensor> out = in_program("modf", x.at(), [&] {
    const Located whole = truncated(x);
    const Located rest = where(is_finite(x) | is_nan(x), x - whole, 0);
    return std::vector<Tensor>{signed_as(rest, x).tensor(), signed_as(whole, x).tensor()};
  });
  return {out[0], out[1]};
}

FrexpResult frexp(Operand operand) {
  const PublicCall call("frexp", operand.at());
  Located x(as_tensor(operand), operand.at());
  trace_internal::require_ieee_float("frexp", "x", x.dtype(), x.at());
  std::vector<Tensor> out = in_program("frexp", x.at(), [&] {
    FrexpResult parts = frexp_of(x);
    return std::vector<Tensor>{parts.mantissa, parts.exponent};
  });
  return {out[0], out[1]};
}

Tensor ldexp(Operand operand, Operand exponents) {
  const PublicCall call("ldexp", operand.at());
  Located x(as_tensor(operand), operand.at());
  Located n(as_tensor(exponents), x.at());
  trace_internal::require_ieee_float("ldexp", "x", x.dtype(), x.at());
  if (!is_integer(n.dtype()))
    throw Error(
        trace_internal::invalid_argument("ldexp", ": n is ", n.tensor().shape(),
                                         "; it must be of integers, cast it with astype(s32)"),
        x.at());
  return one_program("ldexp", x.at(), [&] {
    const int64_t bias = layout_of(x.dtype()).bias;
    const FrexpResult parts = frexp_of(x);
    // More than from the least number to the greatest changes nothing.
    const auto reach = static_cast<double>(4 * bias);
    const Located moved =
        n.with(clip(n.astype(f64).operand(), {-reach, x.at()}, {reach, x.at()})).astype(s32);
    const Located exponent = x.with(parts.exponent) + moved;
    // The first factor leaves a number with all of its bits, so that the last alone rounds.
    const Located first = maximum(minimum(exponent, bias), 2 - bias);
    const Located last = maximum(minimum(exponent - first, bias), 1 - bias);
    return (x.with(parts.mantissa) * power_of_two(first, x.dtype()) * power_of_two(last, x.dtype()))
        .tensor();
  });
}

Tensor spacing(Operand operand) {
  const PublicCall call("spacing", operand.at());
  Located x(as_tensor(operand), operand.at());
  trace_internal::require_ieee_float("spacing", "x", x.dtype(), x.at());
  return one_program("spacing", x.at(), [&] {
    const Located size = abs(x);
    const Located next = x.with(nextafter(size.operand(), {INFINITY, x.at()}));
    return signed_as(where(is_finite(x), next - size, NAN), x).tensor();
  });
}

Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices,
              Operand otherwise) {
  const PublicCall call("select", otherwise.at());
  SourceLocation at = otherwise.at();
  if (conditions.empty() || conditions.size() != choices.size())
    throw Error(trace_internal::invalid_argument("select", ": has ", conditions.size(),
                                                 " conditions and ", choices.size(),
                                                 " choices; give as many of both, one at least"),
                at);
  return one_program("select", at, [&] {
    Tensor out = trace_internal::like("select", "otherwise", otherwise, choices[0].dtype(), at);
    for (size_t i = conditions.size(); i-- > 0;)
      out = where({conditions[i], at}, {choices[i], at}, {out, at});
    return out;
  });
}

Tensor choose(Operand which, const std::vector<Tensor>& choices) {
  const PublicCall call("choose", which.at());
  SourceLocation at = which.at();
  Located index(as_tensor(which), at);
  if (choices.empty() || !is_integer(index.dtype()))
    throw Error(
        trace_internal::invalid_argument(
            "choose", ": which is ", index.tensor().shape(), " and there are ", choices.size(),
            " choices; which must be of integers, with one choice at least"),
        at);
  return one_program("choose", at, [&] {
    if (bit_width(index.dtype()) < 32) index = index.astype(s32);  // holds the number of any choice
    Located out(choices.back(), at);
    const auto last = static_cast<int64_t>(choices.size()) - 1;
    for (int64_t i = last - 1; i >= 0; --i)
      out = where(index <= i, Located(choices[static_cast<size_t>(i)], at), out);
    Dimensions shape = broadcast_shapes(index.tensor().shape(), out.tensor().shape(), at);
    return broadcast_to(out.tensor(), shape, at);
  });
}

Tensor array_equal(Operand left, Operand right, bool equal_nan) {
  const PublicCall call("array_equal", left.at());
  SourceLocation at = left.at();
  Tensor x = as_tensor(left), y = as_tensor(right);
  return one_program("array_equal", at, [&] {
    if (x.shape().dimensions() != y.shape().dimensions()) return full({}, {false, at}, pred);
    OperandPair pair = unify(left, right);
    Located a(pair.a, at), b(pair.b, at), same = a == b;
    if (equal_nan && (is_floating(a.dtype()) || is_complex(a.dtype())))
      same = same | ((a != a) & (b != b));
    return all(same.operand());
  });
}

Tensor packbits(Operand operand, std::optional<base::Int> axis) {
  const PublicCall call("packbits", operand.at());
  SourceLocation at = operand.at();
  const Tensor given = as_tensor(operand);
  if (given.dtype() != pred && !is_integer(given.dtype()))
    throw Error(
        trace_internal::invalid_argument("packbits", ": x is ", given.shape(),
                                         "; it must be of integers or pred, compare it with 0"),
        at);
  const int64_t along = axis ? axis_of("packbits", given.shape(), *axis, at) : 0;
  return one_program("packbits", at, [&] {
    const Tensor x = axis ? given : ravel({given, at});
    Tensor bits = (x.dtype() == pred ? x : not_equal({x, at}, {0, at})).astype(u8, at);
    const int64_t n = x.dim(along), bytes = (n + 7) / 8;
    std::vector<Padding> room(static_cast<size_t>(x.rank()));
    room[static_cast<size_t>(along)].high = bytes * 8 - n;
    Dimensions shape = x.shape().dimensions();
    shape[static_cast<size_t>(along)] = bytes;
    shape.insert(shape.begin() + along + 1, 8);
    Located groups(reshape({pad({bits, at}, {0, at}, room), at}, shape), at);
    Located weights = Located(iota(u8, shape, along + 1, at), at);
    Located placed = groups << (7 - weights);
    return sum(placed, {.axes = {along + 1}}).astype(u8).tensor();
  });
}

Tensor unpackbits(Operand operand, std::optional<base::Int> axis) {
  const PublicCall call("unpackbits", operand.at());
  SourceLocation at = operand.at();
  const Tensor given = as_tensor(operand);
  const int64_t along = axis ? axis_of("unpackbits", given.shape(), *axis, at) : 0;
  if (given.dtype() != u8)
    throw Error(trace_internal::invalid_argument("unpackbits", ": x is ", given.shape(),
                                                 "; it must be of u8"),
                at);
  return one_program("unpackbits", at, [&] {
    const Tensor x = axis ? given : ravel({given, at});
    Dimensions shape = x.shape().dimensions(), merged = shape;
    merged[static_cast<size_t>(along)] *= 8;
    shape.insert(shape.begin() + along + 1, 8);
    Located weights = 7 - Located(iota(u8, shape, along + 1, at), at);
    Located bits = (Located(expand_dims({x, at}, along + 1), at) >> weights) & 1;
    return reshape(bits.operand(), merged);
  });
}

}  // namespace heddle
