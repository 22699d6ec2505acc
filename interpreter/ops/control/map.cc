#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_map(EvalArgs& in) { return in.caller.map(0, in.operands); }

}  // namespace

const Evaluation kMapEvaluation = {.evaluate = evaluate_map};

}  // namespace heddle::interpreter
