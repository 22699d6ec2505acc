#include "heddle/interpreter/ops/control/start_done.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_async_start(EvalArgs& in) {
  if (in.size() != in.caller.computation(0).parameter_count()) {
    return base::unimplemented(
        "async-start: has ", in.size(), " operands, and its computation takes ",
        in.caller.computation(0).parameter_count(),
        "; operands that come with a later update are not evaluated: give all at the start");
  }
  Literal operands = Literal::tuple({in.operands.begin(), in.operands.end()});
  HEDDLE_ASSIGN_OR_RETURN(Literal value, in.caller.call_and_consume(0, in.operands));
  return with_contexts(in, {std::move(operands), std::move(value)});
}

StatusOr<Literal> evaluate_async_update(EvalArgs& in) {
  if (in.size() == 1 && same_type(in[0].shape(), in.result())) return std::move(in.operands[0]);
  return base::unimplemented(
      "async-update: brings operands of its own; give all operands to async-start");
}

// (the copy, the original, context)
StatusOr<Literal> evaluate_copy_start(EvalArgs& in) { return with_contexts(in, {in[0], in[0]}); }

StatusOr<Literal> evaluate_copy_done(EvalArgs& in) {
  return std::move(in.operands[0].mutable_elements()[0]);
}

StatusOr<Literal> evaluate_domain(EvalArgs& in) { return std::move(in.operands[0]); }

}  // namespace

const Evaluation kAsyncStartEvaluation = {.evaluate = evaluate_async_start};
const Evaluation kAsyncUpdateEvaluation = {.evaluate = evaluate_async_update};
const Evaluation kAsyncDoneEvaluation = {.evaluate = evaluate_done};
const Evaluation kCopyStartEvaluation = {.evaluate = evaluate_copy_start};
const Evaluation kCopyDoneEvaluation = {.evaluate = evaluate_copy_done};
const Evaluation kDomainEvaluation = {.evaluate = evaluate_domain};

}  // namespace heddle::interpreter
