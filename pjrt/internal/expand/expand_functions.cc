// Functions that XLA's CPU has as opcodes and does not compile: the inverses of circular and
// hyperbolic functions, sinh and cosh. JAX never hands them over.
//
// Real ones are computed in f32 where the type is narrower. Complex ones are Kahan's, on the parts
// (W. Kahan, "Branch cuts for complex elementary functions", 1987).
#include <limits>
#include <utility>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using Direction = hlo::ComparisonDirection;

// Arithmetic on arrays of one shape and real dtype.
class Formula {
 public:
  Formula(hlo::ComputationBuilder& to, const Instruction& like, Shape shape)
      : emit_(to, like), shape_(std::move(shape)) {}

  using Id = InstructionId;
  Id op(Opcode opcode, Id x) { return emit_.op(opcode, shape_, {x}); }
  Id op(Opcode opcode, Id x, Id y) { return emit_.op(opcode, shape_, {x, y}); }
  Id add(Id x, Id y) { return op(Opcode::kAdd, x, y); }
  Id subtract(Id x, Id y) { return op(Opcode::kSubtract, x, y); }
  Id multiply(Id x, Id y) { return op(Opcode::kMultiply, x, y); }
  Id divide(Id x, Id y) { return op(Opcode::kDivide, x, y); }
  Id negate(Id x) { return op(Opcode::kNegate, x); }
  Id sqrt(Id x) { return op(Opcode::kSqrt, x); }
  Id atan2(Id y, Id x) { return op(Opcode::kAtan2, y, x); }
  Id all(double number) {
    const Id one = emit_.op(Opcode::kConstant, Shape::scalar(dtype()), {},
                            hlo::ConstantAttrs{.literal = Literal::scalar(dtype(), number)});
    return emit_.op(Opcode::kBroadcast, shape_, {one}, hlo::DimensionsAttrs());
  }
  Id where_less(Id x, double number, Id on_true, Id on_false) {
    const Id is_less = emit_.op(Opcode::kCompare, shape_.with_dtype(pred), {x, all(number)},
                                hlo::CompareAttrs{.direction = Direction::kLt});
    return emit_.op(Opcode::kSelect, shape_, {is_less, on_true, on_false});
  }
  Id where_equal(Id x, double number, Id on_true, Id on_false) {
    const Id is_equal = emit_.op(Opcode::kCompare, shape_.with_dtype(pred), {x, all(number)},
                                 hlo::CompareAttrs{.direction = Direction::kEq});
    return emit_.op(Opcode::kSelect, shape_, {is_equal, on_true, on_false});
  }
  // y >= 0 with the sign bit of x, zeros' too.
  Id with_sign_bit_of(Id x, Id y) {
    const Shape bits = shape_.with_dtype(dtype() == f64 ? s64 : s32);
    const Id zero =
        emit_.op(Opcode::kBroadcast, bits, {emit_.scalar(bits.dtype(), 0)}, hlo::DimensionsAttrs());
    const Id is_negative = emit_.op(Opcode::kCompare, shape_.with_dtype(pred),
                                    {emit_.op(Opcode::kBitcastConvert, bits, {x}), zero},
                                    hlo::CompareAttrs{.direction = Direction::kLt});
    return emit_.op(Opcode::kSelect, shape_, {is_negative, negate(y), y});
  }
  // y with the sign of x; x itself where that is 0.
  Id with_sign_of(Id x, Id y) {
    const Id is_negative = emit_.op(Opcode::kCompare, shape_.with_dtype(pred), {x, all(0)},
                                    hlo::CompareAttrs{.direction = Direction::kLt});
    const Id is_zero = emit_.op(Opcode::kCompare, shape_.with_dtype(pred), {x, all(0)},
                                hlo::CompareAttrs{.direction = Direction::kEq});
    const Id signed_y = emit_.op(Opcode::kSelect, shape_, {is_negative, negate(y), y});
    return emit_.op(Opcode::kSelect, shape_, {is_zero, x, signed_y});
  }

