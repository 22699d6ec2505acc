// Ops whose definition is still to come: the declared type is believed, and evaluation is refused with the reason. An op that gets
// its own definition leaves this list.
#include "heddle/hlo/op.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> believe(const InferArgs& in) {
  if (in.declared() == nullptr) return in.error("has no result type; this op's type cannot be inferred yet");
  return *in.declared();
}

constexpr OpDef pending(Opcode opcode) {
  return {.opcode = opcode,
          .operand_names = {},
          .infer = believe,
          .evaluate = No{"is not evaluated yet"}};
}

}  // namespace

#define HEDDLE_PENDING(enumerator) const OpDef enumerator##Def = pending(Opcode::enumerator);
HEDDLE_PENDING(kAbs)
HEDDLE_PENDING(kAcos)
HEDDLE_PENDING(kAcosh)
HEDDLE_PENDING(kAsin)
HEDDLE_PENDING(kAsinh)
HEDDLE_PENDING(kAtan)
HEDDLE_PENDING(kAtanh)
HEDDLE_PENDING(kCbrt)
HEDDLE_PENDING(kCeil)
HEDDLE_PENDING(kClz)
HEDDLE_PENDING(kCos)
HEDDLE_PENDING(kCosh)
HEDDLE_PENDING(kErf)
HEDDLE_PENDING(kExp)
HEDDLE_PENDING(kExpm1)
HEDDLE_PENDING(kFloor)
HEDDLE_PENDING(kImag)
HEDDLE_PENDING(kIsFinite)
HEDDLE_PENDING(kLog)
HEDDLE_PENDING(kLog1p)
HEDDLE_PENDING(kLogistic)
HEDDLE_PENDING(kNegate)
HEDDLE_PENDING(kNot)
HEDDLE_PENDING(kPopcnt)
HEDDLE_PENDING(kReal)
HEDDLE_PENDING(kRoundAfz)
HEDDLE_PENDING(kRoundEven)
HEDDLE_PENDING(kRsqrt)
HEDDLE_PENDING(kSign)
HEDDLE_PENDING(kSin)
HEDDLE_PENDING(kSinh)
HEDDLE_PENDING(kSqrt)
HEDDLE_PENDING(kTan)
HEDDLE_PENDING(kTanh)
HEDDLE_PENDING(kConvert)
HEDDLE_PENDING(kReducePrecision)
HEDDLE_PENDING(kCopy)
HEDDLE_PENDING(kAdd)
HEDDLE_PENDING(kAnd)
HEDDLE_PENDING(kAtan2)
HEDDLE_PENDING(kComplex)
HEDDLE_PENDING(kDivide)
HEDDLE_PENDING(kMaximum)
HEDDLE_PENDING(kMinimum)
HEDDLE_PENDING(kMulhi)
HEDDLE_PENDING(kMultiply)
HEDDLE_PENDING(kOr)
HEDDLE_PENDING(kPower)
HEDDLE_PENDING(kRemainder)
HEDDLE_PENDING(kShiftLeft)
HEDDLE_PENDING(kShiftRightArithmetic)
HEDDLE_PENDING(kShiftRightLogical)
HEDDLE_PENDING(kSubtract)
HEDDLE_PENDING(kXor)
HEDDLE_PENDING(kCompare)
HEDDLE_PENDING(kStochasticConvert)
HEDDLE_PENDING(kClamp)
HEDDLE_PENDING(kSelect)
HEDDLE_PENDING(kBitcastConvert)
#undef HEDDLE_PENDING

}  // namespace heddle::hlo
