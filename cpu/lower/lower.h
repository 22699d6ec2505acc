// HLO to plan: a module of stage hlo, calls inlined, becomes one Plan with the constants and the
// ahead-of-time kernels that it calls.
#pragma once

#include <memory>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/codegen/plan/plan.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

struct LoweredProgram {
  Plan plan;
  std::vector<Literal> constants;                // by BufferInfo::index
  std::vector<std::unique_ptr<Kernel>> kernels;  // by number of the kernel
  std::vector<KernelRecipe> recipes;             // of the kernels
  // Results that begin as a copy of an argument which nobody reads any more: where the argument's
  // memory may be taken, the result takes it, and nothing is copied.
  std::vector<std::pair<int64_t, int64_t>> taken;  // argument, result
  int64_t loop_steps = 0;                          // steps that are written as loops
  int64_t kernel_steps = 0;                        // steps that kernels compute
};

// `vector_bytes`: what the machine's vectors hold, a power of two of at least 16.
// `as_lapack`: factors and triangular systems stand for LAPACK's calls, and are rounded as its
// kernels do; else f32 is computed in f64 and rounded once.
// errors: Unimplemented for what only the evaluator runs: dynamic dimensions, tokens and effects
StatusOr<LoweredProgram> lower(const hlo::Module& module, int64_t vector_bytes, bool as_lapack);

// errors: as interpreter::Evaluator::prepare()
StatusOr<std::unique_ptr<Kernel>> make_kernel(const KernelRecipe& recipe);

}  // namespace heddle::cpu