  // Beyond this x squared is infinite, or all of x squared plus 1.
  [[nodiscard]] double large() const { return dtype() == f64 ? 1e150 : 1e18; }
  // Beyond this the size of a complex number may be infinite.
  [[nodiscard]] double huge() const { return dtype() == f64 ? 1e307 : 1e37; }
  // Below this 4 / x^2 may be infinite, and 1 - x is 1.
  [[nodiscard]] double small() const { return dtype() == f64 ? 1e-100 : 1e-12; }
  [[nodiscard]] DType dtype() const { return shape_.dtype(); }

  Id half_sum_of_exponentials(Id x, Opcode sum) {  // exp(x) overflows before its half does
    const Id root = op(Opcode::kExp, multiply(x, all(0.5)));
    const Id half = multiply(multiply(root, all(0.5)), root);
    return op(sum, half, divide(divide(all(0.5), root), root));
  }
  Id cosh(Id x) { return half_sum_of_exponentials(op(Opcode::kAbs, x), Opcode::kAdd); }
  Id sinh(Id x) {
    const Id size = op(Opcode::kAbs, x);
    const Id minus_one = op(Opcode::kExpm1, size);
    const Id small = multiply(all(0.5), add(minus_one, divide(minus_one, add(minus_one, all(1)))));
    return with_sign_of(
        x, where_less(size, 1, small, half_sum_of_exponentials(size, Opcode::kSubtract)));
  }
  Id asinh(Id x) {
    const Id size = op(Opcode::kAbs, x);
    const Id square = multiply(size, size);
    const Id more = add(size, divide(square, add(all(1), sqrt(add(square, all(1))))));
    return with_sign_of(x,
                        where_less(size, large(), op(Opcode::kLog1p, more), log_of_double(size)));
  }
  Id acosh(Id x) {
    const Id beyond = subtract(x, all(1));
    // Two roots: of x < 1 the product of what is below them may be positive.
    const Id more = add(beyond, multiply(sqrt(beyond), sqrt(add(beyond, all(2)))));
    return where_less(x, large(), op(Opcode::kLog1p, more), log_of_double(x));
  }
  Id atanh(Id x) {
    const Id size = op(Opcode::kAbs, x);
    const Id ratio = divide(multiply(all(2), size), subtract(all(1), size));
    return with_sign_of(x, multiply(all(0.5), op(Opcode::kLog1p, ratio)));
  }
  Id cosine_side(Id x) { return sqrt(multiply(subtract(all(1), x), add(all(1), x))); }
  Id asin(Id x) { return atan2(x, cosine_side(x)); }
  Id acos(Id x) { return atan2(cosine_side(x), x); }
  Id atan(Id x) { return atan2(x, all(1)); }

 private:
  Id log_of_double(Id x) { return add(op(Opcode::kLog, x), all(0.6931471805599453)); }

  transform::Emitter emit_;
  Shape shape_;
};

// The formula of an op of real numbers; null where XLA has the op.
using RealFunction = InstructionId (Formula::*)(InstructionId);
RealFunction real_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAcos: return &Formula::acos;
    case Opcode::kAcosh: return &Formula::acosh;
    case Opcode::kAsin: return &Formula::asin;
    case Opcode::kAsinh: return &Formula::asinh;
    case Opcode::kAtan: return &Formula::atan;
    case Opcode::kAtanh: return &Formula::atanh;
    case Opcode::kCosh: return &Formula::cosh;
    case Opcode::kSinh: return &Formula::sinh;
    default: return nullptr;
  }
}

// Complex numbers as pairs of parts.
struct Parts {
  InstructionId real, imag;
};

class ComplexFunction {
 public:
  ComplexFunction(hlo::ComputationBuilder& to, const Instruction& op)
      : emit_(to, op),
        shape_(plain(op.shape)),
        f_(to, op, shape_.with_dtype(real_part(shape_.dtype()))) {}

  InstructionId run(Opcode opcode, InstructionId z) { return joined(function(opcode, parts(z))); }

