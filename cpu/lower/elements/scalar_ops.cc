#include "heddle/cpu/lower/elements/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "heddle/cpu/lower/elements/math.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

// Integers of four bits: a byte holds one.
bool is_nibble(DType dtype) { return dtype == s4 || dtype == u4; }

// Writes one elementwise op.
class ScalarOpWriter {
 public:
  // From operands of one type to a result of another; a predicate before them does not count.
  ScalarOpWriter(PlanBuilder& builder, const Instruction& instruction, DType from, DType to,
                 std::span<const NodeId> operands)
      : b_(builder), instruction_(instruction), x_(operands), from_(from), to_(to) {}

  NodeId run();

 private:
  [[nodiscard]] bool floats() const { return is_floating(from_); }
  [[nodiscard]] bool is_signed_type() const { return is_signed(from_); }
  [[nodiscard]] Type type() const { return b_.type(x_[0]); }
  NodeId constant(int64_t value) { return b_.integer(type(), value); }
  NodeId number(double value) { return b_.number(type(), value); }
  NodeId width() { return constant(bits_of(type().scalar)); }

  NodeId math(MathFunction function) {
    return x_.size() == 1 ? write_math(b_, function, {x_[0]})
                          : write_math(b_, function, {x_[0], x_[1]});
  }
  [[nodiscard]] Op by_sign(Op of_floats, Op of_signed, Op of_unsigned) const {
    return floats() ? of_floats : is_signed_type() ? of_signed : of_unsigned;
  }
  struct Divisor {
    NodeId is_zero, is_minus_one, safe;
  };
  Divisor divisor();
  NodeId sign();
  NodeId divide();
  NodeId remainder();
  NodeId shift();
  NodeId high_product();
  NodeId compare();
  NodeId select();
  NodeId clamp();
  NodeId convert();
  NodeId convert_to_nibble();
  NodeId reduce_precision();

  PlanBuilder& b_;
  const Instruction& instruction_;
  std::span<const NodeId> x_;
  DType from_, to_;
};

// Zeros and NaN are their own sign.
NodeId ScalarOpWriter::sign() {
  if (!floats()) {
    const NodeId low = b_.binary(Op::kSMax, x_[0], constant(-1));
    return is_signed_type() ? b_.binary(Op::kSMin, low, constant(1))
                            : b_.binary(Op::kUMin, x_[0], constant(1));
  }
  const NodeId one = b_.binary(Op::kCopysign, number(1), x_[0]);
  const NodeId ordered = b_.compare(Predicate::kEq, x_[0], x_[0]);
  const NodeId not_zero = b_.compare(Predicate::kNe, x_[0], number(0));
  return b_.select(b_.binary(Op::kAnd, ordered, not_zero), one, x_[0]);
}

// Neither x / 0 nor x / -1 of integers reaches the machine's division, which would trap.
ScalarOpWriter::Divisor ScalarOpWriter::divisor() {
  Divisor by{.is_zero = b_.compare(Predicate::kEq, x_[1], constant(0))};
  NodeId traps = by.is_zero;
  if (is_signed_type()) {
    by.is_minus_one = b_.compare(Predicate::kEq, x_[1], constant(-1));
    traps = b_.binary(Op::kOr, by.is_zero, by.is_minus_one);
  }
  by.safe = b_.select(traps, constant(1), x_[1]);
  return by;
}

// Integers: x / 0 is all ones; the least number by -1 is itself.
NodeId ScalarOpWriter::divide() {
  if (floats()) return b_.binary(Op::kDiv, x_[0], x_[1]);
  const Divisor by = divisor();
  NodeId quotient = b_.binary(is_signed_type() ? Op::kSDiv : Op::kUDiv, x_[0], by.safe);
  if (is_signed_type())
    quotient = b_.select(by.is_minus_one, b_.binary(Op::kSub, constant(0), x_[0]), quotient);
  return b_.select(by.is_zero, constant(-1), quotient);
}

NodeId ScalarOpWriter::remainder() {
  if (floats()) return math(MathFunction::k_fmod);
  const Divisor by = divisor();
  NodeId rest = b_.binary(is_signed_type() ? Op::kSRem : Op::kURem, x_[0], by.safe);
  if (is_signed_type()) rest = b_.select(by.is_minus_one, constant(0), rest);
  return b_.select(by.is_zero, x_[0], rest);
}

