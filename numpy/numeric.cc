#include <cmath>
#include <numbers>

#include "heddle/numpy/float_limits.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/own_rule.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using numpy_internal::of_floats;
using scan_internal::Tensors;

Expr truncated(const Expr& x) { return where(x < 0, ceil(x), floor(x)); }
// |x| with the sign of y.
Expr signed_as(const Expr& x, const Expr& y) { return copysign(x.operand(), y.operand()); }

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
Expr power_of_two(const Expr& n, DType dtype) {
  const Layout layout = layout_of(dtype);
  const Expr bits = (n + layout.bias).astype(layout.bits) << layout.mantissa;
  return bitcast_convert(bits.operand(), dtype);
}

// The mantissa is x times a power of two, so that its derivative is that power. A number is moved
// first, to where that power and its inverse are normal numbers.
FrexpResult frexp_of(const Expr& x) {
  const Layout layout = layout_of(x.dtype());
  const auto lift = static_cast<int>(layout.mantissa + 1);
  const Expr is_small = abs(x)<float_limits(x.dtype()).smallest_normal, is_big = abs(x)> 1.0;
  const Expr moved =
      where(is_small, x * std::ldexp(1.0, lift), where(is_big, x * std::ldexp(1.0, -lift), x));
  const Expr bits = bitcast_convert(moved.operand(), layout.bits);
  const auto mask = static_cast<uint64_t>(layout.exponent_max) << layout.mantissa;
  const Expr has_parts = is_finite(x) & (x != 0);
  const Expr stored = ((bits & mask) >> layout.mantissa).astype(s32);
  const Expr exponent = where(has_parts, stored - (layout.bias - 1), 0);
  const Expr lifted = where(is_small, exponent.like(lift), where(is_big, exponent.like(-lift), 0));
  return {where(has_parts, moved * power_of_two(-exponent, x.dtype()), x).tensor(),
          where(has_parts, exponent - lifted, 0).tensor()};
}

// x 2^n, rounded once.
Expr ldexp_of(const Expr& x, const Expr& n) {
  const int64_t bias = layout_of(x.dtype()).bias;
  const FrexpResult parts = frexp_of(x);
  const Expr exponent = Expr(parts.exponent) + n;
  // The first factor leaves a number with all of its bits, so that only the last one rounds.
  const Expr first = maximum(minimum(exponent, bias), 2 - bias);
  const Expr last = maximum(minimum(exponent - first, bias), 1 - bias);
  return Expr(parts.mantissa) * power_of_two(first, x.dtype()) * power_of_two(last, x.dtype());
}

struct Euclid {
  Tensor a, b;
  static constexpr auto kFields = fields(field("a", &Euclid::a), field("b", &Euclid::b));
};

Expr gcd_of(const Expr& x, const Expr& y) {
  auto unfinished = [&](const Euclid& s) { return any_of(Expr(s.b) != 0).tensor(); };
  auto step = [&](const Euclid& s) {
    Expr a = Expr(s.a), b = Expr(s.b);
    Expr open = b != 0;
    return Euclid{where(open, b, a).tensor(), where(open, a % where(open, b, 1), b).tensor()};
  };
  const Euclid start{abs(x).tensor(), abs(y).tensor()};
  // The least integer has no magnitude: remainders of it may have its sign.
  return abs(Expr(while_loop(unfinished, step, start).a));
}

// The integers broadcast to each other.
template <class Fn>
Tensor of_integers(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  const PublicCall call(op, left.at());
  return one_program(op, [&] {
    OperandPair pair = unify(left, right);
    if (!is_integer(pair.a.dtype()))
      trace_internal::refuse("operands are ", pair.a.shape(), "; they must be of integers");
    return fn(Expr(pair.a), Expr(pair.b)).tensor();
  });
}

}  // namespace

Tensor around(Operand operand, base::Int decimals) {
  const PublicCall call("around", operand.at());
  Expr x(as_tensor(operand));
  if (is_integer(x.dtype()) && decimals >= 0) return x.tensor();
  floating("x", operand);
  return one_program("around", [&] {
    if (decimals == 0) return round(x.operand());
    // Powers of 10 overflow 16-bit floats, and so do scaled numbers.
    const Expr wide = bit_width(x.dtype()) < 32 ? x.astype(f32) : x;
    const double factor = std::pow(10.0, static_cast<double>(std::abs(decimals)));
    const Expr scaled = decimals > 0 ? wide * factor : wide / factor;
    const Expr whole = round(scaled.operand());
    const Expr out = decimals > 0 ? whole / factor : whole * factor;
    return where(is_finite(scaled), out, wide).astype(x.dtype()).tensor();
  });
}

Tensor is_posinf(Operand x) {
  return of_floats("is_posinf", x, [](const Expr& v) { return v == INFINITY; });
}

