#include "heddle/trace/ops/control/custom_call.h"

#include <utility>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {

std::vector<Tensor> custom_call(const std::string& target, const std::vector<Tensor>& operands,
                                const std::vector<Shape>& results, const CustomCallOptions& options,
                                SourceLocation at) {
  const trace_internal::PublicCall call("custom_call", at);
  if (results.empty() && !options.has_side_effect)
    trace_internal::refuse("has no results; write their types, as in custom_call(\"", target,
                           "\", {x}, {x.shape()}), or .has_side_effect = true");
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  attrs.custom_call_has_side_effect = options.has_side_effect;
  if (options.typed) attrs.api_version = hlo::ApiVersion::kTypedFfi;
  return trace_internal::emit_many(
      {.opcode = hlo::Opcode::kCustomCall,
       .operands = operands,
       .attrs = std::move(attrs),
       .declared = results.size() == 1 ? results[0] : Shape::tuple(results),
       .backend_config = options.backend_config});
}

}  // namespace heddle