// An amount from the width on leaves nothing but the sign of an arithmetic shift.
NodeId ScalarOpWriter::shift() {
  const NodeId fits = b_.compare(Predicate::kULt, x_[1], width());
  if (instruction_.opcode == Opcode::kShiftRightArithmetic) {
    const NodeId most = constant(bits_of(type().scalar) - 1);
    return b_.binary(Op::kAShr, x_[0], b_.binary(Op::kUMin, x_[1], most));
  }
  const Op op = instruction_.opcode == Opcode::kShiftLeft ? Op::kShl : Op::kLShr;
  const NodeId amount = b_.select(fits, x_[1], constant(0));
  return b_.select(fits, b_.binary(op, x_[0], amount), constant(0));
}

// The product in twice the width; the code generator knows the form.
NodeId ScalarOpWriter::high_product() {
  const Scalar narrow = type().scalar;
  const Scalar wide = narrow == Scalar::kI8    ? Scalar::kI16
                      : narrow == Scalar::kI16 ? Scalar::kI32
                                               : Scalar::kI64;
  const Op extend = is_signed_type() ? Op::kSExtend : Op::kZExtend;
  const NodeId product =
      b_.binary(Op::kMul, b_.cast(extend, wide, x_[0]), b_.cast(extend, wide, x_[1]));
  const NodeId by = b_.integer(b_.type(product), bits_of(narrow));
  return b_.cast(Op::kTruncate, narrow, b_.binary(Op::kLShr, product, by));
}

NodeId ScalarOpWriter::compare() {
  using enum hlo::ComparisonDirection;
  const auto& attrs = instruction_.attrs.get<hlo::CompareAttrs>();
  NodeId x = x_[0], y = x_[1];
  bool as_signed = floats() || is_signed_type();
  if (attrs.type == hlo::ComparisonType::kTotalOrder && floats()) {
    // -NaN < -inf < .. < -0 < +0 < .. < inf < NaN: that of the bits, negative ones turned round.
    const Scalar integer = type().scalar == Scalar::kF32 ? Scalar::kI32 : Scalar::kI64;
    const auto key = [&](NodeId value) {
      const NodeId bits = b_.cast(Op::kBitcast, integer, value);
      const Type type = b_.type(bits);
      const NodeId negative = b_.compare(Predicate::kLt, bits, b_.integer(type, 0));
      const int64_t most = integer == Scalar::kI32 ? INT32_MAX : INT64_MAX;
      return b_.select(negative, b_.binary(Op::kXor, bits, b_.integer(type, most)), bits);
    };
    x = key(x);
    y = key(y);
  }
  switch (attrs.direction) {
    case kEq: return b_.compare(Predicate::kEq, x, y);
    case kNe: return b_.compare(Predicate::kNe, x, y);
    case kGe: return b_.compare(as_signed ? Predicate::kGe : Predicate::kUGe, x, y);
    case kGt: return b_.compare(as_signed ? Predicate::kGt : Predicate::kUGt, x, y);
    case kLe: return b_.compare(as_signed ? Predicate::kLe : Predicate::kULe, x, y);
    case kLt: break;
  }
  return b_.compare(as_signed ? Predicate::kLt : Predicate::kULt, x, y);
}

// A test that two numbers are both NaN finds where an operation has a limit, as the quotient of
// complex numbers has. It is hardly ever true.
NodeId ScalarOpWriter::select() {
  const Plan& plan = b_.plan();
  const auto is_nan_test = [&](NodeId id) {
    const Node& node = plan.at(id);
    if (node.op != Op::kCompare || Predicate(node.imm) != Predicate::kNe) return false;
    const auto args = plan.args_of(node);
    return args[0] == args[1] && is_float(b_.type(args[0]).scalar);
  };
  const Node& mask = plan.at(x_[0]);
  const bool is_rare = mask.op == Op::kAnd && std::ranges::all_of(plan.args_of(mask), is_nan_test);
  return is_rare ? b_.rarely(x_[0], x_[1], x_[2]) : b_.select(x_[0], x_[1], x_[2]);
}

// min(max(low, x), high).
NodeId ScalarOpWriter::clamp() {
  const NodeId high_enough = b_.binary(by_sign(Op::kMax, Op::kSMax, Op::kUMax), x_[0], x_[1]);
  return b_.binary(by_sign(Op::kMin, Op::kSMin, Op::kUMin), high_enough, x_[2]);
}

