#include "heddle/pjrt/internal/expand/expand.h"

#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using transform::Emitter;

// The integer type of twice the width, up to 64 bits.
DType wider(DType dtype) {
  const bool is_signed_type = is_signed(dtype);
  switch (bit_width(dtype)) {
    case 8: return is_signed_type ? s16 : u16;
    case 16: return is_signed_type ? s32 : u32;
    default: return is_signed_type ? s64 : u64;
  }
}

// Writes one mulhi. All values are arrays of its shape.
class Mulhi {
 public:
  Mulhi(hlo::ComputationBuilder& to, const Instruction& mulhi)
      : emit_(to, mulhi), shape_(mulhi.shape), x_(mulhi.operands[0]), y_(mulhi.operands[1]) {
    shape_.clear_layout();
  }

  InstructionId run() { return bit_width(shape_.dtype()) == 64 ? by_halves() : by_wider_type(); }

 private:
  InstructionId by_wider_type() {
    const DType narrow = shape_.dtype(), wide = wider(narrow);
    const InstructionId product = binary(Opcode::kMultiply, convert(x_, wide), convert(y_, wide));
    const Opcode shift =
        is_signed(narrow) ? Opcode::kShiftRightArithmetic : Opcode::kShiftRightLogical;
    return convert(binary(shift, product, all(wide, bit_width(narrow))), narrow);
  }

  // x = xh 2^32 + xl, and so for y: the sums below stay within 64 bits.
  InstructionId by_halves() {
    const InstructionId x = bits(x_, u64), y = bits(y_, u64);
    const InstructionId xl = low(x), xh = high(x), yl = low(y), yh = high(y);
    const InstructionId middle = add(multiply(xh, yl), high(multiply(xl, yl)));
    const InstructionId other = add(multiply(xl, yh), low(middle));
    const InstructionId result = add(multiply(xh, yh), add(high(middle), high(other)));
    return is_signed(shape_.dtype()) ? bits(corrected(result, x, y), shape_.dtype()) : result;
  }

  // A negative number was read as 2^64 more than it is.
  InstructionId corrected(InstructionId result, InstructionId x, InstructionId y) {
    result = binary(Opcode::kSubtract, result, if_negative(x_, y));
    return binary(Opcode::kSubtract, result, if_negative(y_, x));
  }
  InstructionId if_negative(InstructionId tested, InstructionId value) {
    const InstructionId ones =
        binary(Opcode::kShiftRightArithmetic, tested, all(shape_.dtype(), 63));
    return binary(Opcode::kAnd, bits(ones, u64), value);
  }

  InstructionId low(InstructionId x) { return binary(Opcode::kAnd, x, all(u64, 0xFFFFFFFF)); }
  InstructionId high(InstructionId x) {
    return binary(Opcode::kShiftRightLogical, x, all(u64, 32));
  }
  InstructionId add(InstructionId a, InstructionId b) { return binary(Opcode::kAdd, a, b); }
  InstructionId multiply(InstructionId a, InstructionId b) {
    return binary(Opcode::kMultiply, a, b);
  }
  InstructionId binary(Opcode opcode, InstructionId a, InstructionId b) {
    return emit_.op(opcode, emit_.shape(a), {a, b});
  }
  InstructionId convert(InstructionId x, DType to) {
    return emit_.op(Opcode::kConvert, shape_.with_dtype(to), {x});
  }
  InstructionId bits(InstructionId x, DType to) {
    if (emit_.shape(x).dtype() == to) return x;
    return emit_.op(Opcode::kBitcastConvert, shape_.with_dtype(to), {x});
  }
  InstructionId all(DType dtype, int64_t value) {
    return emit_.op(Opcode::kBroadcast, shape_.with_dtype(dtype), {emit_.scalar(dtype, value)},
                    hlo::DimensionsAttrs());
  }

  Emitter emit_;
  Shape shape_;
  InstructionId x_;
  InstructionId y_;
};

}  // namespace

hlo::Module expand_mulhi(const hlo::Module& module) {
  const auto matches = [](const hlo::Computation&, const Instruction& instruction) {
    return instruction.opcode == Opcode::kMulhi;
  };
  return rewritten(module, matches,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, InstructionId i) {
                     return Mulhi(to.builder(), to.mapped(i)).run();
                   });
}

}  // namespace heddle::pjrt
