// Pass and pipelines: a pass is a function from module to module, a pipeline is a table of passes.
//
//   HEDDLE_ASSIGN_OR_RETURN(hlo::Module lowered, run_pipeline(traced, kLowerPipeline));
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/verify.h"
#include "heddle/transform/lapack/expand.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/sharding/shardy.h"

namespace heddle::transform {

struct Pass {
  std::string_view name;
  StatusOr<hlo::Module> (*run)(const hlo::Module&);
  // The stage after it. Stages only advance: kTraced says that the pass does not change the
  // module's stage.
  hlo::Stage leaves = hlo::Stage::kTraced;
  // In a pipeline, neighbours that settle run in turn until none changes anything, since each makes
  // work for the others.
  bool settles = false;
};

// Every pass that keeps values bit for bit, by name.
inline constexpr Pass kPasses[] = {
    {"hoist-invariants", hoist_invariants},
    {"inline", inline_calls},
    {"lower-scan", lower_scan, hlo::Stage::kHlo},
    {"merge-equal", merge_equal},
    {"remove-unused", remove_unused},
    {"simplify", simplify},
    {"sink-iotas", sink_iotas},
};

// The passes that keep values to their accuracy, not bit for bit.
inline constexpr Pass kRoundingPasses[] = {{"expand-lapack", expand_lapack}};

// The passes that write forms that only XLA's compilers read.
inline constexpr Pass kXlaPasses[] = {{"to-shardy", to_shardy}};

namespace pass_internal {

inline constexpr Pass settling(std::string_view name,
                               StatusOr<hlo::Module> (*run)(const hlo::Module&)) {
  return {.name = name, .run = run, .settles = true};
}

}  // namespace pass_internal

// What backends that take a scan as it is leave out: no op becomes another.
inline constexpr Pass kCleanPipeline[] = {
    pass_internal::settling("simplify", simplify),
    pass_internal::settling("merge-equal", merge_equal),
    pass_internal::settling("remove-unused", remove_unused),
};

// Loops as backends know them, and nothing more: what rewrites ops by name goes behind it.
inline constexpr Pass kLoopPipeline[] = {
    {"simplify", simplify},
    {"lower-scan", lower_scan, hlo::Stage::kHlo},
};

// From what was traced to what any XLA reads: while and no scan. Calls stay, so that a combine
// computation is one computation. Running it twice is running it once.
inline constexpr Pass kLowerPipeline[] = {
    {"simplify", simplify},
    {"lower-scan", lower_scan, hlo::Stage::kHlo},  // from here: while, and no scan
    pass_internal::settling("simplify", simplify),
    pass_internal::settling("merge-equal", merge_equal),
    pass_internal::settling("remove-unused", remove_unused),
};

// The same with calls inlined: for backends that do not inline by themselves.
inline constexpr Pass kFlattenPipeline[] = {
    {"simplify", simplify},
    {"lower-scan", lower_scan, hlo::Stage::kHlo},
    pass_internal::settling("inline", inline_calls),  // again: a loop may be a call by now
    pass_internal::settling("simplify", simplify),
    pass_internal::settling("merge-equal", merge_equal),
    pass_internal::settling("remove-unused", remove_unused),
    {"hoist-invariants", hoist_invariants},
    {"sink-iotas", sink_iotas},
    pass_internal::settling("simplify", simplify),
    pass_internal::settling("merge-equal", merge_equal),
    pass_internal::settling("remove-unused", remove_unused),
};

struct PipelineOptions {
  hlo::Stage stage = hlo::Stage::kTraced;  // of the module that comes in
#ifdef NDEBUG
  bool verify_each = false;
#else
  bool verify_each = true;
#endif
  // Called with each pass's result; `step` counts from 1. Called with step 0 and pass "input"
  // before the first.
  std::function<void(int step, std::string_view pass, const hlo::Module&)> dump;
};

// The most rounds of passes that settle.
inline constexpr size_t kMaxRounds = 16;

// Runs the passes in order, and those that settle as often as needed.
// errors: a pass's own, with its name before it; Internal, if a module does not verify after a
// pass, with the pass's name
StatusOr<hlo::Module> run_pipeline(const hlo::Module& module, std::span<const Pass> passes,
                                   const PipelineOptions& options = {});

// Returns the passes of a list like "lower-scan,inline,simplify". The names "lower" and "flatten"
// stand for the pipelines above. errors: NotFound with the name and all known names
StatusOr<std::vector<Pass>> parse_pipeline(std::string_view names);

}  // namespace heddle::transform
