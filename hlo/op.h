// OpDef: the record of an op with its shape rule (hlo/ops/*.cc). The opcode's facts stand in
// opcodes.def.
//
// A slot for a rule has no default: leaving one out does not compile. A slot that has no rule says
// why, in words that users will read. Evaluations, derivatives and batching have records of their
// own, in interpreter/rules.h, hlo/derivative.h and hlo/batching.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/slot.h"

namespace heddle::hlo {

// What a shape rule sees.
class InferArgs {
 public:
  InferArgs(Opcode opcode, std::span<const Shape* const> operands, const Attrs& attrs,
            std::span<const Computation* const> called, const Shape* declared)
      : opcode_(opcode), operands_(operands), attrs_(attrs), called_(called), declared_(declared) {}

  [[nodiscard]] Opcode opcode() const { return opcode_; }
  [[nodiscard]] size_t size() const { return operands_.size(); }
  const Shape& operator[](size_t i) const { return *operands_[i]; }
  [[nodiscard]] std::span<const Shape* const> operands() const { return operands_; }
  template <class T>
  [[nodiscard]] const T& attrs() const {
    return attrs_.get<T>();
  }
  [[nodiscard]] std::span<const Computation* const> called() const { return called_; }
  // The type that the text, proto or builder gave; null where it gave none (never for ops with
  // kDeclared).
  [[nodiscard]] const Shape* declared() const { return declared_; }

  // "concatenate: " and the parts, as an InvalidArgument.
  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument(to_string(opcode_), ": ", parts...);
  }

 private:
  Opcode opcode_;
  std::span<const Shape* const> operands_;
  const Attrs& attrs_;
  std::span<const Computation* const> called_;
  const Shape* declared_;
};

using InferFn = StatusOr<Shape> (*)(const InferArgs&);

struct OpDef {
  Opcode opcode;
  // Names of the operands for error messages: {"x", "start_indices"}; the last one repeats for
  // variadic ops.
  std::span<const std::string_view> operand_names;
  // Shape rule = verifier: called when an instruction is built, parsed, and after each pass. Given
  // operands are of the number that opcodes.def says. Returns the result type, or the error of the
  // operand that is wrong.
  Slot<InferFn> infer;
};

// Returns the definition. A missing one is a link error that names the op.
const OpDef& definition(Opcode opcode);

#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) \
  extern const OpDef enumerator##Def;
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP

// Infers and checks the type of an instruction: operand number, attribute struct, called
// computations, then the op's own rule. For an op whose type is declared, the declared type is
// checked and returned (with its layout).
StatusOr<Shape> infer_shape(Opcode opcode, std::span<const Shape* const> operands,
                            const Attrs& attrs, std::span<const Computation* const> called,
                            const Shape* declared);

}  // namespace heddle::hlo
