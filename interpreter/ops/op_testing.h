// For tests of op definitions: one op evaluated on literals, without a module.
#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/op.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter::op_testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// For ops that call nothing.
class NoCaller final : public Caller {
 public:
  Status call_and_consume(size_t, std::span<Literal>, Literal&) override {
    return base::internal_error("calls nothing");
  }
  Status call_on(size_t, std::span<const Literal>, Literal&) override {
    return base::internal_error("calls nothing");
  }
  StatusOr<Literal> map(size_t, InstructionId, std::span<const Literal>) override {
    return base::internal_error("calls nothing");
  }
  [[nodiscard]] const Computation& computation(size_t) const override {
    static const Computation kNone;
    return kNone;
  }
};

// Evaluates the op; the type is inferred, from `declared` too where that is valid.
inline StatusOr<Literal> try_evaluate(Opcode opcode, std::vector<Literal> operands,
                                      const Attrs& attrs = {}, const Shape& declared = {}) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.attrs = attrs;
  std::vector<const Shape*> shapes;
  for (const Literal& operand : operands) shapes.push_back(&operand.shape());
  HEDDLE_ASSIGN_OR_RETURN(
      instruction.shape,
      infer_shape(opcode, shapes, attrs, {}, declared.is_valid() ? &declared : nullptr));
  NoCaller caller;
  EvalArgs args{instruction, operands, caller};
  return evaluation(opcode).evaluate.rule()(args);
}

// The value; throws the error's text, which fails the test.
inline Literal evaluate(Opcode opcode, std::vector<Literal> operands, const Attrs& attrs = {},
                        const Shape& declared = {}) {
  auto value = try_evaluate(opcode, std::move(operands), attrs, declared);
  if (!value.ok()) throw std::runtime_error(base::message_of(value.status()));
  return *std::move(value);
}

// An array of rank 1 of the values, converted to the type.
inline Literal array(DType dtype, const std::vector<double>& values) {
  Literal out(Shape(dtype, {static_cast<int64_t>(values.size())}));
  std::byte* bytes = out.mutable_bytes();
  for (size_t i = 0; i < values.size(); ++i) {
    Literal element = Literal::scalar(dtype, values[i]);
    std::copy_n(element.bytes(), storage_bytes(dtype),
                bytes + static_cast<int64_t>(i) * storage_bytes(dtype));
  }
  return out;
}

inline std::vector<double> numbers(const Literal& literal) {
  std::vector<double> out;
  for (int64_t i = 0; i < literal.element_count(); ++i) out.push_back(literal.to_double(i));
  return out;
}

inline std::vector<int64_t> integers(const Literal& literal) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < literal.element_count(); ++i) out.push_back(literal.to_int64(i));
  return out;
}

}  // namespace heddle::interpreter::op_testing