Tensor is_neginf(Operand x) {
  return of_floats("is_neginf", x, [](const Expr& v) { return v == -INFINITY; });
}

Tensor heaviside(Operand x, Operand at_zero) {
  return of_floats("heaviside", x, at_zero, [](const Expr& v, const Expr& h) {
    return where(v == 0, h, where(is_nan(v), v, (v > 0).astype(v.dtype())));
  });
}

Tensor logaddexp2(Operand x, Operand y) {
  return of_floats("logaddexp2", x, y, [](const Expr& a, const Expr& b) {
    // Infinities are separate, since their differences would be NaN.
    const Expr are_equal = (a == b) & is_finite(a), are_infinite = (a == b) & ~is_finite(a);
    Expr apart = where(are_infinite, 0, a - b);
    Expr more = log1p(power(2, -abs(apart))) / std::numbers::ln2;
    // At a = b both parts have the slopes of a > b. The sum is exact there, and the correction has
    // no slope: a bitcast stops it.
    Expr value = where(apart >= 0, a, b) + more;
    Expr off = where(are_equal, a, 0) + 1 - where(are_equal, value, 0);
    Expr rounding = bitcast_convert(off.operand(), value.dtype());
    return where(are_infinite, 0.5 * a + 0.5 * b, where(are_equal, value + rounding, value));
  });
}

Tensor fmod(Operand x, Operand y) {
  return one_program("fmod", x.at(), [&] {
    const OperandPair pair = unify(x, y);
    const Expr a(pair.a), b(pair.b);
    // The remainder of a division by 1 is 0.
    return (is_integer(a.dtype()) ? a % where(b == 0, 1, b) : a % b).tensor();
  });
}

Tensor fmax(Operand x, Operand y) {
  return of_floats("fmax", x, y,
                   [](const Expr& a, const Expr& b) { return where((a > b) | is_nan(b), a, b); });
}

Tensor fmin(Operand x, Operand y) {
  return of_floats("fmin", x, y,
                   [](const Expr& a, const Expr& b) { return where((a < b) | is_nan(b), a, b); });
}

DivmodResult divmod(Operand x, Operand y) {
  const PublicCall call("divmod", x.at());
  std::vector<Tensor> out = in_program("divmod", [&] {
    return std::vector<Tensor>{floor_divide(x, y), mod(x, y)};
  });
  return {out[0], out[1]};
}

ModfResult modf(Operand operand) {
  const PublicCall call("modf", operand.at());
  Expr x = floating("x", operand);
  std::vector<Tensor> out = in_program("modf", [&] {
    const Expr whole = truncated(x);
    const Expr rest = where(is_finite(x) | is_nan(x), x - whole, 0);
    return std::vector<Tensor>{signed_as(rest, x).tensor(), signed_as(whole, x).tensor()};
  });
  return {out[0], out[1]};
}

FrexpResult frexp(Operand operand) {
  const PublicCall call("frexp", operand.at());
  Expr x(as_tensor(operand));
  trace_internal::require_ieee_float("x", x.dtype());
  std::vector<Tensor> out = in_program("frexp", [&] {
    FrexpResult parts = frexp_of(x);
    return std::vector<Tensor>{parts.mantissa, parts.exponent};
  });
  return {out[0], out[1]};
}

Tensor ldexp(Operand operand, Operand exponents) {
  const PublicCall call("ldexp", operand.at());
  Expr x(as_tensor(operand));
  Expr n(as_tensor(exponents));
  trace_internal::require_ieee_float("x", x.dtype());
  if (!is_integer(n.dtype()))
    trace_internal::refuse("n is ", n.tensor().shape(),
                           "; it must be of integers, cast it with astype(s32)");
  return one_program("ldexp", [&] {
    const DType dtype = x.dtype();
    const int64_t bias = layout_of(dtype).bias;
    // An exponent beyond the range from the least number to the greatest changes nothing.
    const auto reach = static_cast<double>(4 * bias);
    const Expr moved = Expr(clip(n.astype(f64).operand(), -reach, reach)).astype(s32);
    const auto value = [](Tensors in) { return ldexp_of(Expr(in[0]), Expr(in[1])).tensor(); };
    const auto rule = [&](Tensors in, const Tensor&, Tensors tangents) {
      const Expr n(in[1]), first = maximum(minimum(n, bias), 1 - bias);
      const Expr last = maximum(minimum(n - first, bias), 1 - bias);
      return (Expr(tangents[0]) * power_of_two(first, dtype) * power_of_two(last, dtype)).tensor();
    };
    return scan_internal::with_rule("ldexp", {x.tensor(), moved.tensor()}, value, rule);
  });
}

