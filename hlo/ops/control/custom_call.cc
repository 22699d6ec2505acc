// custom-call(x..): a function known by its name, outside of HLO.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_custom_call(const InferArgs& in) {
  const auto& attrs = in.attrs<CustomCallAttrs>();
  if (attrs.custom_call_target.empty())
    return in.error("has no custom_call_target; must name the function to call");
  if (attrs.constrain_layout) {
    HEDDLE_RETURN_IF_ERROR(check_length(in, "operand_layout_constraints",
                                        attrs.operand_layout_constraints.size(),
                                        static_cast<int64_t>(in.size()), "operand"));
  }
  return *in.declared();
}

}  // namespace

const OpDef kCustomCallDef = {Opcode::kCustomCall, {}, kOpaque, infer_custom_call};

}  // namespace heddle::hlo
