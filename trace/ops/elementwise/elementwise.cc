#include "heddle/trace/ops/elementwise/elementwise.h"

#include "heddle/hlo/attributes.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::drop_if_dying;
using trace_internal::dtype_beside;
using trace_internal::emit;
using trace_internal::known_program;
using trace_internal::KnownOptions;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::user_name;

Tensor unary(Opcode opcode, const Operand& x) {
  Tensor made = trace_internal::eager_unary(opcode, x);
  if (!made.is_valid()) {
    const PublicCall call(user_name(opcode), x.at());
    made = emit({.opcode = opcode, .operands = {as_tensor(x)}});
  }
  drop_if_dying(x);
  return made;
}

// The same of a scalar and a number, which is as in the trace that came before.
Tensor record_beside_number(trace_internal::Recorder& recorder, Opcode opcode, const Operand& x,
                            const Operand& y) {
  const Operand &array = x.is_tensor() ? x : y, &number = x.is_tensor() ? y : x;
  if (!array.is_tensor() || !array.tensor().is_valid()) return {};
  const Shape& shape = array.tensor().node()->shape;
  trace_internal::Element element;
  if (!shape.is_scalar() || !element.set(number, shape.dtype())) return {};
  const Tensor same = recorder.expected_number(element.bytes(), shape.dtype(), x.at());
  if (!same.is_valid()) return {};
  const Tensor &a = x.is_tensor() ? x.tensor() : same, &b = x.is_tensor() ? same : y.tensor();
  return recorder.record_plain(opcode, {&a, &b}, x.at());
}

// In a trace, of tensors that need nothing to agree: as the way of binary() records it, in fewer
// steps. A tensor without a value where they do.
Tensor record_alike(Opcode opcode, const Operand& x, const Operand& y) {
  trace_internal::Recorder* recorder = trace_internal::Recorder::current();
  if (recorder == nullptr) return {};
  if (!x.is_tensor() || !y.is_tensor()) return record_beside_number(*recorder, opcode, x, y);
  const Tensor &a = x.tensor(), &b = y.tensor();
  if (!a.is_valid() || !b.is_valid()) return {};
  const Shape &of_a = a.node()->shape, &of_b = b.node()->shape;
  if (of_a.dtype() != of_b.dtype() || of_a.dimensions() != of_b.dimensions()) return {};
  return recorder->record_plain(opcode, {&a, &b}, x.at());
}

// Truths beside a number of C++: other libraries count them, and `true + 1` here would be true.
void refuse_truths(Opcode opcode, const Operand& x, const Operand& y) {
  if (x.is_tensor() == y.is_tensor()) return;
  const Operand &tensor = x.is_tensor() ? x : y, &number = x.is_tensor() ? y : x;
  if (std::holds_alternative<bool>(number.number()) || !tensor.tensor().is_valid()) return;
  const Shape& shape = trace_internal::node_of(tensor.tensor()).shape;
  if (shape.dtype() != pred) return;
  const PublicCall call(user_name(opcode), x.at());
  trace_internal::refuse("operands are ", shape, " and the C++ number ", number_text(number),
                         "; to count truths write x.astype(s32)");
}

Tensor binary(Opcode opcode, const Operand& x, const Operand& y) {
  Tensor made = record_alike(opcode, x, y);
  if (!made.is_valid()) made = trace_internal::eager_binary(opcode, x, y);
  if (!made.is_valid()) {
    made = one_program(user_name(opcode), x.at(), [&] {
      OperandPair pair = unify(x, y);
      return emit({.opcode = opcode, .operands = {std::move(pair.a), std::move(pair.b)}});
    });
  }
  drop_if_dying(x);
  drop_if_dying(y);
  return made;
}

Tensor counting(Opcode opcode, const Operand& x, const Operand& y) {
  refuse_truths(opcode, x, y);
  return binary(opcode, x, y);
}

bool is_whole(DType dtype) { return dtype == pred || is_integer(dtype); }

// A rounding, or the real part: integers come back as they are.
Tensor kept_if_whole(Opcode opcode, const Operand& x) {
  const PublicCall call(user_name(opcode), x.at());
  Tensor t = as_tensor(x);
  return is_whole(t.dtype()) ? t : unary(opcode, t);
}

