// Powers of integers. XLA reads the six lowest bits of an exponent: 0^64 is 1, and so is 2^64. The
// others are a power of x^64.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

constexpr int64_t kBits = 6;  // that XLA reads

bool is_below_limit(const Computation& computation, InstructionId id) {
  const Instruction* exponent = &computation.at(id);
  if (exponent->opcode == Opcode::kBroadcast) exponent = &computation.at(exponent->operands[0]);
  if (exponent->opcode != Opcode::kConstant) return false;
  const Literal& values = exponent->attrs.get<hlo::ConstantAttrs>().literal;
  if (values.is_elided()) return false;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    if (values.to_double(i) >= 1 << kBits) return false;
  }
  return true;
}

bool is_misread_power(const Computation& computation, const Instruction& instruction) {
  return instruction.opcode == Opcode::kPower && is_integer(instruction.shape.dtype()) &&
         bit_width(instruction.shape.dtype()) > kBits &&
         !is_below_limit(computation, instruction.operands[1]);
}

// The digits of the exponent in base 64, least first: x^d0 (x^64)^d1 (x^64^2)^d2 ..
Value write_power(Graph& graph, const Instruction& now) {
  const Value x = graph.wrap(now.operands[0]), exponent = graph.wrap(now.operands[1]);
  const auto digit_of = [](const Value& rest) { return rest & ((1 << kBits) - 1); };
  Value base = x, rest = exponent, result = power(x, digit_of(exponent));
  for (int64_t done = kBits; done < bit_width(x.dtype()); done += kBits) {
    const Value root = power(base, base.number(1 << (kBits - 1)));
    base = root * root;
    rest = binary(Opcode::kShiftRightLogical, rest, rest.number(kBits));
    result = result * power(base, digit_of(rest));
  }
  return is_signed(x.dtype()) ? select(exponent < 0, power(x, exponent), result) : result;
}

}  // namespace

bool has_misread_powers(const hlo::Module& module) {
  return any_instruction(module, is_misread_power);
}

StatusOr<hlo::Module> expand_powers(const hlo::Module& module) {
  return rewritten(module, is_misread_power, write_power);
}

}  // namespace heddle::pjrt
