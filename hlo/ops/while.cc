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
    return in.error("body returns ", to_string(next), "; must return ", to_string(in[0]), ", the type of the state");
  }
  return in[0];
}

StatusOr<Literal> evaluate(EvalArgs& in) {
  Literal state = std::move(in.operands[0]);
  for (;;) {
    HEDDLE_ASSIGN_OR_RETURN(const Literal goes_on, in.caller.call_on(kCondition, {&state, 1}));
    if (!goes_on.values<bool>()[0]) return state;
    HEDDLE_ASSIGN_OR_RETURN(state, in.caller.call_and_consume(kBody, {&state, 1}));
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