NodeId ScalarOpWriter::convert() {
  const Scalar scalar = *scalar_of(to_);
  const NodeId x = x_[0];
  if (from_ == to_) return x;
  if (is_nibble(to_)) return convert_to_nibble();
  if (to_ == pred) {
    const NodeId zero = floats() ? number(0) : constant(0);
    return b_.compare(Predicate::kNe, x, zero);
  }
  if (floats()) {
    if (is_floating(to_)) return b_.cast(Op::kFloatCast, scalar, x);
    return b_.cast(is_signed(to_) ? Op::kFloatToS : Op::kFloatToU, scalar, x);
  }
  if (is_floating(to_)) return b_.cast(is_signed_type() ? Op::kSToFloat : Op::kUToFloat, scalar, x);
  if (bits_of(scalar) < bits_of(type().scalar)) return b_.cast(Op::kTruncate, scalar, x);
  return b_.cast(is_signed_type() ? Op::kSExtend : Op::kZExtend, scalar, x);
}

// Integers wrap, and floats do not.
NodeId ScalarOpWriter::convert_to_nibble() {
  const bool has_sign = is_signed(to_);
  if (from_ == pred) return b_.cast(Op::kZExtend, Scalar::kI8, x_[0]);
  if (!floats()) {
    const bool is_wide = bits_of(type().scalar) > 8;
    const NodeId byte = is_wide ? b_.cast(Op::kTruncate, Scalar::kI8, x_[0]) : x_[0];
    return wrapped_to_nibble(b_, to_, byte);
  }
  const NodeId wide = b_.cast(has_sign ? Op::kFloatToS : Op::kFloatToU, Scalar::kI32, x_[0]);
  const auto at = [&](int64_t value) { return b_.integer(b_.type(wide), value); };
  const NodeId within = has_sign ? b_.binary(Op::kSMin, b_.binary(Op::kSMax, wide, at(-8)), at(7))
                                 : b_.binary(Op::kUMin, wide, at(15));
  return b_.cast(Op::kTruncate, Scalar::kI8, within);
}

// To even; what overflows into the exponent counts on there, up to infinity.
NodeId ScalarOpWriter::reduce_precision() {
  const int64_t dropped = 23 - instruction_.attrs.get<hlo::ReducePrecisionAttrs>().mantissa_bits;
  const NodeId bits = b_.cast(Op::kBitcast, Scalar::kI32, x_[0]);
  const auto op = [&](Op op, NodeId x, int64_t y) {
    return b_.binary(op, x, b_.integer(b_.type(x), y));
  };
  const NodeId odd = op(Op::kAnd, op(Op::kLShr, bits, dropped), 1);
  const NodeId up = b_.add(op(Op::kAdd, bits, (int64_t{1} << (dropped - 1)) - 1), odd);
  const NodeId rounded = op(Op::kAnd, up, -(int64_t{1} << dropped));
  const NodeId is_nan = b_.compare(Predicate::kNe, x_[0], x_[0]);
  return b_.select(is_nan, x_[0], b_.cast(Op::kBitcast, Scalar::kF32, rounded));
}

// Ops that are a function of floats.
constexpr std::pair<Opcode, MathFunction> kFunctionOps[] = {
    {Opcode::kExp, MathFunction::k_exp},     {Opcode::kExpm1, MathFunction::k_expm1},
    {Opcode::kLog, MathFunction::k_log},     {Opcode::kLog1p, MathFunction::k_log1p},
    {Opcode::kSin, MathFunction::k_sin},     {Opcode::kCos, MathFunction::k_cos},
    {Opcode::kTan, MathFunction::k_tan},     {Opcode::kAsin, MathFunction::k_asin},
    {Opcode::kAcos, MathFunction::k_acos},   {Opcode::kAtan, MathFunction::k_atan},
    {Opcode::kSinh, MathFunction::k_sinh},   {Opcode::kCosh, MathFunction::k_cosh},
    {Opcode::kTanh, MathFunction::k_tanh},   {Opcode::kAsinh, MathFunction::k_asinh},
    {Opcode::kAcosh, MathFunction::k_acosh}, {Opcode::kAtanh, MathFunction::k_atanh},
    {Opcode::kErf, MathFunction::k_erf},     {Opcode::kCbrt, MathFunction::k_cbrt},
    {Opcode::kPower, MathFunction::k_pow},   {Opcode::kAtan2, MathFunction::k_atan2}};