std::string_view name_of(hlo::ComparisonDirection direction) {
  switch (direction) {
    case hlo::ComparisonDirection::kEq: return "equal";
    case hlo::ComparisonDirection::kNe: return "not_equal";
    case hlo::ComparisonDirection::kGt: return "greater";
    case hlo::ComparisonDirection::kGe: return "greater_equal";
    case hlo::ComparisonDirection::kLt: return "less";
    case hlo::ComparisonDirection::kLe: return "less_equal";
  }
  return "compare";
}

// The order of truths and a number is what C++ makes of 0.0 < y < 1.
void refuse_chain(const Operand& x, const Operand& y) {
  const Operand &tensor = x.is_tensor() ? x : y, &number = x.is_tensor() ? y : x;
  if (!tensor.is_tensor() || number.is_tensor() || std::holds_alternative<bool>(number.number()))
    return;
  const Shape& shape = trace_internal::node_of(tensor.tensor()).shape;
  if (shape.dtype() != pred) return;
  trace_internal::refuse("operands are ", shape, " and the C++ number ", number_text(number),
                         "; truths have no order among numbers: for 0.0 < y < 1 write "
                         "(0.0 < y) & (y < 1)");
}

Tensor compare(hlo::ComparisonDirection direction, const Operand& x, const Operand& y) {
  if (Tensor made = trace_internal::eager_comparison(direction, x, y); made.is_valid()) return made;
  const PublicCall call(name_of(direction), x.at());
  const bool is_equality =
      direction == hlo::ComparisonDirection::kEq || direction == hlo::ComparisonDirection::kNe;
  if (!is_equality) refuse_chain(x, y);
  return one_program(name_of(direction), [&] {
    OperandPair pair = unify(x, y);
    return emit({.opcode = Opcode::kCompare,
                 .operands = {std::move(pair.a), std::move(pair.b)},
                 .attrs = hlo::CompareAttrs{.direction = direction}});
  });
}

// Integers divided by a C++ number with a point: neither of both answers is what all expect.
void refuse_point(const Operand& x, const Operand& y) {
  const Operand &tensor = x.is_tensor() ? x : y, &number = x.is_tensor() ? y : x;
  if (!tensor.is_tensor() || !std::holds_alternative<double>(number.number())) return;
  const Shape& shape = trace_internal::node_of(tensor.tensor()).shape;
  if (!is_integer(shape.dtype())) return;
  trace_internal::refuse("operands are ", shape, " and the floating-point C++ number ",
                         std::get<double>(number.number()),
                         "; integers are divided toward zero: write an integer for that, or "
                         "use true_divide");
}

Tensor divided(const Operand& x, const Operand& y) {
  const PublicCall call("divide", x.at());
  refuse_point(x, y);
  return binary(Opcode::kDivide, x, y);
}

// pred: whether it is true, or not 0.
Tensor truth(const Operand& x) {
  const Tensor t = as_tensor(x);
  return t.dtype() == pred ? t : not_equal(t, 0);
}

Tensor logical(Opcode opcode, std::string_view op, const Operand& x, const Operand& y) {
  const PublicCall call(op, x.at());
  return one_program(op, [&] {
    const Tensor a = truth(x), b = truth(y);
    return binary(opcode, a, b);
  });
}

}  // namespace

