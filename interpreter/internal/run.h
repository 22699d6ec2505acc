// One run of an EvaluationPlan: the frames of its computations, kept between calls, and the
// interpreter's loop over steps.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/internal/plan.h"
#include "heddle/interpreter/run_context.h"

namespace heddle::interpreter {

// The arguments of one call: `values` to read, and `own` (the same, or null) to move from.
struct Arguments {
  const Literal* values = nullptr;
  Literal* own = nullptr;
};

// For one thread. An error ends the run: make another.
class EvaluationRun {
 public:
  // `plan` and `context` outlive the run.
  EvaluationRun(const EvaluationPlan& plan, RunContext& context, StopToken stop = {})
      : plan_(plan), frames_(plan.routines.size()), stop_(std::move(stop)), context_(context) {}

  // The value of a computation that the plan reaches; types of the arguments were checked. See
  // Caller for `result`.
  Status call(ComputationId id, Arguments arguments, Literal& result);

  // See Caller::map().
  StatusOr<Literal> map(ComputationId id, InstructionId value, std::span<const Literal> arguments);

  [[nodiscard]] const EvaluationPlan& plan() const { return plan_; }
  // errors: Cancelled, in this instruction
  [[nodiscard]] Status check_stop(const Instruction& instruction) const;

 private:
  // Computations call only what stands before them, so each is active at most once: a frame a
  // computation is enough.
  struct Frame {
    absl::InlinedVector<Literal, 4> slots;  // a small program allocates nothing but its results
    // by Routine::sources; empty but for constants and scalars, outside of their step
    absl::InlinedVector<Literal, 4> operands;
    std::vector<ScalarBytes> scalars;

    void prepare(const Routine& routine);
    void bind(const Routine::Binding& binding, Arguments arguments);
    void take(Source source, const Routine& routine, Literal& to);
    void take_element(const Step& step, Arguments arguments);
    void make_tuple(const Step& step, const Routine& routine, Literal& result);
    void apply_scalar_op(const Step& step, const Routine& routine);
  };

  Status execute(const Routine& routine, Frame& frame, const Step& step, Arguments arguments,
                 Literal& result);
  Status apply_rule(const Routine& routine, Frame& frame, const Step& step);
  StatusOr<Literal> apply_at_sizes(const Step& step, EvalArgs& in);
  struct MapCall;
  EvaluationRun* lifted(const EvaluationPlan::LiftKey& key);
  Status map_chunks(const MapCall& call, std::span<Literal> results);
  Status map_elements(const MapCall& call, std::span<Literal> results);

  const EvaluationPlan& plan_;
  absl::InlinedVector<Frame, 1> frames_;
  const StopToken stop_;
  RunContext& context_;
  struct Lifted {
    std::shared_ptr<const EvaluationPlan> plan;
    std::unique_ptr<EvaluationRun> run;
  };
  std::map<EvaluationPlan::LiftKey, Lifted> lifted_;
};

}  // namespace heddle::interpreter
