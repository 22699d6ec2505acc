// The evaluator: runs a module by the definitions of its ops, on the host. Written to be believed:
// the native backend, the passes and every plugin are tested against it.
//
// Values are freed or moved at their last use, so that a dynamic-update-slice in a loop writes in
// place and a carry is never copied.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/base/system/stop.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {

struct EvaluationPlan;
struct RunContext;  // interpreter/run_context.h
struct Seat;        // interpreter/rendezvous.h

// What a run may be told besides its arguments.
struct RunOptions {
  // Of rng, whose stream HLO leaves open: Philox-4x32 with the seed as its key, and a counter that
  // starts at 0 and goes on from one rng to the next in the order in which they run. So equal
  // modules, arguments and seeds give equal results.
  uint64_t seed = 0;
  // Asked before each call of a computation, as of a loop's body.
  StopToken stop = {};
};

// A module made ready to run many times. Copies share the preparation; run() may be called from
// several threads at once.
class Evaluator {
 public:
  // errors: InvalidArgument from verify(); Unimplemented where an op has no evaluation, naming it;
  // FailedPrecondition for an elided constant; ResourceExhausted where computations call each other
  // too deep. Only what can run is looked at.
  // cost: linear in the module, no value is computed
  static StatusOr<Evaluator> prepare(hlo::Module module);

  // Evaluates the entry computation. Arguments of the entry's types, by parameter number; move them
  // in to allow updates in place.
  // errors: InvalidArgument that names the parameter whose type is wrong; ResourceExhausted where
  // memory runs out; Cancelled where it was asked to stop
  [[nodiscard]] StatusOr<Literal> run(std::vector<Literal> arguments,
                                      const RunOptions& options = {}) const;
  // The same as one device of several: see interpreter/evaluate_together.h.
  [[nodiscard]] StatusOr<Literal> run_as(const Seat& seat, std::vector<Literal> arguments,
                                         const RunOptions& options) const;

  // The same as a part of a run: draws from where that run is, as the device that it is.
  [[nodiscard]] StatusOr<Literal> run_within(RunContext& run, std::vector<Literal> arguments,
                                             const StopToken& stop = {}) const;

  [[nodiscard]] const hlo::Module& module() const;

 private:
  explicit Evaluator(std::shared_ptr<const EvaluationPlan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const EvaluationPlan> plan_;
};

// prepare() and run() at once.
StatusOr<Literal> evaluate(const hlo::Module& module, std::vector<Literal> arguments);

}  // namespace heddle::interpreter
