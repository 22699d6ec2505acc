#include "heddle/trace/ops/control/barrier.h"

#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {

std::vector<Tensor> barrier(std::span<const Tensor> leaves, SourceLocation at) {
  const PublicCall call("optimization_barrier", at);
  if (leaves.empty()) return {};
  return emit_many({.opcode = hlo::Opcode::kOptBarrier,
                    .operands = {leaves.begin(), leaves.end()},
                    .takes_tuple = true});
}

}  // namespace heddle::trace_internal
