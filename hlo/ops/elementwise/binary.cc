// Binary elementwise ops. There is no implicit broadcast in HLO: both operands have one type.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr int kAll = kPreds | kIntegers | kFloats | kComplexes;

constexpr DType complex_of(DType part) { return part == DType::kF32 ? DType::kC64 : DType::kC128; }

StatusOr<Shape> infer_complex(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kFloats));
  if (in[0].dtype() != f32 && in[0].dtype() != f64) {
    return in.error("x is ", in[0], "; its elements must be f32 or f64; convert it first");
  }
  HEDDLE_RETURN_IF_ERROR(check_same(in, 1, 0));
  return result_dimensions(in).with_dtype(complex_of(in[0].dtype()));
}

}  // namespace

// Arithmetic.
HEDDLE_BINARY(kAdd, Work::kLittle, kJoins, kAll)
HEDDLE_BINARY(kSubtract, Work::kLittle, kJoins, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kMultiply, Work::kLittle, kPlain, kAll)
HEDDLE_BINARY(kDivide, Work::kMuch, kPlain, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kRemainder, Work::kMuch, kPlain, kIntegers | kFloats)
HEDDLE_BINARY(kPower, Work::kMuch, kPlain, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kAtan2, Work::kMuch, kPlain, kFloats | kComplexes)
HEDDLE_BINARY(kMulhi, Work::kLittle, kPlain, kIntegers)

// Order.
HEDDLE_BINARY(kMaximum, Work::kLittle, kPlain, kAll)
HEDDLE_BINARY(kMinimum, Work::kLittle, kPlain, kAll)

// Bits.
HEDDLE_BINARY(kAnd, Work::kLittle, kPlain, kPreds | kIntegers)
HEDDLE_BINARY(kOr, Work::kLittle, kPlain, kPreds | kIntegers)
HEDDLE_BINARY(kXor, Work::kLittle, kPlain, kPreds | kIntegers)
HEDDLE_BINARY(kShiftLeft, Work::kLittle, kPlain, kIntegers)
HEDDLE_BINARY(kShiftRightLogical, Work::kLittle, kPlain, kIntegers)
HEDDLE_BINARY(kShiftRightArithmetic, Work::kLittle, kPlain, kIntegers)

const OpDef kComplexDef = {
    Opcode::kComplex, kBinaryOperands, {Work::kLittle, Rows::kKeptIfAlike, kJoins}, infer_complex};

}  // namespace heddle::hlo
