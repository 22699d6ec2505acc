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
HEDDLE_BINARY(kAdd, kAll)
HEDDLE_BINARY(kSubtract, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kMultiply, kAll)
HEDDLE_BINARY(kDivide, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kRemainder, kIntegers | kFloats)
HEDDLE_BINARY(kPower, kIntegers | kFloats | kComplexes)
HEDDLE_BINARY(kAtan2, kFloats | kComplexes)
HEDDLE_BINARY(kMulhi, kIntegers)

// Order.
HEDDLE_BINARY(kMaximum, kAll)
HEDDLE_BINARY(kMinimum, kAll)

// Bits.
HEDDLE_BINARY(kAnd, kPreds | kIntegers)
HEDDLE_BINARY(kOr, kPreds | kIntegers)
HEDDLE_BINARY(kXor, kPreds | kIntegers)
HEDDLE_BINARY(kShiftLeft, kIntegers)
HEDDLE_BINARY(kShiftRightLogical, kIntegers)
HEDDLE_BINARY(kShiftRightArithmetic, kIntegers)

const OpDef kComplexDef = {
    .opcode = Opcode::kComplex, .operand_names = kBinaryOperands, .infer = infer_complex};

}  // namespace heddle::hlo
