#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

size_t branch_of(const Literal& index, size_t branches) {
  if (index.shape().dtype() == pred) return index.values<bool>()[0] ? 0 : 1;
  const int32_t i = index.values<int32_t>()[0];
  return i < 0 || static_cast<size_t>(i) >= branches ? branches - 1 : static_cast<size_t>(i);
}

StatusOr<Literal> evaluate_conditional(EvalArgs& in) {
  const size_t branch = branch_of(in[0], in.size() - 1);
  return in.caller.call_and_consume(branch, in.operands.subspan(branch + 1, 1));
}

}  // namespace

const Evaluation kConditionalEvaluation = {.evaluate = evaluate_conditional};

}  // namespace heddle::interpreter
