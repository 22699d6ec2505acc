// OpDef: everything that an op means, in one record beside the op (hlo/ops/*.cc). The opcode's
// facts stand in opcodes.def.
//
// A slot for a rule has no default: leaving one out does not compile. A slot that has no rule says
// why, in words that users will read:
//   .evaluate = No{"rng: its stream is not specified; use rng-bit-generator"}.
// Derivatives have records of their own, in hlo/derivative.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal.h"
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

// Runs called computations for an evaluation rule; `which` is the number of the computation among
// the instruction's.
class Caller {
 public:
  virtual ~Caller() = default;
  // The computation's value at the arguments, which are left in any state: those at their last use
  // are updated in place. It comes in `result`, none of the arguments: empty, or of the
  // computation's type, as from an earlier call, and then its buffers are used again where nobody
  // else holds them. So a loop's small values need no allocation.
  virtual Status call_and_consume(size_t which, std::span<Literal> arguments, Literal& result) = 0;
  // The same, and only reads the arguments.
  virtual Status call_on(size_t which, std::span<const Literal> arguments, Literal& result) = 0;
  // The same with a result of its own.
  StatusOr<Literal> call_and_consume(size_t which, std::span<Literal> arguments) {
    Literal result;
    HEDDLE_RETURN_IF_ERROR(call_and_consume(which, arguments, result));
    return result;
  }
  StatusOr<Literal> call_on(size_t which, std::span<const Literal> arguments) {
    Literal result;
    HEDDLE_RETURN_IF_ERROR(call_on(which, arguments, result));
    return result;
  }
  // A computation on scalars at every position of arrays, one a parameter, of equal dimensions.
  // Elementwise bodies run on thousands of elements at a time. Returns an array of these
  // dimensions, or the tuple of such where the computation returns a tuple.
  StatusOr<Literal> map(size_t which, std::span<const Literal> arguments) {
    return map(which, computation(which).root, arguments);
  }
  // The same for the value of an instruction inside, a scalar or at most a tuple of scalars.
  virtual StatusOr<Literal> map(size_t which, InstructionId value,
                                std::span<const Literal> arguments) = 0;
  // The computation itself, for rules that recognise add, max, ... and loop over them natively.
  [[nodiscard]] virtual const Computation& computation(size_t which) const = 0;
};

// What an evaluation rule sees. Operands may be moved from; one that is_unique() may be written in
// place.
struct EvalArgs {
  const Instruction& instruction;
  std::span<Literal> operands;
  Caller& caller;
  const Computation* computation = nullptr;  // that the instruction stands in, where there is one

  [[nodiscard]] const Shape& result() const { return instruction.shape; }
  // Type of operand i with its layout, which the literal need not have.
  [[nodiscard]] const Shape& operand_shape(size_t i) const {
    return computation == nullptr ? operands[i].shape()
                                  : computation->at(instruction.operands[i]).shape;
  }
  const Literal& operator[](size_t i) const { return operands[i]; }
  [[nodiscard]] size_t size() const { return operands.size(); }
  template <class T>
  [[nodiscard]] const T& attrs() const {
    return instruction.attrs.get<T>();
  }
};

// An op on scalars that lie at addresses, for given element types: what its evaluation rule
// computes, for bodies of loops so small that making Literals would take most of the time. Made by
// the op's ScalarRule.
struct ScalarOp {
  static constexpr size_t kMaxOperands = 3;
  using Apply = void (*)(const ScalarOp& op, std::span<const std::byte* const> operands,
                         std::byte* result);
  // null: had by the evaluation rule alone. The result overlaps no operand
  Apply apply = nullptr;
  const void* function = nullptr;  // what apply() applies, where it serves several ops
  DType from = DType::kInvalid;    // element type of operand 0
  DType to = DType::kInvalid;      // of the result
};

using InferFn = StatusOr<Shape> (*)(const InferArgs&);
using EvaluateFn = StatusOr<Literal> (*)(EvalArgs&);
using ScalarRule = ScalarOp (*)(const Attrs& attrs, DType from, DType to);

struct OpDef {
  Opcode opcode;
  // Names of the operands for error messages: {"x", "start_indices"}; the last one repeats for
  // variadic ops.
  std::span<const std::string_view> operand_names;
  // Shape rule = verifier: called when an instruction is built, parsed, and after each pass. Given
  // operands are of the number that opcodes.def says. Returns the result type, or the error of the
  // operand that is wrong.
  Slot<InferFn> infer;
  // Value, by the book: the oracle. Shapes were verified before.
  Slot<EvaluateFn> evaluate;
  // The same for scalars, of elementwise ops that are worth it; must share its arithmetic with
  // `evaluate`.
  ScalarRule scalar = nullptr;
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
