// StateThread: a value that goes through a module in the order in which its instructions run,
// through calls, branches and loops, whose computations take it and give it back. So each
// instruction that must keep its order depends on the one before it, and what a loop finds comes
// out of it.
#pragma once

#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"

namespace heddle::transform {

class StateThread {
 public:
  StateThread() = default;
  virtual ~StateThread() = default;
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  // Whether the instruction reads or changes the state. Not asked of calls, loops and branches.
  [[nodiscard]] virtual bool takes_part(const hlo::Computation& computation,
                                        const hlo::Instruction& instruction) const = 0;
  // The state at the begin of the program.
  [[nodiscard]] virtual hlo::Values start(hlo::Graph& graph) const = 0;
  // Writes an instruction that takes part; `called` are its callees, as written.
  virtual hlo::Value write(hlo::Graph& graph, const hlo::Instruction& instruction,
                           const hlo::Values& operands, std::vector<hlo::ComputationId> called,
                           hlo::Values& state) = 0;
  // For a loop: the state of its first step, the state that a step leaves for the next one, and the
  // state after its end, from the states before and after.
  [[nodiscard]] virtual hlo::Values entered(hlo::Graph&, const hlo::Values& state) const {
    return state;
  }
  [[nodiscard]] virtual hlo::Values stepped(hlo::Graph&, const hlo::Values& state) const {
    return state;
  }
  [[nodiscard]] virtual hlo::Values left(hlo::Graph&, const hlo::Values& before,
                                         const hlo::Values& after) const {
    (void)before;
    return after;
  }
  // Whether a while goes on after its condition says so.
  [[nodiscard]] virtual hlo::Value goes_on(hlo::Graph&, const hlo::Value& condition,
                                           const hlo::Values& state) const {
    (void)state;
    return condition;
  }
  // Called at the end of the program.
  virtual void finish(hlo::Graph&, const hlo::Values& state) { (void)state; }
};

// The module with the state in it, and with the same parameters and results. The same module if
// nothing takes part.
[[nodiscard]] StatusOr<hlo::Module> with_state(const hlo::Module& module, StateThread& thread);

// The module with its debug calls (hlo/calls/debug_calls.h) in order: each depends on the one
// before.
[[nodiscard]] StatusOr<hlo::Module> with_debug_calls_in_order(const hlo::Module& module);

}  // namespace heddle::transform
