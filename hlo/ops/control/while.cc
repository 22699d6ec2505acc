// while(state), condition=c, body=b: state = b(state) for as long as c(state).
#include "heddle/hlo/ops/control/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kWhileOperands[] = {"state"};
constexpr size_t kBody = 0;
constexpr size_t kCondition = 1;

StatusOr<Shape> infer_while(const InferArgs& in) {
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

}  // namespace

const OpDef kWhileDef = {
    Opcode::kWhile, kWhileOperands, {Work::kStays, Rows::kKept, kRuns}, infer_while};

}  // namespace heddle::hlo