NodeId ScalarOpWriter::run() {
  const Opcode opcode = instruction_.opcode;
  const bool is_pred = from_ == pred;
  if (opcode == Opcode::kTanh && is_small_float(instruction_.shape.dtype()))
    return write_small_tanh(b_, x_[0]);
  for (const auto& [from, function] : kFunctionOps) {
    if (from == opcode) return math(function);
  }
  switch (opcode) {
    case Opcode::kAdd: return b_.binary(is_pred ? Op::kOr : Op::kAdd, x_[0], x_[1]);
    case Opcode::kSubtract: return b_.binary(Op::kSub, x_[0], x_[1]);
    case Opcode::kMultiply: return b_.binary(is_pred ? Op::kAnd : Op::kMul, x_[0], x_[1]);
    case Opcode::kMulhi: return high_product();
    case Opcode::kDivide: return divide();
    case Opcode::kRemainder: return remainder();
    case Opcode::kMaximum:
      return b_.binary(by_sign(Op::kMax, Op::kSMax, is_pred ? Op::kOr : Op::kUMax), x_[0], x_[1]);
    case Opcode::kMinimum:
      return b_.binary(by_sign(Op::kMin, Op::kSMin, is_pred ? Op::kAnd : Op::kUMin), x_[0], x_[1]);
    case Opcode::kAnd: return b_.binary(Op::kAnd, x_[0], x_[1]);
    case Opcode::kOr: return b_.binary(Op::kOr, x_[0], x_[1]);
    case Opcode::kXor: return b_.binary(Op::kXor, x_[0], x_[1]);
    case Opcode::kNot: return b_.binary(Op::kXor, x_[0], constant(-1));
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic: return shift();
    case Opcode::kClz: return b_.unary(Op::kClz, x_[0]);
    case Opcode::kPopcnt: return b_.unary(Op::kPopcnt, x_[0]);
    case Opcode::kCompare: return compare();
    case Opcode::kSelect: return select();
    case Opcode::kClamp: return clamp();
    case Opcode::kConvert: return convert();
    case Opcode::kBitcastConvert: return b_.cast(Op::kBitcast, *scalar_of(to_), x_[0]);
    case Opcode::kReducePrecision: return reduce_precision();
    case Opcode::kCopy:
    case Opcode::kReal: return x_[0];
    case Opcode::kNegate:
      return floats() ? b_.unary(Op::kNeg, x_[0]) : b_.binary(Op::kSub, constant(0), x_[0]);
    case Opcode::kAbs:
      if (floats()) return b_.unary(Op::kAbs, x_[0]);
      if (!is_signed_type()) return x_[0];
      return b_.binary(Op::kSMax, x_[0], b_.binary(Op::kSub, constant(0), x_[0]));
    case Opcode::kSign: return sign();
    case Opcode::kIsFinite:
      return b_.compare(Predicate::kLt, b_.unary(Op::kAbs, x_[0]),
                        number(std::numeric_limits<double>::infinity()));
    case Opcode::kSqrt: return b_.unary(Op::kSqrt, x_[0]);
    case Opcode::kRsqrt: return write_rsqrt(b_, x_[0]);
    case Opcode::kFloor: return b_.unary(Op::kFloor, x_[0]);
    case Opcode::kCeil: return b_.unary(Op::kCeil, x_[0]);
    case Opcode::kRoundEven: return b_.unary(Op::kRoundEven, x_[0]);
    case Opcode::kRoundAfz: return b_.unary(Op::kRoundAway, x_[0]);
    case Opcode::kLogistic: return write_logistic(b_, x_[0]);
    default: return {};
  }
}

// Elements are handed on as they are.
bool moves_bits(Opcode opcode) {
  return opcode == Opcode::kSelect || opcode == Opcode::kCopy || opcode == Opcode::kReal ||
         opcode == Opcode::kBitcastConvert;
}

// How the f32 that stands for a small float is known.
Narrowing narrowing_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConvert: return Narrowing::kAny;
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kSign:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundEven:
    case Opcode::kRoundAfz: return Narrowing::kExact;
    default: return Narrowing::kComputed;
  }
}

