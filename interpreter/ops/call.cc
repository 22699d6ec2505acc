#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate(EvalArgs& in) { return in.caller.call_and_consume(0, in.operands); }

}  // namespace

const Evaluation kCallEvaluation = {.evaluate = evaluate};
const Evaluation kFusionEvaluation = {.evaluate = evaluate};

}  // namespace heddle::interpreter
