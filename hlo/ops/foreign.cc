// fusion(x..): a computation that another compiler fused. custom-call(x..): a function known by name, outside of HLO.
// shuffle(x): XLA's newest; its attributes are not known here.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_fusion(const InferArgs& in) {
  std::vector<Shape> operands;
  operands.reserve(in.size());
  for (const Shape* operand : in.operands()) operands.push_back(*operand);
  HEDDLE_RETURN_IF_ERROR(check_called(in, 0, operands, *in.declared()));
  return *in.declared();
}

StatusOr<Shape> infer_custom_call(const InferArgs& in) {
  const auto& attrs = in.attrs<CustomCallAttrs>();
  if (attrs.custom_call_target.empty()) return in.error("has no custom_call_target");
  if (attrs.constrain_layout) {
    HEDDLE_RETURN_IF_ERROR(check_length(in, "operand_layout_constraints",
                                        attrs.operand_layout_constraints.size(),
                                        static_cast<int64_t>(in.size()), "operand"));
  }
  return *in.declared();
}

StatusOr<Shape> infer_shuffle(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  return *in.declared();
}

constexpr std::string_view kNames[] = {"x"};

}  // namespace

const OpDef kFusionDef =
    unevaluated(Opcode::kFusion, {}, infer_fusion, "is not evaluated by the interpreter yet");
const OpDef kCustomCallDef =
    unevaluated(Opcode::kCustomCall, {}, infer_custom_call, "is not evaluated by the interpreter yet");
const OpDef kShuffleDef = unevaluated(Opcode::kShuffle, kNames, infer_shuffle,
                                      "is not evaluated by the interpreter: its meaning is not known to Heddle");

}  // namespace heddle::hlo
