// A program as machine code, and what a run of it needs beside that.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/plan.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/host/host_backend.h"

namespace heddle::interpreter {
struct Seat;  // interpreter/rendezvous.h
}

namespace heddle::cpu {

struct NativeParts {
  std::string name;
  std::unique_ptr<Code> code;
  int64_t arena_bytes = 0;
  std::vector<Literal> constants;  // by BufferInfo::index
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<size_t> kernel_buffers;              // how many pointers each takes
  std::vector<std::pair<int64_t, int64_t>> taken;  // as LoweredProgram's
  PlanCost cost;
  // Of the backend: each run that draws random bits takes the next one.
  std::shared_ptr<std::atomic<uint64_t>> next_seed;
  // The plan that the code was made from: an error names the instruction of one of its nodes.
  std::function<StatusOr<std::shared_ptr<const Plan>>()> plan;
  bool is_from_disk = false;
};

// The functions that machine code calls: kernels, of the run that `context` is, and shared loops.
int64_t call_kernel(void* context, int64_t number, void* const* pointers);
void share_loop(LoopPart part, const void* frame, int64_t from, int64_t to, int64_t chunk);

// A program that also runs as one device of several.
class NativeProgram : public runtime::HostProgram {
 public:
  // The same as run(), for `seat` and with the seed of its run.
  [[nodiscard]] virtual StatusOr<std::vector<Literal>> run_as(
      const interpreter::Seat& seat, uint64_t seed, std::vector<Literal> leaves) const = 0;
};

std::shared_ptr<const NativeProgram> make_native(NativeParts parts, const hlo::Module& module);

}  // namespace heddle::cpu
