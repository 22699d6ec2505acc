// Evaluation: the value of an op by its definition, beside the op's record in hlo/op.h. There is
// one for each line of opcodes.def (interpreter/ops/*.cc): a missing one is a link error that names
// the op.
//
// A slot that has no rule says why, in words that users will read:
//   .evaluate = No{"rng: its stream is not specified; use rng-bit-generator"}.
#pragma once

#include <span>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/slot.h"

namespace heddle::interpreter {

using namespace hlo;

struct RunContext;  // interpreter/run_context.h

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
  RunContext* run = nullptr;                 // null: the op is evaluated outside of a module's run
  // The instruction of the prepared module, the same for every run: `instruction` may be a copy at
  // the sizes of the moment. Null where there is no run.
  const Instruction* place = nullptr;

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
  // null: only the evaluation rule computes it. The result overlaps no operand
  Apply apply = nullptr;
  const void* function = nullptr;  // what apply() applies, where it serves several ops
  DType from = DType::kInvalid;    // element type of operand 0
  DType to = DType::kInvalid;      // of the result
};

using EvaluateFn = StatusOr<Literal> (*)(EvalArgs&);
using ScalarRule = ScalarOp (*)(const Attrs& attrs, DType from, DType to);

struct Evaluation {
  // Value, by the book: the oracle. Shapes were verified before.
  Slot<EvaluateFn> evaluate;
  // The same for scalars, of elementwise ops that are worth it; must share its arithmetic with
  // `evaluate`.
  ScalarRule scalar = nullptr;
};

#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) \
  extern const Evaluation enumerator##Evaluation;
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP

const Evaluation& evaluation(Opcode opcode);

}  // namespace heddle::interpreter
