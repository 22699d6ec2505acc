#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate(EvalArgs& in) { return in.caller.map(0, in.operands); }

}  // namespace

const Evaluation kMapEvaluation = {.evaluate = evaluate};

}  // namespace heddle::interpreter