 private:
  static Shape plain(Shape shape) {
    shape.clear_layout();
    return shape;
  }
  Parts parts(InstructionId z) { return {f_.op(Opcode::kReal, z), f_.op(Opcode::kImag, z)}; }
  InstructionId joined(Parts z) { return emit_.op(Opcode::kComplex, shape_, {z.real, z.imag}); }
  InstructionId size(Parts z) { return f_.op(Opcode::kAbs, joined(z)); }
  // With both parts to their own last place, and the side of the cut by the sign of a zero: XLA's
  // rounds the smaller part as the larger one, and has no sides.
  Parts sqrt(Parts z) {
    const InstructionId half = f_.all(0.5), zero = f_.all(0);
    const InstructionId a = f_.op(Opcode::kAbs, z.real), b = f_.op(Opcode::kAbs, z.imag);
    const InstructionId larger = f_.sqrt(f_.add(f_.multiply(half, a), f_.multiply(half, size(z))));
    const InstructionId ratio = f_.divide(f_.multiply(half, b), larger);
    const InstructionId smaller = f_.where_equal(
        larger, 0, zero, f_.where_equal(b, std::numeric_limits<double>::infinity(), b, ratio));
    const InstructionId imag = f_.where_less(z.real, 0, larger, smaller);
    return {f_.where_less(z.real, 0, smaller, larger), f_.with_sign_bit_of(z.imag, imag)};
  }
  InstructionId sin(InstructionId x) { return f_.op(Opcode::kSin, x); }
  InstructionId cos(InstructionId x) { return f_.op(Opcode::kCos, x); }

  Parts function(Opcode opcode, Parts z) {
    switch (opcode) {
      case Opcode::kAcos: return acos(z);
      case Opcode::kAcosh: return acosh(z);
      case Opcode::kAsin: return asin(z);
      case Opcode::kAsinh: return turned(asin({f_.negate(z.imag), z.real}));
      case Opcode::kAtan: return turned(atanh({f_.negate(z.imag), z.real}));
      case Opcode::kAtanh: return atanh(z);
      case Opcode::kCbrt: return cbrt(z);
      case Opcode::kCosh:
        return {f_.multiply(f_.cosh(z.real), cos(z.imag)),
                times_sine(f_.sinh(z.real), z.imag, f_.op(Opcode::kSign, z.real))};
      default:
        return {f_.multiply(f_.sinh(z.real), cos(z.imag)),
                times_sine(f_.cosh(z.real), z.imag, f_.all(1))};
    }
  }
  // A number whose size is finite: the given one, or that times a power of 2 where it is so large
  // that its size may not be.
  struct Scaled {
    Parts z;
    InstructionId larger;  // of the parts of the given one
  };
  Scaled scaled(Parts z, double by) {
    const InstructionId larger =
        f_.op(Opcode::kMaximum, f_.op(Opcode::kAbs, z.real), f_.op(Opcode::kAbs, z.imag));
    const InstructionId scale = where_large(larger, by, 1);
    return {{f_.multiply(z.real, scale), f_.multiply(z.imag, scale)}, larger};
  }
  InstructionId where_large(InstructionId larger, double on_true, double on_false) {
    return f_.where_less(larger, f_.huge(), f_.all(on_false), f_.all(on_true));
  }
  // asinh of what x, computed from scaled(z, 1 / 16), is for z itself: 16 x where z is large.
  InstructionId asinh_of_scaled(const Scaled& z, InstructionId x) {
    const InstructionId log = where_large(z.larger, 2.772588722239781, 0);
    return f_.add(f_.asinh(x), f_.with_sign_of(x, log));
  }
  // size sin(angle), of angle 0 also where size is infinite.
  InstructionId times_sine(InstructionId size, InstructionId angle, InstructionId sign_of_size) {
    return f_.where_equal(angle, 0, f_.multiply(sign_of_size, angle),
                          f_.multiply(size, sin(angle)));
  }
  // -i z
  Parts turned(Parts z) { return {z.imag, f_.negate(z.real)}; }
  // sqrt(1 - z), sqrt(1 + z), sqrt(z - 1)
  Parts below_one(Parts z) { return sqrt({f_.subtract(f_.all(1), z.real), f_.negate(z.imag)}); }
  Parts above_one(Parts z) { return sqrt({f_.add(f_.all(1), z.real), z.imag}); }
  Parts beyond_one(Parts z) { return sqrt({f_.subtract(z.real, f_.all(1)), z.imag}); }
  // Real and imaginary parts of conj(a) b.
  InstructionId real_of_product(Parts a, Parts b) {
    return f_.add(f_.multiply(a.real, b.real), f_.multiply(a.imag, b.imag));
  }
  InstructionId imag_of_product(Parts a, Parts b) {
    return f_.subtract(f_.multiply(a.real, b.imag), f_.multiply(a.imag, b.real));
  }