Tensor abs(Operand x) {
  const PublicCall call("abs", x.at());
  Tensor t = as_tensor(x);
  const bool has_sign = t.dtype() != pred && !is_unsigned(t.dtype());
  return has_sign ? unary(Opcode::kAbs, t) : t;
}
Tensor acos(Operand x) { return unary(Opcode::kAcos, x); }
Tensor acosh(Operand x) { return unary(Opcode::kAcosh, x); }
Tensor asin(Operand x) { return unary(Opcode::kAsin, x); }
Tensor asinh(Operand x) { return unary(Opcode::kAsinh, x); }
Tensor atan(Operand x) { return unary(Opcode::kAtan, x); }
Tensor atanh(Operand x) { return unary(Opcode::kAtanh, x); }
Tensor cbrt(Operand x) { return unary(Opcode::kCbrt, x); }
Tensor ceil(Operand x) { return kept_if_whole(Opcode::kCeil, x); }
Tensor copy(Operand x) { return unary(Opcode::kCopy, x); }
Tensor cos(Operand x) { return unary(Opcode::kCos, x); }
Tensor cosh(Operand x) { return unary(Opcode::kCosh, x); }
Tensor erf(Operand x) { return unary(Opcode::kErf, x); }
Tensor exp(Operand x) { return unary(Opcode::kExp, x); }
Tensor expm1(Operand x) { return unary(Opcode::kExpm1, x); }
Tensor floor(Operand x) { return kept_if_whole(Opcode::kFloor, x); }
Tensor imag(Operand x) {
  const PublicCall call("imag", x.at());
  Tensor t = as_tensor(x);
  return is_whole(t.dtype()) ? zeros_like(t) : unary(Opcode::kImag, t);
}
Tensor is_finite(Operand operand) {
  const PublicCall call("is_finite", operand.at());
  const Tensor x = as_tensor(operand);
  if (is_whole(x.dtype())) return full(x.shape().dimensions(), true, pred);
  if (!is_complex(x.dtype())) return unary(Opcode::kIsFinite, x);
  return one_program("is_finite", [&] {
    const Tensor re = is_finite(real(x)), im = is_finite(imag(x));
    return logical_and(re, im);
  });
}
Tensor log(Operand x) { return unary(Opcode::kLog, x); }
Tensor log1p(Operand x) { return unary(Opcode::kLog1p, x); }
Tensor logistic(Operand x) { return unary(Opcode::kLogistic, x); }
Tensor logical_not(Operand x) {
  const PublicCall call("logical_not", x.at());
  const Tensor t = as_tensor(x);
  return t.dtype() == pred ? unary(Opcode::kNot, x) : equal(t, 0);
}
Tensor bitwise_not(Operand x) { return unary(Opcode::kNot, x); }
Tensor negative(Operand x) { return unary(Opcode::kNegate, x); }
Tensor population_count(Operand x) { return unary(Opcode::kPopcnt, x); }
Tensor clz(Operand x) { return unary(Opcode::kClz, x); }
Tensor real(Operand x) { return kept_if_whole(Opcode::kReal, x); }
Tensor round_half_away(Operand x) { return kept_if_whole(Opcode::kRoundAfz, x); }
Tensor round(Operand x) { return kept_if_whole(Opcode::kRoundEven, x); }
Tensor rsqrt(Operand x) { return unary(Opcode::kRsqrt, x); }
Tensor sign(Operand x) {
  const PublicCall call("sign", x.at());
  Tensor t = as_tensor(x);
  return is_unsigned(t.dtype()) ? minimum(t, 1) : unary(Opcode::kSign, t);
}
Tensor sin(Operand x) { return unary(Opcode::kSin, x); }
Tensor sinh(Operand x) { return unary(Opcode::kSinh, x); }
Tensor sqrt(Operand x) { return unary(Opcode::kSqrt, x); }
Tensor tan(Operand x) { return unary(Opcode::kTan, x); }
Tensor tanh(Operand x) { return unary(Opcode::kTanh, x); }

Tensor square(Operand x) {
  const PublicCall call("square", x.at());
  Tensor t = as_tensor(x);
  return binary(Opcode::kMultiply, t, t);
}

Tensor reciprocal(Operand x) {
  const PublicCall call("reciprocal", x.at());
  return binary(Opcode::kDivide, Operand(1, x.at()), x);
}

Tensor is_nan(Operand x) {
  const PublicCall call("is_nan", x.at());
  Tensor t = as_tensor(x);
  return compare(hlo::ComparisonDirection::kNe, t, t);
}

