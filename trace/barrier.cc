#include "heddle/trace/barrier.h"

#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {

std::vector<Tensor> barrier(std::span<const Tensor> leaves, SourceLocation at) {
  if (leaves.empty()) return {};
  return emit_many({.opcode = hlo::Opcode::kOptBarrier,
                    .operands = {leaves.begin(), leaves.end()},
                    .at = at,
                    .takes_tuple = true});
}

}  // namespace heddle::trace_internal
