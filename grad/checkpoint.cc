#include "heddle/grad/checkpoint.h"

#include "heddle/base/text/strings.h"
#include "heddle/grad/internal/traced.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/transform/derivatives.h"

namespace heddle {
namespace {

void require_name(std::string_view name) {
  if (!name.empty() && name.find(',') == name.npos) return;
  trace_internal::refuse("the name is \"", name, "\"; it must have letters, and no comma");
}

CheckpointPolicy by_names(std::string_view kind, const std::vector<std::string>& names) {
  for (const std::string& name : names) require_name(name);
  return CheckpointPolicy(base::cat(kind, base::join(names, ",")));
}

}  // namespace

CheckpointPolicy::CheckpointPolicy(std::string_view text, SourceLocation at) : text_(text) {
  using namespace transform;
  if (text.empty() || text == kSaveNothing || text == kSaveDots || text == kSaveDotsWithoutBatch ||
      text.starts_with(kSaveNames) || text.starts_with(kSaveNamesBut))
    return;
  const trace_internal::PublicCall call("CheckpointPolicy", at);
  trace_internal::refuse("the text is \"", text,
                         "\"; it must be the text() of a policy; take one of "
                         "checkpoint_policies, such as checkpoint_policies::dots_saveable()");
}

CheckpointPolicy::CheckpointPolicy() : CheckpointPolicy(transform::kSaveNothing) {}

namespace checkpoint_policies {

CheckpointPolicy nothing_saveable() { return {}; }
CheckpointPolicy everything_saveable() { return CheckpointPolicy(""); }
CheckpointPolicy dots_saveable() { return CheckpointPolicy(transform::kSaveDots); }
CheckpointPolicy dots_with_no_batch_dims_saveable() {
  return CheckpointPolicy(transform::kSaveDotsWithoutBatch);
}
CheckpointPolicy save_only_these_names(const std::vector<std::string>& names, SourceLocation at) {
  const trace_internal::PublicCall call("checkpoint_policies", at);
  return by_names(transform::kSaveNames, names);
}
CheckpointPolicy save_any_names_but_these(const std::vector<std::string>& names,
                                          SourceLocation at) {
  const trace_internal::PublicCall call("checkpoint_policies", at);
  return by_names(transform::kSaveNamesBut, names);
}

}  // namespace checkpoint_policies

namespace grad_internal {

using trace_internal::PublicCall;

Derived checkpointed(const FlatFunction& fn, const Point& point, std::string_view policy) {
  const Trace trace = traced(fn, types_of(point.leaves), point.leaves,
                             trace_internal::Recorder::Numbers::kWithStarts);
  return {call(fn.what, trace.module, with_captures(point.leaves, trace),
               {{std::string(transform::kCheckpointAttribute), std::string(policy)}}),
          trace.spec,
          {}};
}

Tensor named(const Tensor& x, std::string_view name) {
  require_name(name);
  return trace_internal::emit(
      {.opcode = hlo::Opcode::kCopy,
       .operands = {x},
       .frontend_attributes = {{std::string(transform::kNameAttribute), std::string(name)}}});
}

}  // namespace grad_internal
}  // namespace heddle
