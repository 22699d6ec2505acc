#include "heddle/grad/checkpoint.h"

#include "heddle/base/text/strings.h"
#include "heddle/grad/internal/traced.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/transform/derivatives.h"

namespace heddle {
namespace {

void require_name(std::string_view what, std::string_view name, SourceLocation at) {
  if (!name.empty() && name.find(',') == name.npos) return;
  throw Error(trace_internal::invalid_argument(what, ": the name is \"", name,
                                               "\"; it must have letters, and no comma"),
              at);
}

CheckpointPolicy by_names(std::string_view kind, const std::vector<std::string>& names,
                          SourceLocation at) {
  for (const std::string& name : names) require_name("checkpoint_policies", name, at);
  return CheckpointPolicy(base::cat(kind, base::join(names, ",")));
}

}  // namespace

CheckpointPolicy::CheckpointPolicy() : CheckpointPolicy(transform::kSaveNothing) {}

namespace checkpoint_policies {

CheckpointPolicy nothing_saveable() { return {}; }
CheckpointPolicy everything_saveable() { return CheckpointPolicy(""); }
CheckpointPolicy dots_saveable() { return CheckpointPolicy(transform::kSaveDots); }
CheckpointPolicy dots_with_no_batch_dims_saveable() {
  return CheckpointPolicy(transform::kSaveDotsWithoutBatch);
}
CheckpointPolicy save_only_these_names(const std::vector<std::string>& names, SourceLocation at) {
  return by_names(transform::kSaveNames, names, at);
}
CheckpointPolicy save_any_names_but_these(const std::vector<std::string>& names,
                                          SourceLocation at) {
  return by_names(transform::kSaveNamesBut, names, at);
}

}  // namespace checkpoint_policies

namespace grad_internal {

using trace_internal::PublicCall;

Derived checkpointed(const FlatFunction& fn, const Point& point, std::string_view policy) {
  const PublicCall public_call(fn.what, fn.at, PublicCall::Runs::kUsersFunction);
  const Trace trace = traced(fn, types_of(point.leaves), point.leaves);
  return {call(fn.what, fn.at, trace.module, with_captures(point.leaves, trace),
               {{std::string(transform::kCheckpointAttribute), std::string(policy)}}),
          trace.spec,
          {}};
}

Tensor named(const Tensor& x, std::string_view name, SourceLocation at) {
  const PublicCall public_call("checkpoint_name", at);
  require_name("checkpoint_name", name, at);
  return trace_internal::emit(
      {.opcode = hlo::Opcode::kCopy,
       .operands = {x},
       .at = at,
       .frontend_attributes = {{std::string(transform::kNameAttribute), std::string(name)}}});
}

}  // namespace grad_internal
}  // namespace heddle