// The type that the op computes in for operands and results of this one. Integers become small
// floats in one rounding, from f64.
DType computed_as(DType dtype, const Instruction& instruction, DType from) {
  if (!is_small_float(dtype)) return dtype;
  const bool is_wide = from == s32 || from == u32 || from == f64;
  return instruction.opcode == Opcode::kConvert && is_wide ? f64 : f32;
}

// It keeps the exponent of an f32, and some of the mantissa.
bool cuts_mantissa(const Instruction& instruction) {
  const auto& attrs = instruction.attrs.get<hlo::ReducePrecisionAttrs>();
  return attrs.exponent_bits == 8 && attrs.mantissa_bits > 0 && attrs.mantissa_bits < 23;
}

bool is_written(Opcode opcode) {
  switch (opcode) {
    case Opcode::kImag:
    case Opcode::kComplex:
    case Opcode::kStochasticConvert: return false;
    case Opcode::kBitcastConvert: return true;
    default: return has_trait(opcode, hlo::kElementwise);
  }
}

}  // namespace

std::optional<Scalar> scalar_of(DType dtype) {
  switch (dtype) {
    case pred: return Scalar::kPred;
    case s4:
    case u4:
    case s8:
    case u8:
    case f8e4m3fn:
    case f8e5m2: return Scalar::kI8;
    case s16:
    case u16:
    case bf16:
    case f16: return Scalar::kI16;
    case s32:
    case u32: return Scalar::kI32;
    case s64:
    case u64: return Scalar::kI64;
    case f32: return Scalar::kF32;
    case f64: return Scalar::kF64;
    default: return std::nullopt;
  }
}

bool is_plain(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && scalar_of(shape.dtype()).has_value();
}

NodeId wrapped_to_nibble(PlanBuilder& builder, DType dtype, NodeId byte) {
  if (!is_nibble(dtype)) return byte;
  const auto op = [&](Op op, NodeId x, int64_t y) {
    return builder.binary(op, x, builder.integer(builder.type(x), y));
  };
  return is_signed(dtype) ? op(Op::kAShr, op(Op::kShl, byte, 4), 4) : op(Op::kAnd, byte, 15);
}

bool is_node_type(const Shape& shape) {
  return shape.is_scalar() && scalar_of(shape.dtype()).has_value();
}

bool is_scalar_op(const Computation& computation, const Instruction& instruction) {
  if (!is_written(instruction.opcode) || !scalar_of(instruction.shape.dtype())) return false;
  const bool all_known = std::ranges::all_of(instruction.operands, [&](InstructionId id) {
    return scalar_of(computation.at(id).shape.dtype()).has_value();
  });
  if (!all_known) return false;
  const DType from = computation.at(instruction.operands[0]).shape.dtype();
  if (is_nibble(from) || is_nibble(instruction.shape.dtype()))  // else their results would not wrap
    return instruction.opcode == Opcode::kConvert || instruction.opcode == Opcode::kCopy;
  switch (instruction.opcode) {
    case Opcode::kReducePrecision: return from == f32 && cuts_mantissa(instruction);
    case Opcode::kPower: return is_floating(from);  // integers: a loop
    case Opcode::kConvert:                          // in one rounding
      return !is_small_float(instruction.shape.dtype()) || (from != s64 && from != u64);
    case Opcode::kBitcastConvert:
      return bytes_of(*scalar_of(from)) == bytes_of(*scalar_of(instruction.shape.dtype())) &&
             from != pred && instruction.shape.dtype() != pred;
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kClz:
    case Opcode::kPopcnt: return from != pred;
    case Opcode::kMulhi: return from != pred && bytes_of(*scalar_of(from)) <= 4;
    default: return true;
  }
}

NodeId apply(PlanBuilder& builder, const Computation& computation, const Instruction& instruction,
             std::span<const NodeId> operands) {
  DType from = instruction.shape.dtype();
  const DType to = from;
  if (!instruction.operands.empty() && instruction.opcode != Opcode::kSelect)
    from = computation.at(instruction.operands[0]).shape.dtype();
  if (moves_bits(instruction.opcode) || (!is_small_float(from) && !is_small_float(to)))
    return ScalarOpWriter(builder, instruction, from, to, operands).run();
  if (instruction.opcode == Opcode::kConvert && from == to) return operands[0];
  std::vector<NodeId> wide(operands.begin(), operands.end());
  if (is_small_float(from)) {
    for (NodeId& operand : wide) operand = widen(builder, from, operand);
  }
  const NodeId result = ScalarOpWriter(builder, instruction, computed_as(from, instruction, from),
                                       computed_as(to, instruction, from), wide)
                            .run();
  if (!is_small_float(to)) return result;
  return narrow(builder, to, result, narrowing_of(instruction.opcode));
}

