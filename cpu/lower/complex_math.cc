#include "heddle/cpu/lower/complex_math.h"

#include <limits>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::InstructionId;
using hlo::Opcode;

// Formulas on arrays of one shape. Those of c64 that could overflow or cancel go through f64.
class ComplexWriter {
 public:
  ComplexWriter(transform::Emitter& emit, Shape shape) : e_(emit), shape_(std::move(shape)) {}

  ComplexParts multiply(const ComplexParts& x, const ComplexParts& y) {
    return {minus(times(x.re, y.re), times(x.im, y.im)),
            plus(times(x.re, y.im), times(x.im, y.re))};
  }

  InstructionId equal(const ComplexParts& x, const ComplexParts& y, bool is_equal) {
    const auto direction = is_equal ? ComparisonDirection::kEq : ComparisonDirection::kNe;
    return e_.op(is_equal ? Opcode::kAnd : Opcode::kOr, shape_.with_dtype(pred),
                 {compare(direction, x.re, y.re), compare(direction, x.im, y.im)});
  }

  ComplexParts exp(const ComplexParts& z) {
    const InstructionId size = unary(Opcode::kExp, z.re);
    const InstructionId is_real = compare(ComparisonDirection::kEq, z.im, number(0));
    return {times(size, unary(Opcode::kCos, z.im)),
            select(is_real, z.im, times(size, unary(Opcode::kSin, z.im)))};
  }

  InstructionId abs(const ComplexParts& z) {
    return unary(Opcode::kSqrt, plus(times(z.re, z.re), times(z.im, z.im)));
  }

  // Where the formula gives NaN in both parts there is a limit, as
  // interpreter/ops/elementwise/complex_math.h has it.
  ComplexParts divide(const ComplexParts& x, const ComplexParts& y) {
    const auto [a, b] = x;
    const auto [c, d] = y;
    const InstructionId norm = plus(times(c, c), times(d, d));
    const InstructionId re = over(plus(times(a, c), times(b, d)), norm);
    const InstructionId im = over(minus(times(b, c), times(a, d)), norm);
    const InstructionId infinity = number(std::numeric_limits<double>::infinity());
    const InstructionId of_zero = over(number(1), c);  // the infinity of c's sign
    const InstructionId is_zero =
        both(compare(ComparisonDirection::kEq, norm, number(0)), either(not_nan(a), not_nan(b)));
    const InstructionId is_infinite =
        both(either(infinite(a), infinite(b)), both(finite(c), finite(d)));
    const InstructionId by_infinite =
        both(either(infinite(c), infinite(d)), both(finite(a), finite(b)));
    const InstructionId p = unit(a), q = unit(b), r = unit(c), s = unit(d);
    const auto limit = [&](InstructionId value, InstructionId zero, InstructionId large,
                           InstructionId small) {
      const InstructionId last = select(by_infinite, times(number(0), small), value);
      const InstructionId is_nan = both(nan(re), nan(im));
      return select(
          is_nan,
          select(is_zero, times(of_zero, zero), select(is_infinite, times(infinity, large), last)),
          value);
    };
    return {limit(re, a, plus(times(p, c), times(q, d)), plus(times(a, r), times(b, s))),
            limit(im, b, minus(times(q, c), times(p, d)), minus(times(b, r), times(a, s)))};
  }

  InstructionId converted(InstructionId x, DType to) {
    return e_.op(Opcode::kConvert, shape_.with_dtype(to), {x});
  }

