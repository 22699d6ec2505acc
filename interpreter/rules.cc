#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

const Evaluation& evaluation(Opcode opcode) {
  static constexpr const Evaluation* kEvaluations[] = {
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) &enumerator##Evaluation,
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  };
  return *kEvaluations[static_cast<size_t>(opcode)];
}

}  // namespace heddle::interpreter
