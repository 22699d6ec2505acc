// call(x..), to_apply=f: f's value at the operands. fusion is the same under a hint for backends.
#include "heddle/hlo/ops/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kOperands[] = {"x"};

StatusOr<Shape> infer(const InferArgs& in) {
  std::vector<Shape> parameters;
  for (const Shape* operand : in.operands()) parameters.push_back(*operand);
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "callee", parameters));
  return in.called()[0]->result_shape();
}

}  // namespace

const OpDef kCallDef = {Opcode::kCall, kOperands, {Work::kStays, Rows::kKept, kRuns}, infer};
const OpDef kFusionDef = {Opcode::kFusion, kOperands, {Work::kStays, Rows::kMixed, kRuns}, infer};

}  // namespace heddle::hlo
