#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

constexpr size_t kBody = 0;
constexpr size_t kCondition = 1;

// What a body leaves of its state: the buffers of scalars are worth writing to again, arrays would
// only be kept for longer.
void drop_arrays(Literal& state) {
  if (!state.is_tuple()) return;
  for (Literal& element : state.mutable_elements()) {
    if (!element.shape().is_scalar()) element = Literal();
  }
}

// Two states take turns: the next one is written over what is left of the one before.
StatusOr<Literal> evaluate_while(EvalArgs& in) {
  Literal states[2] = {std::move(in.operands[0])};
  Literal goes_on;
  for (size_t now = 0;; now = 1 - now) {
    HEDDLE_RETURN_IF_ERROR(in.caller.call_on(kCondition, {&states[now], 1}, goes_on));
    if (!goes_on.values<bool>()[0]) return std::move(states[now]);
    HEDDLE_RETURN_IF_ERROR(in.caller.call_and_consume(kBody, {&states[now], 1}, states[1 - now]));
    drop_arrays(states[now]);
  }
}

}  // namespace

const Evaluation kWhileEvaluation = {.evaluate = evaluate_while};

}  // namespace heddle::interpreter