Tensor add(Operand x, Operand y) { return counting(Opcode::kAdd, x, y); }
Tensor subtract(Operand x, Operand y) { return counting(Opcode::kSubtract, x, y); }
Tensor multiply(Operand x, Operand y) { return counting(Opcode::kMultiply, x, y); }
Tensor divide(Operand x, Operand y) { return divided(x, y); }
Tensor rem(Operand x, Operand y) { return binary(Opcode::kRemainder, x, y); }
Tensor power(Operand x, Operand y) { return binary(Opcode::kPower, x, y); }
Tensor maximum(Operand x, Operand y) { return counting(Opcode::kMaximum, x, y); }
Tensor minimum(Operand x, Operand y) { return counting(Opcode::kMinimum, x, y); }
Tensor atan2(Operand x, Operand y) { return binary(Opcode::kAtan2, x, y); }
Tensor bitwise_and(Operand x, Operand y) { return binary(Opcode::kAnd, x, y); }
Tensor bitwise_or(Operand x, Operand y) { return binary(Opcode::kOr, x, y); }
Tensor bitwise_xor(Operand x, Operand y) { return binary(Opcode::kXor, x, y); }
Tensor shift_left(Operand x, Operand y) { return binary(Opcode::kShiftLeft, x, y); }
Tensor shift_right_arithmetic(Operand x, Operand y) {
  const PublicCall call("shift_right_arithmetic", x.at());
  return binary(Opcode::kShiftRightArithmetic, x, y);
}
Tensor shift_right_logical(Operand x, Operand y) {
  const PublicCall call("shift_right_logical", x.at());
  return binary(Opcode::kShiftRightLogical, x, y);
}
Tensor complex(Operand x, Operand y) { return binary(Opcode::kComplex, x, y); }
Tensor mulhi(Operand x, Operand y) { return binary(Opcode::kMulhi, x, y); }
Tensor logical_and(Operand x, Operand y) { return logical(Opcode::kAnd, "logical_and", x, y); }
Tensor logical_or(Operand x, Operand y) { return logical(Opcode::kOr, "logical_or", x, y); }
Tensor logical_xor(Operand x, Operand y) { return logical(Opcode::kXor, "logical_xor", x, y); }

Tensor equal(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kEq, x, y); }
Tensor not_equal(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kNe, x, y); }
Tensor greater(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kGt, x, y); }
Tensor greater_equal(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kGe, x, y); }
Tensor less(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kLt, x, y); }
Tensor less_equal(Operand x, Operand y) { return compare(hlo::ComparisonDirection::kLe, x, y); }

Tensor operator+(Operand x, Operand y) { return counting(Opcode::kAdd, x, y); }
Tensor operator-(Operand x, Operand y) { return counting(Opcode::kSubtract, x, y); }
Tensor operator*(Operand x, Operand y) { return counting(Opcode::kMultiply, x, y); }
Tensor operator/(Operand x, Operand y) { return divided(x, y); }
Tensor operator%(Operand x, Operand y) { return rem(x, y); }
Tensor operator&(Operand x, Operand y) { return bitwise_and(x, y); }
Tensor operator|(Operand x, Operand y) { return bitwise_or(x, y); }
Tensor operator^(Operand x, Operand y) {
  const Tensor& typed = x.is_tensor() ? x.tensor() : y.tensor();
  if (typed.is_valid() && (is_floating(typed.dtype()) || is_complex(typed.dtype()))) {
    const PublicCall call("^", x.at());
    trace_internal::refuse("an operand is ", typed.shape(),
                           "; ^ is the exclusive or of bits: power(x, y) raises x to y");
  }
  return bitwise_xor(x, y);
}
Tensor operator<<(Operand x, Operand y) { return shift_left(x, y); }
Tensor operator>>(Operand x, Operand y) {
  const Tensor& typed = x.is_tensor() ? x.tensor() : y.tensor();
  trace_internal::node_of(typed, ">>", x.at());
  return is_signed(typed.dtype()) ? shift_right_arithmetic(x, y) : shift_right_logical(x, y);
}

#define HEDDLE_COMPOUND(symbol)                                \
  Tensor& Tensor::operator symbol##=(Operand y)& {             \
    return *this = Operand(std::move(*this), y.at()) symbol y; \
  }
