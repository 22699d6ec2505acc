// custom-call(x..): a function known by name, outside of HLO.
// shuffle(x): XLA's newest; its attributes are not known here.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_custom_call(const InferArgs& in) {
  const auto& attrs = in.attrs<CustomCallAttrs>();
  if (attrs.custom_call_target.empty()) return in.error("has no custom_call_target; must name the function to call");
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

const OpDef kCustomCallDef =
    unevaluated(Opcode::kCustomCall, {}, infer_custom_call, "is not evaluated by the interpreter yet");
const OpDef kShuffleDef = unevaluated(Opcode::kShuffle, kNames, infer_shuffle,
                                      "is not evaluated by the interpreter: its meaning is not known to Heddle");

}  // namespace heddle::hlo