  Parts asin(Parts z) {
    const Scaled s = scaled(z, 0.0625);
    const Parts below = below_one(s.z), above = above_one(s.z);
    const InstructionId cosine =
        f_.subtract(f_.multiply(below.real, above.real), f_.multiply(below.imag, above.imag));
    return {f_.atan2(s.z.real, cosine), asinh_of_scaled(s, imag_of_product(below, above))};
  }
  Parts acos(Parts z) {
    const Scaled s = scaled(z, 0.0625);
    const Parts below = below_one(s.z), above = above_one(s.z);
    return {f_.multiply(f_.all(2), f_.atan2(below.real, above.real)),
            asinh_of_scaled(s, imag_of_product(above, below))};
  }
  Parts acosh(Parts z) {
    const Scaled s = scaled(z, 0.0625);
    const Parts beyond = beyond_one(s.z), above = above_one(s.z);
    return {asinh_of_scaled(s, real_of_product(beyond, above)),
            f_.multiply(f_.all(2), f_.atan2(beyond.imag, above.real))};
  }
  Parts atanh(Parts z) {
    const InstructionId one = f_.all(1);
    const InstructionId below = f_.subtract(one, z.real), above = f_.add(one, z.real);
    const InstructionId height = f_.multiply(z.imag, z.imag);
    const InstructionId size = f_.op(Opcode::kAbs, z.real);
    const InstructionId away = this->size({f_.subtract(one, size), z.imag});  // from 1 or -1
    const InstructionId ratio = f_.divide(f_.multiply(f_.all(4), f_.divide(size, away)), away);
    const InstructionId near = f_.multiply(
        f_.all(0.5), f_.subtract(f_.all(0.6931471805599453), f_.op(Opcode::kLog, away)));
    const InstructionId real = f_.where_less(
        away, f_.small(), near, f_.multiply(f_.all(0.25), f_.op(Opcode::kLog1p, ratio)));
    return {
        f_.with_sign_of(z.real, real),
        f_.multiply(f_.all(0.5),
                    f_.atan2(z.imag, f_.multiply(f_.all(0.5),
                                                 f_.subtract(f_.multiply(below, above), height))))};
  }
  Parts cbrt(Parts z) {
    const Scaled s = scaled(z, 0.125);
    const InstructionId size =
        f_.multiply(f_.op(Opcode::kCbrt, this->size(s.z)), where_large(s.larger, 2, 1));
    const InstructionId angle = f_.divide(f_.atan2(z.imag, z.real), f_.all(3));
    return {f_.multiply(size, cos(angle)), f_.multiply(size, sin(angle))};
  }

  transform::Emitter emit_;
  Shape shape_;
  Formula f_;
};

bool is_unknown(const hlo::Computation&, const Instruction& instruction) {
  return real_function(instruction.opcode) != nullptr ||
         (instruction.opcode == Opcode::kCbrt && is_complex(instruction.shape.dtype()));
}

InstructionId write_function(hlo::ComputationBuilder& to, const Instruction& now) {
  const InstructionId x = now.operands[0];
  if (is_complex(now.shape.dtype())) return ComplexFunction(to, now).run(now.opcode, x);
  Shape shape = now.shape;
  shape.clear_layout();
  const DType dtype = shape.dtype();
  const RealFunction function = real_function(now.opcode);
  if (dtype == f64 || dtype == f32) {
    Formula formula(to, now, shape);
    return (formula.*function)(x);
  }
  transform::Emitter emit(to, now);
  Formula formula(to, now, shape.with_dtype(f32));
  const InstructionId wide = emit.op(Opcode::kConvert, shape.with_dtype(f32), {x});
  return emit.op(Opcode::kConvert, shape, {(formula.*function)(wide)});
}

}  // namespace

bool has_unknown_functions(const hlo::Module& module) {
  return any_instruction(module, is_unknown);
}

hlo::Module expand_functions(const hlo::Module& module) {
  return rewritten(module, is_unknown,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, InstructionId i) {
                     return write_function(to.builder(), to.mapped(i));
                   });
}

}  // namespace heddle::pjrt
