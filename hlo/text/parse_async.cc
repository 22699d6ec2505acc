// foo-start, foo-update and foo-done, for an op without such opcodes of its own: async-start around
// a computation of the one foo.
#include "heddle/hlo/text/internal/parser.h"

namespace heddle::hlo::text {

bool Parser::strip_async(std::string_view word, Draft& draft) {
  struct Suffix {
    std::string_view text;
    AsyncStep step;
  };
  static constexpr Suffix kSuffixes[] = {
      {"-start", AsyncStep::kStart}, {"-update", AsyncStep::kUpdate}, {"-done", AsyncStep::kDone}};
  for (const Suffix& suffix : kSuffixes) {
    if (!word.ends_with(suffix.text)) continue;
    auto opcode = parse_opcode(word.substr(0, word.size() - suffix.text.size()));
    if (!opcode || *opcode == Opcode::kParameter || *opcode == Opcode::kConstant) return false;
    draft.instruction.opcode = *opcode;
    draft.async = suffix.step;
    return true;
  }
  return false;
}

// The draft is of foo. A start wraps it; an update or done only repeats foo's attributes.
bool Parser::wrap_async(Scope& scope, Draft& draft) {
  Instruction& outer = draft.instruction;
  Instruction inner;
  inner.opcode = outer.opcode;
  inner.attrs =
      std::exchange(outer.attrs, AsyncAttrs{.async_execution_thread = draft.execution_thread});
  inner.called = std::exchange(outer.called, {});
  if (!draft.has_shape)
    return in_.fail_at(
        draft.at, base::invalid_argument(to_string(inner.opcode),
                                         "-start: has no result type; write it before the opcode"));
  if (draft.async != AsyncStep::kStart) {
    outer.opcode = draft.async == AsyncStep::kUpdate ? Opcode::kAsyncUpdate : Opcode::kAsyncDone;
    draft.async = AsyncStep::kNone;
    return true;
  }
  outer.opcode = Opcode::kAsyncStart;
  draft.async = AsyncStep::kNone;
  if (!outer.shape.is_tuple() || outer.shape.elements().size() < 2) {
    return in_.fail_at(draft.at,
                       base::invalid_argument(
                           to_string(inner.opcode), "-start: has the type ", to_string(outer.shape),
                           "; it must be a tuple of (operands), result and contexts"));
  }
  Scope wrapped;
  wrapped.computation.name = base::cat("async_computation.", module_.computations.size());
  wrapped.computation.execution_thread =
      draft.execution_thread == "main" ? "" : draft.execution_thread;
  for (InstructionId operand : outer.operands) {
    InstructionId parameter;
    std::string_view name = made_names_.emplace_back(base::cat("p", wrapped.parameters.size()));
    if (!declare_parameter(wrapped, name, scope.computation.at(operand).shape, parameter))
      return false;
    inner.operands.push_back(parameter);
  }
  Draft body{.instruction = std::move(inner), .at = draft.at, .has_shape = true};
  body.instruction.shape = outer.shape.element(1);
  InstructionId root;
  if (!append(wrapped, body, to_string(body.instruction.opcode), root)) return false;
  wrapped.computation.root = root;
  return finish(wrapped, draft.at, outer.called.emplace_back());
}

}  // namespace heddle::hlo::text
