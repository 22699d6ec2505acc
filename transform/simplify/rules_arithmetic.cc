// Rules for elementwise ops, each exact: same bits for every operand, NaN, infinities and signed
// zeros included. (A signalling NaN may stay signalling where the op would have quieted it; no
// backend promises either.)
#include <bit>
#include <cmath>

#include "heddle/transform/internal/rules.h"

#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

bool is_integral(DType dtype) { return is_integer(dtype) || dtype == pred; }

bool is_splat_of(const Simplifier& to, InstructionId id, double value) {
  const Literal* literal = to.splat(id);
  if (literal == nullptr || is_complex(literal->shape().dtype())) return false;
  double x = literal->to_double(0);
  return x == value && std::signbit(x) == std::signbit(value);
}

bool is_all_ones(const Simplifier& to, InstructionId id) {
  DType dtype = to.shape(id).dtype();
  if (dtype == pred) return is_splat_of(to, id, 1);
  if (is_signed(dtype)) return is_splat_of(to, id, -1);
  const Literal* literal = is_unsigned(dtype) ? to.splat(id) : nullptr;
  if (literal == nullptr) return false;
  return std::popcount(static_cast<uint64_t>(literal->to_int64(0))) == bit_width(dtype);
}

// x op e or e op x is x, where e has the property.
template <class Property>
InstructionId without_neutral(Simplifier& to, const Instruction& now, Property neutral) {
  for (size_t i : {size_t{1}, size_t{0}}) {
    if (neutral(now.operands[i])) return to.if_same(now, now.operands[1 - i]);
  }
  return kDoesNotApply;
}

// x + 0 for integers; x + -0 for floats, since -0 + 0 is 0.
InstructionId add_of_zero(Simplifier& to, const Instruction& now) {
  DType dtype = now.shape.dtype();
  if (!is_integral(dtype) && !is_floating(dtype)) return kDoesNotApply;
  double zero = is_floating(dtype) ? -0.0 : 0.0;
  return without_neutral(to, now, [&](InstructionId id) { return is_splat_of(to, id, zero); });
}

// x - 0, also for floats: -0 - 0 is -0.
InstructionId subtract_of_zero(Simplifier& to, const Instruction& now) {
  return is_splat_of(to, now.operands[1], 0.0) ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId multiply_by_one(Simplifier& to, const Instruction& now) {
  return without_neutral(to, now, [&](InstructionId id) { return is_splat_of(to, id, 1); });
}

InstructionId divide_by_one(Simplifier& to, const Instruction& now) {
  return is_splat_of(to, now.operands[1], 1) ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId and_of_ones(Simplifier& to, const Instruction& now) {
  return without_neutral(to, now, [&](InstructionId id) { return is_all_ones(to, id); });
}

InstructionId or_of_zeros(Simplifier& to, const Instruction& now) {
  if (!is_integral(now.shape.dtype())) return kDoesNotApply;
  return without_neutral(to, now, [&](InstructionId id) { return is_splat_of(to, id, 0); });
}

// and(x, x), or(x, x), maximum(x, x), minimum(x, x).
InstructionId of_equals(Simplifier& to, const Instruction& now) {
  return now.operands[0] == now.operands[1] ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

// negate(negate(x)), not(not(x)).
InstructionId of_itself(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, now.opcode);
  return inner == nullptr ? kDoesNotApply : to.if_same(now, inner->operands[0]);
}

InstructionId select_of_constant(Simplifier& to, const Instruction& now) {
  const Literal* chosen = to.splat(now.operands[0]);
  return chosen == nullptr ? kDoesNotApply
                           : to.if_same(now, now.operands[chosen->to_int64(0) != 0 ? 1 : 2]);
}

InstructionId select_of_equals(Simplifier& to, const Instruction& now) {
  return now.operands[1] == now.operands[2] ? to.if_same(now, now.operands[1]) : kDoesNotApply;
}

InstructionId part_of_complex(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kComplex);
  return inner == nullptr ? kDoesNotApply
                          : to.if_same(now, inner->operands[now.opcode == Opcode::kReal ? 0 : 1]);
}

InstructionId complex_of_parts(Simplifier& to, const Instruction& now) {
  const Instruction* real = to.inner(now, Opcode::kReal);
  const Instruction& imag = to.at(now.operands[1]);
  if (real == nullptr || imag.opcode != Opcode::kImag || real->operands[0] != imag.operands[0])
    return kDoesNotApply;
  return to.if_same(now, imag.operands[0]);
}

constexpr Rule kArithmeticRules[] = {
    {"add-of-zero", Opcode::kAdd, add_of_zero},
    {"subtract-of-zero", Opcode::kSubtract, subtract_of_zero},
    {"multiply-by-one", Opcode::kMultiply, multiply_by_one},
    {"divide-by-one", Opcode::kDivide, divide_by_one},
    {"and-of-ones", Opcode::kAnd, and_of_ones},
    {"and-of-equals", Opcode::kAnd, of_equals},
    {"or-of-zeros", Opcode::kOr, or_of_zeros},
    {"or-of-equals", Opcode::kOr, of_equals},
    {"xor-of-zeros", Opcode::kXor, or_of_zeros},
    {"maximum-of-equals", Opcode::kMaximum, of_equals},
    {"minimum-of-equals", Opcode::kMinimum, of_equals},
    {"negate-of-negate", Opcode::kNegate, of_itself},
    {"not-of-not", Opcode::kNot, of_itself},
    {"select-of-constant", Opcode::kSelect, select_of_constant},
    {"select-of-equals", Opcode::kSelect, select_of_equals},
    {"real-of-complex", Opcode::kReal, part_of_complex},
    {"imag-of-complex", Opcode::kImag, part_of_complex},
    {"complex-of-parts", Opcode::kComplex, complex_of_parts},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmeticRules; }

}  // namespace heddle::transform
