#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_call(EvalArgs& in) { return in.caller.call_and_consume(0, in.operands); }

}  // namespace

const Evaluation kCallEvaluation = {.evaluate = evaluate_call};
const Evaluation kFusionEvaluation = {.evaluate = evaluate_call};

}  // namespace heddle::interpreter