HEDDLE_COMPOUND(+)
HEDDLE_COMPOUND(-)
HEDDLE_COMPOUND(*)
HEDDLE_COMPOUND(/)
HEDDLE_COMPOUND(%)
HEDDLE_COMPOUND(&)
HEDDLE_COMPOUND(|)
HEDDLE_COMPOUND(^)
HEDDLE_COMPOUND(<<)
HEDDLE_COMPOUND(>>)
#undef HEDDLE_COMPOUND

Tensor operator==(Operand x, Operand y) { return equal(x, y); }
Tensor operator!=(Operand x, Operand y) { return not_equal(x, y); }
Tensor operator>(Operand x, Operand y) { return greater(x, y); }
Tensor operator>=(Operand x, Operand y) { return greater_equal(x, y); }
Tensor operator<(Operand x, Operand y) { return less(x, y); }
Tensor operator<=(Operand x, Operand y) { return less_equal(x, y); }
Tensor operator-(Operand x) { return unary(Opcode::kNegate, x); }
Tensor operator~(Operand x) { return bitwise_not(x); }

Tensor where(Operand condition, Operand x, Operand y) {
  const PublicCall call("where", condition.at());
  const auto of = [](std::span<const Tensor> xs) { return where(xs[0], xs[1], xs[2]); };
  if (Tensor made = known_program("where", KnownOptions(),
                                  {condition, {x, dtype_beside(y)}, {y, dtype_beside(x)}}, of);
      made.is_valid())
    return made;
  const trace_internal::OnDeviceOf device(condition, x, y);
  Tensor chosen = as_tensor(condition);
  if (chosen.dtype() != pred) {
    trace_internal::refuse("condition is ", to_string(chosen.shape()),
                           "; it must be pred, compare it with something");
  }
  OperandPair pair = unify(x, y);
  std::vector<int64_t> dimensions = broadcast_shapes(chosen.shape(), pair.a.shape());
  return emit({.opcode = Opcode::kSelect,
               .operands = {broadcast_to(chosen, dimensions), broadcast_to(pair.a, dimensions),
                            broadcast_to(pair.b, dimensions)}});
}

Tensor clip(Operand x, Operand low, Operand high) {
  const PublicCall call("clip", x.at());
  const DType dtype = dtype_beside(x);
  return one_program(
      "clip", KnownOptions(), {x, {low, dtype}, {high, dtype}},
      [](std::span<const Operand> in) { return minimum(maximum(in[0], in[1]), in[2]); });
}

Tensor clamp(Operand low, Operand x, Operand high) {
  return one_program("clamp", low.at(), [&] {
    Tensor value = as_tensor(x);
    auto bound = [&](const Operand& b) {
      return b.is_tensor() ? b.tensor() : constant_like(b, value.dtype());
    };
    std::vector<Tensor> operands{bound(low), value, bound(high)};
    // The op wants both bounds to be scalars, or both to be arrays.
    if (operands[0].rank() != operands[2].rank()) {
      for (Tensor& each : operands)
        if (each.rank() == 0) each = broadcast_to(each, value.shape().dimensions());
    }
    return emit({.opcode = Opcode::kClamp, .operands = std::move(operands)});
  });
}

Tensor reduce_precision(Operand x, base::Int exponent_bits, base::Int mantissa_bits) {
  const PublicCall call("reduce_precision", x.at());
  return emit({.opcode = Opcode::kReducePrecision,
               .operands = {as_tensor(x)},
               .attrs = hlo::ReducePrecisionAttrs{.exponent_bits = exponent_bits,
                                                  .mantissa_bits = mantissa_bits}});
}

Tensor bitcast_convert(Operand x, DType dtype) {
  const PublicCall call("bitcast_convert", x.at());
  Tensor t = as_tensor(x);
  std::vector<int64_t> dimensions = t.shape().dimensions();
  int64_t from = bit_width(t.dtype());
  int64_t to = bit_width(dtype);
  if (to < from) dimensions.push_back(from / to);
  if (to > from && !dimensions.empty()) dimensions.pop_back();
  return emit(
      {.opcode = Opcode::kBitcastConvert, .operands = {t}, .declared = Shape(dtype, dimensions)});
}

}  // namespace heddle
