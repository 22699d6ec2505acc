#include <iterator>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_tuple(EvalArgs& in) {
  return Literal::tuple(
      {std::make_move_iterator(in.operands.begin()), std::make_move_iterator(in.operands.end())});
}

StatusOr<Literal> evaluate_element(EvalArgs& in) {
  const auto index = static_cast<size_t>(in.attrs<TupleIndexAttrs>().index);
  return std::move(in.operands[0].mutable_elements()[index]);
}

StatusOr<Literal> evaluate_same(EvalArgs& in) { return std::move(in.operands[0]); }

StatusOr<Literal> evaluate_after_all(EvalArgs&) { return Literal(Shape::token()); }

}  // namespace

const Evaluation kTupleEvaluation = {.evaluate = evaluate_tuple};
const Evaluation kGetTupleElementEvaluation = {.evaluate = evaluate_element};
const Evaluation kOptBarrierEvaluation = {.evaluate = evaluate_same};
const Evaluation kAfterAllEvaluation = {.evaluate = evaluate_after_all};
const Evaluation kAddDependencyEvaluation = {.evaluate = evaluate_same};

}  // namespace heddle::interpreter
