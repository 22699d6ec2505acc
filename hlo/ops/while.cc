// while(state), condition=c, body=b: state = b(state) for as long as c(state).
#include "heddle/hlo/op.h"
#include "heddle/hlo/ops/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kOperands[] = {"state"};
constexpr size_t kBody = 0;
constexpr size_t kCondition = 1;

StatusOr<Shape> infer(const InferArgs& in) {
  const std::span<const Shape> state(&in[0], 1);
  HEDDLE_RETURN_IF_ERROR(check_takes(in, kCondition, "condition", state));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, kCondition, "condition", Shape::scalar(pred)));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, kBody, "body", state));
  const Shape& next = in.called()[kBody]->result_shape();
  if (!same_type(next, in[0])) {
    return in.error("body returns ", to_string(next), "; must return ", to_string(in[0]),
                    ", the type of the state");
  }
  return in[0];
}

// What a body leaves of its state: the buffers of scalars are worth writing to again, arrays would
// only be kept for longer.
void drop_arrays(Literal& state) {
  if (!state.is_tuple()) return;
  for (Literal& element : state.mutable_elements()) {
    if (!element.shape().is_scalar()) element = Literal();
  }
}

// Two states take turns: the next one is written over what is left of the one before.
StatusOr<Literal> evaluate(EvalArgs& in) {
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

const OpDef kWhileDef = {
    .opcode = Opcode::kWhile,
    .operand_names = kOperands,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
