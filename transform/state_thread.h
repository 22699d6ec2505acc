// StateThread: a value that goes through a module in the order in which its instructions run:
// through calls, branches and loops, whose computations take it and give it back. So what has to
// keep its order depends on what comes before it, and what is found in a loop comes out of it.
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
  // The state where the program begins.
  [[nodiscard]] virtual hlo::Values start(hlo::Graph& graph) const = 0;
  // Writes an instruction that takes part; `called` are what it calls, as written.
  virtual hlo::Value write(hlo::Graph& graph, const hlo::Instruction& instruction,
                           const hlo::Values& operands, std::vector<hlo::ComputationId> called,
                           hlo::Values& state) = 0;
  // Of a loop: what its first step gets, what a step leaves for the next one, and what is left when
  // it has ended, from the states before and after.
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
  // Whether a while goes on whose condition says so.
  [[nodiscard]] virtual hlo::Value goes_on(hlo::Graph&, const hlo::Value& condition,
                                           const hlo::Values& state) const {
    (void)state;
    return condition;
  }
  // Where the program ends.
  virtual void finish(hlo::Graph&, const hlo::Values& state) { (void)state; }
};

// The module with the state in it; its parameters and results are as they were. As it was, where
// nothing takes part.
[[nodiscard]] StatusOr<hlo::Module> with_state(const hlo::Module& module, StateThread& thread);

// The module with its debug calls (hlo/debug_calls.h) in order: each depends on the one before.
[[nodiscard]] StatusOr<hlo::Module> with_debug_calls_in_order(const hlo::Module& module);

}  // namespace heddle::transform
