#include "heddle/hlo/text/internal/called.h"

namespace heddle::hlo::text {
namespace {

constexpr CalledKey kWhile[] = {{"condition", 1}, {"body", 0}};
constexpr CalledKey kSelectAndScatter[] = {{"select", 0}, {"scatter", 1}};
constexpr CalledKey kConditional[] = {{"true_computation", 0}, {"false_computation", 1}};
constexpr CalledKey kCalls[] = {{"calls", 0}};
constexpr CalledKey kToApply[] = {{"to_apply", 0}};

}  // namespace

CalledKeys called_keys(Opcode opcode, bool predicate) {
  if (called_count(opcode) == 0) return {};
  switch (opcode) {
    case Opcode::kWhile: return {.keys = kWhile};
    case Opcode::kSelectAndScatter: return {.keys = kSelectAndScatter};
    case Opcode::kConditional:
      return predicate ? CalledKeys{.keys = kConditional}
                       : CalledKeys{.list = "branch_computations"};
    case Opcode::kCustomCall: return {.list = "called_computations"};
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone: return {.keys = kCalls};
    default: return {.keys = kToApply};
  }
}

}  // namespace heddle::hlo::text