Tensor spacing(Operand operand) {
  const PublicCall call("spacing", operand.at());
  Expr x(as_tensor(operand));
  trace_internal::require_ieee_float("x", x.dtype());
  return one_program("spacing", [&] {
    const Expr size = abs(x);
    const Expr next = nextafter(size.operand(), INFINITY);
    return signed_as(where(is_finite(x), next - size, NAN), x).tensor();
  });
}

Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices,
              Operand otherwise) {
  const PublicCall call("select", otherwise.at());
  if (conditions.empty() || conditions.size() != choices.size())
    trace_internal::refuse("has ", conditions.size(), " conditions and ", choices.size(),
                           " choices; give as many of both, one at least");
  return one_program("select", [&] {
    Tensor out = trace_internal::like("otherwise", otherwise, choices[0].dtype());
    for (size_t i = conditions.size(); i-- > 0;) out = where(conditions[i], choices[i], out);
    return out;
  });
}

Tensor choose(Operand which, const std::vector<Tensor>& choices) {
  const PublicCall call("choose", which.at());
  Expr index(as_tensor(which));
  if (choices.empty() || !is_integer(index.dtype()))
    trace_internal::refuse("which is ", index.tensor().shape(), " and there are ", choices.size(),
                           " choices; which must be of integers, with one choice at least");
  return one_program("choose", [&] {
    if (bit_width(index.dtype()) < 32) index = index.astype(s32);  // holds the number of any choice
    Expr out(choices.back());
    const auto last = static_cast<int64_t>(choices.size()) - 1;
    for (int64_t i = last - 1; i >= 0; --i)
      out = where(index <= i, Expr(choices[static_cast<size_t>(i)]), out);
    Dimensions shape = broadcast_shapes(index.tensor().shape(), out.tensor().shape());
    return broadcast_to(out.tensor(), shape);
  });
}

Tensor array_equal(Operand left, Operand right, base::Flag equal_nan) {
  const PublicCall call("array_equal", left.at());
  const trace_internal::OnDeviceOf device(left, right);
  Tensor x = as_tensor(left), y = as_tensor(right);
  return one_program("array_equal", [&] {
    if (x.shape().dimensions() != y.shape().dimensions()) return full({}, false, pred);
    OperandPair pair = unify(left, right);
    Expr a(pair.a), b(pair.b), same = a == b;
    if (equal_nan && (is_floating(a.dtype()) || is_complex(a.dtype())))
      same = same | ((a != a) & (b != b));
    return all(same.operand());
  });
}

Tensor packbits(Operand operand, std::optional<base::Int> axis) {
  const PublicCall call("packbits", operand.at());
  const Tensor given = as_tensor(operand);
  if (given.dtype() != pred && !is_integer(given.dtype()))
    trace_internal::refuse("x is ", given.shape(),
                           "; it must be of integers or pred, compare it with 0");
  const int64_t along = axis ? axis_of(given.shape(), *axis) : 0;
  return one_program("packbits", [&] {
    const Tensor x = axis ? given : ravel(given);
    Tensor bits = (x.dtype() == pred ? x : not_equal(x, 0)).astype(u8);
    const int64_t n = x.dim(along), bytes = (n + 7) / 8;
    std::vector<Padding> room(static_cast<size_t>(x.rank()));
    room[static_cast<size_t>(along)].high = bytes * 8 - n;
    Dimensions shape = x.shape().dimensions();
    shape[static_cast<size_t>(along)] = bytes;
    shape.insert(shape.begin() + along + 1, 8);
    Expr groups(reshape(pad(bits, 0, room), shape));
    Expr weights = iota(u8, shape, along + 1);
    Expr placed = groups << (7 - weights);
    return sum(placed, {.axes = {along + 1}}).astype(u8).tensor();
  });
}

Tensor unpackbits(Operand operand, std::optional<base::Int> axis) {
  const PublicCall call("unpackbits", operand.at());
  const Tensor given = as_tensor(operand);
  const int64_t along = axis ? axis_of(given.shape(), *axis) : 0;
  if (given.dtype() != u8) trace_internal::refuse("x is ", given.shape(), "; it must be of u8");
  return one_program("unpackbits", [&] {
    const Tensor x = axis ? given : ravel(given);
    Dimensions shape = x.shape().dimensions(), merged = shape;
    merged[static_cast<size_t>(along)] *= 8;
    shape.insert(shape.begin() + along + 1, 8);
    Expr weights = 7 - Expr(iota(u8, shape, along + 1));
    Expr bits = (Expr(expand_dims(x, along + 1)) >> weights) & 1;
    return reshape(bits.operand(), merged);
  });
}

Tensor gcd(Operand x, Operand y) { return of_integers("gcd", x, y, gcd_of); }

Tensor lcm(Operand x, Operand y) {
  return of_integers("lcm", x, y, [](const Expr& a, const Expr& b) {
    Expr common = gcd_of(a, b);
    return where(common == 0, 0, abs(a / where(common == 0, 1, common) * b));
  });
}

}  // namespace heddle