bool is_scalar_computation(const Computation& computation) {
  return std::ranges::all_of(computation.instructions, [&](const Instruction& i) {
    switch (i.opcode) {
      case Opcode::kTuple:
      case Opcode::kGetTupleElement: return true;
      case Opcode::kParameter:
      case Opcode::kConstant: return i.shape.is_scalar() && scalar_of(i.shape.dtype()).has_value();
      default: return i.shape.is_scalar() && is_scalar_op(computation, i);
    }
  });
}

std::vector<NodeId> inline_scalars(PlanBuilder& builder, const Computation& computation,
                                   std::span<const NodeId> arguments) {
  std::vector<std::vector<NodeId>> values(computation.instructions.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    std::vector<NodeId> operands;
    for (InstructionId id : instruction.operands)
      operands.insert(operands.end(), values[id.value].begin(), values[id.value].end());
    switch (instruction.opcode) {
      case Opcode::kParameter:
        values[i] = {
            arguments[static_cast<size_t>(instruction.attrs.get<hlo::ParameterAttrs>().number)]};
        break;
      case Opcode::kConstant:
        values[i] = {
            builder.bits({*scalar_of(instruction.shape.dtype()), 1},
                         bits_of_element(instruction.attrs.get<hlo::ConstantAttrs>().literal, 0))};
        break;
      case Opcode::kTuple: values[i] = std::move(operands); break;
      case Opcode::kGetTupleElement:
        values[i] = {
            operands[static_cast<size_t>(instruction.attrs.get<hlo::TupleIndexAttrs>().index)]};
        break;
      default: values[i] = {apply(builder, computation, instruction, operands)};
    }
  }
  return values[computation.root.value];
}

std::optional<Op> fold_of(const Computation& computation) {
  const Instruction& root = computation.root_instruction();
  if (root.operands.size() != 2 || computation.parameter_count() != 2) return std::nullopt;
  const bool of_both = (root.operands[0] == computation.parameters[0] &&
                        root.operands[1] == computation.parameters[1]) ||
                       (root.operands[0] == computation.parameters[1] &&
                        root.operands[1] == computation.parameters[0]);
  if (!of_both || !root.shape.is_scalar() || !scalar_of(root.shape.dtype())) return std::nullopt;
  const DType dtype = root.shape.dtype();
  if (is_small_float(dtype)) return std::nullopt;
  const bool is_float = is_floating(dtype), with_sign = is_signed(dtype);
  switch (root.opcode) {
    case Opcode::kAdd: return dtype == pred ? Op::kOr : Op::kAdd;
    case Opcode::kMultiply: return dtype == pred ? Op::kAnd : Op::kMul;
    case Opcode::kMaximum:
      return is_float ? Op::kMax : with_sign ? Op::kSMax : dtype == pred ? Op::kOr : Op::kUMax;
    case Opcode::kMinimum:
      return is_float ? Op::kMin : with_sign ? Op::kSMin : dtype == pred ? Op::kAnd : Op::kUMin;
    case Opcode::kAnd: return Op::kAnd;
    case Opcode::kOr: return Op::kOr;
    case Opcode::kXor: return Op::kXor;
    default: return std::nullopt;
  }
}

int64_t bits_of_element(const Literal& literal, int64_t position) {
  const int64_t size = storage_bytes(literal.shape().dtype());
  int64_t bits = 0;
  std::memcpy(&bits, literal.bytes() + position * size, static_cast<size_t>(size));
  return bits;
}

NodeId as_index(PlanBuilder& builder, DType dtype, NodeId value) {
  if (dtype == u64)  // what no s64 holds lies behind every array
    return builder.binary(Op::kUMin, value, builder.index(INT64_MAX));
  if (dtype == s64) return value;
  return builder.cast(is_signed(dtype) ? Op::kSExtend : Op::kZExtend, Scalar::kI64, value);
}

}  // namespace heddle::cpu
