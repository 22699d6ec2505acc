// call(x..), to_apply=f: f's value at the operands. fusion is the same under a hint for backends.
#include "heddle/hlo/ops/control/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kCallOperands[] = {"x"};

StatusOr<Shape> infer_call(const InferArgs& in) {
  std::vector<Shape> parameters;
  for (const Shape* operand : in.operands()) parameters.push_back(*operand);
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "callee", parameters));
  return in.called()[0]->result_shape();
}

}  // namespace

const OpDef kCallDef = {
    Opcode::kCall, kCallOperands, {Work::kStays, Rows::kKept, kRuns}, infer_call};
const OpDef kFusionDef = {
    Opcode::kFusion, kCallOperands, {Work::kStays, Rows::kMixed, kRuns}, infer_call};

}  // namespace heddle::hlo
