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

<<<<<<< HEAD:hlo/ops/control/call.cc
const OpDef kCallDef = {
    .opcode = Opcode::kCall, .operand_names = kCallOperands, .infer = infer_call};
const OpDef kFusionDef = {
    .opcode = Opcode::kFusion, .operand_names = kCallOperands, .infer = infer_call};
=======
const OpDef kCallDef = {Opcode::kCall, kOperands, {Work::kStays, Rows::kKept, kRuns}, infer};
const OpDef kFusionDef = {Opcode::kFusion, kOperands, {Work::kStays, Rows::kMixed, kRuns}, infer};
>>>>>>> g16house:hlo/ops/control/call.cc

}  // namespace heddle::hlo