 private:
  InstructionId unary(Opcode opcode, InstructionId x) { return e_.op(opcode, shape_, {x}); }
  InstructionId binary(Opcode opcode, InstructionId x, InstructionId y) {
    return e_.op(opcode, shape_, {x, y});
  }
  InstructionId plus(InstructionId x, InstructionId y) { return binary(Opcode::kAdd, x, y); }
  InstructionId minus(InstructionId x, InstructionId y) { return binary(Opcode::kSubtract, x, y); }
  InstructionId times(InstructionId x, InstructionId y) { return binary(Opcode::kMultiply, x, y); }
  InstructionId over(InstructionId x, InstructionId y) { return binary(Opcode::kDivide, x, y); }
  InstructionId compare(ComparisonDirection direction, InstructionId x, InstructionId y) {
    return e_.op(Opcode::kCompare, shape_.with_dtype(pred), {x, y},
                 hlo::CompareAttrs{.direction = direction});
  }
  InstructionId both(InstructionId x, InstructionId y) {
    return e_.op(Opcode::kAnd, shape_.with_dtype(pred), {x, y});
  }
  InstructionId either(InstructionId x, InstructionId y) {
    return e_.op(Opcode::kOr, shape_.with_dtype(pred), {x, y});
  }
  InstructionId select(InstructionId mask, InstructionId x, InstructionId y) {
    return e_.op(Opcode::kSelect, shape_, {mask, x, y});
  }
  InstructionId nan(InstructionId x) { return compare(ComparisonDirection::kNe, x, x); }
  InstructionId not_nan(InstructionId x) { return compare(ComparisonDirection::kEq, x, x); }
  InstructionId finite(InstructionId x) {
    return e_.op(Opcode::kIsFinite, shape_.with_dtype(pred), {x});
  }
  InstructionId infinite(InstructionId x) {
    return compare(ComparisonDirection::kEq, unary(Opcode::kAbs, x),
                   number(std::numeric_limits<double>::infinity()));
  }
  // 1 with the sign of x where x is infinite, else 0 with it.
  InstructionId unit(InstructionId x) {
    const InstructionId zero = times(x, number(0));
    const InstructionId of_finite = select(nan(x), number(0), zero);
    return select(infinite(x), unary(Opcode::kSign, x), of_finite);
  }
  InstructionId number(double value) {
    const InstructionId scalar =
        e_.op(Opcode::kConstant, Shape::scalar(shape_.dtype()), {},
              hlo::ConstantAttrs{.literal = Literal::scalar(shape_.dtype(), value)});
    if (shape_.is_scalar()) return scalar;
    return e_.op(Opcode::kBroadcast, shape_, {scalar}, hlo::DimensionsAttrs());
  }

  transform::Emitter& e_;
  Shape shape_;
};

}  // namespace

std::optional<ComplexParts> write_complex(transform::Emitter emit, const hlo::Instruction& op,
                                          std::span<const ComplexParts> operands) {
  if (operands.empty()) return std::nullopt;
  const Shape shape = emit.shape(operands[0].re);
  ComplexWriter writer(emit, shape);
  if (op.opcode == Opcode::kMultiply) return writer.multiply(operands[0], operands[1]);
  if (op.opcode == Opcode::kCompare) {
    const auto direction = op.attrs.get<hlo::CompareAttrs>().direction;
    if (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe)
      return std::nullopt;
    const bool is_equal = direction == ComparisonDirection::kEq;
    return ComplexParts{writer.equal(operands[0], operands[1], is_equal), {}};
  }
  const bool has_formula =
      op.opcode == Opcode::kExp || op.opcode == Opcode::kAbs || op.opcode == Opcode::kDivide;
  if (!has_formula || shape.dtype() != f32) return std::nullopt;
  ComplexWriter wide(emit, shape.with_dtype(f64));
  const auto widened = [&](size_t i) {
    return ComplexParts{wide.converted(operands[i].re, f64), wide.converted(operands[i].im, f64)};
  };
  if (op.opcode == Opcode::kAbs)
    return ComplexParts{writer.converted(wide.abs(widened(0)), f32), {}};
  const ComplexParts z =
      op.opcode == Opcode::kExp ? wide.exp(widened(0)) : wide.divide(widened(0), widened(1));
  return ComplexParts{writer.converted(z.re, f32), writer.converted(z.im, f32)};
}

}  // namespace heddle::cpu
