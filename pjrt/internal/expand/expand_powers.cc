// Powers of integers. XLA reads the six lowest bits of an exponent: 0^64 is 1, and so is 2^64. The
// others are a power of x^64.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

constexpr int64_t kBits = 6;  // that XLA reads

bool is_below_limit(const hlo::Computation& computation, InstructionId id) {
  const hlo::Instruction* exponent = &computation.at(id);
  if (exponent->opcode == Opcode::kBroadcast) exponent = &computation.at(exponent->operands[0]);
  if (exponent->opcode != Opcode::kConstant) return false;
  const Literal& values = exponent->attrs.get<hlo::ConstantAttrs>().literal;
  if (values.is_elided()) return false;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    if (values.to_double(i) >= 1 << kBits) return false;
  }
  return true;
}

bool is_misread_power(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  return instruction.opcode == Opcode::kPower && is_integer(instruction.shape.dtype()) &&
         bit_width(instruction.shape.dtype()) > kBits &&
         !is_below_limit(computation, instruction.operands[1]);
}

// The digits of the exponent in base 64, least first: x^d0 (x^64)^d1 (x^64^2)^d2 ..
InstructionId write_power(hlo::ComputationBuilder& to, const hlo::Instruction& now) {
  transform::Emitter emit(to, now);
  Shape shape = now.shape;
  shape.clear_layout();
  const auto op = [&](Opcode opcode, InstructionId x, InstructionId y) {
    return emit.op(opcode, shape, {x, y});
  };
  const auto all = [&](int64_t number) {
    return emit.op(Opcode::kBroadcast, shape, {emit.scalar(shape.dtype(), number)},
                   hlo::DimensionsAttrs());
  };
  InstructionId base = now.operands[0], rest = now.operands[1];
  const InstructionId mask = all((1 << kBits) - 1), bits = all(kBits), half = all(1 << (kBits - 1));
  InstructionId power = op(Opcode::kPower, base, op(Opcode::kAnd, rest, mask));
  for (int64_t done = kBits; done < bit_width(shape.dtype()); done += kBits) {
    base = op(Opcode::kPower, base, half);
    base = op(Opcode::kMultiply, base, base);
    rest = op(Opcode::kShiftRightLogical, rest, bits);
    const InstructionId more = op(Opcode::kPower, base, op(Opcode::kAnd, rest, mask));
    power = op(Opcode::kMultiply, power, more);
  }
  if (!is_signed(shape.dtype())) return power;
  const InstructionId is_negative =
      emit.op(Opcode::kCompare, shape.with_dtype(pred), {now.operands[1], emit.zeros(shape)},
              hlo::CompareAttrs{.direction = hlo::ComparisonDirection::kLt});
  const InstructionId inverse = op(Opcode::kPower, now.operands[0], now.operands[1]);
  return emit.op(Opcode::kSelect, shape, {is_negative, inverse, power});
}

}  // namespace

bool has_misread_powers(const hlo::Module& module) {
  return any_instruction(module, is_misread_power);
}

hlo::Module expand_powers(const hlo::Module& module) {
  return rewritten(module, is_misread_power,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::InstructionId i) {
                     return write_power(to.builder(), to.mapped(i));
                   });
}

}  // namespace heddle::pjrt
