// The forward pass: a computation's values with their tangents beside them.
#pragma once

#include <span>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

// A value and its tangent, which is absent if it is zero. If an op on the way has no derivative,
// `why` says so. That is an error only if the tangent is needed.
struct Dual {
  Value x;
  Value dx = {};
  Status why = {};

  [[nodiscard]] bool has_tangent() const { return dx || !why.ok(); }
};
using Duals = std::vector<Dual>;

// The operands that function `number` of a custom-call captures: counts are its arguments and the
// captures of each function (hlo/calls/custom_derivative.h).
inline std::span<const Dual> captures_of(const Duals& operands, std::span<const size_t> counts,
                                         size_t number) {
  size_t first = counts[0];
  for (size_t i = 0; i < number; ++i) first += counts[1 + i];
  return std::span(operands).subspan(first, counts[1 + number]);
}

// How to write loops and branches: with values and tangents together, or apart, so that the linear
// part can be transposed.
enum class Mode { kTogether, kApart };

class Forward {
 public:
  Forward(Source& source, Mode mode) : source_(source), mode_(mode) {}
  // At the same place, of another source.
  Forward(Source& source, const Forward& like)
      : source_(source), mode_(like.mode_), same_in_(like.same_in_), same_(like.same_) {}

  // Writes a computation of the source into the graph, in place of a call of it. Leaf by leaf.
  // errors: for loops and branches that cannot be written; ops without derivatives are in `why`
  StatusOr<Duals> run(Graph& graph, const hlo::Computation& computation, const Duals& parameters);

  // The same for a computation that is linear in the parameters that `is_tangent` marks; none has a
  // tangent of its own. In mode kApart its loops and branches are written apart too, so that what
  // depends on the marked ones can be transposed.
  StatusOr<Values> run_linear(Graph& graph, const hlo::Computation& computation,
                              const Duals& parameters, const std::vector<bool>& is_tangent);

 private:
  friend class ScanJvp;
  friend class BranchesJvp;
  friend class WhileJvp;
  friend class CustomRule;
  friend class ImplicitRule;
  friend class ReduceJvp;

  // The results of an instruction, without tangents.
  Duals plain(Graph& graph, const hlo::Instruction& instruction, const std::vector<Shape>& shapes,
              const Duals& operands);
  StatusOr<Duals> derived(Graph& graph, const hlo::Computation& computation,
                          const hlo::Instruction& instruction, const Duals& operands);
  // A call whose inside the way back computes again: nothing in it is kept.
  StatusOr<Duals> checkpointed(Graph& graph, const hlo::Instruction& call,
                               const std::vector<Shape>& shapes, const Duals& operands);
  StatusOr<Duals> cut(Graph& graph, const hlo::Instruction& call, const std::vector<Shape>& shapes,
                      const Duals& operands, const Duals& results, const hlo::Computation& both);
  // kWithEffects: it runs instructions with effects. kAgain: it computes again, and runs none of
  // them.
  enum class PartKind : uint8_t { kWithEffects, kAgain };
  StatusOr<hlo::ComputationId> part_of(const hlo::Computation& computation,
                                       std::span<const hlo::InstructionId> given,
                                       std::span<const hlo::InstructionId> wanted, PartKind kind);
  StatusOr<Duals> by_rule(Graph& graph, const hlo::Instruction& instruction,
                          const std::vector<Shape>& shapes, const Duals& operands);

  // run() of the inside of a loop or branch, of which these parameters are the same in all steps of
  // the scan around it.
  StatusOr<Duals> run_inside(Graph& graph, const hlo::Computation& computation,
                             const Duals& parameters, std::vector<hlo::InstructionId> same);

  Source& source_;
  Mode mode_;
  // Of the graph in hand, if it is the inside of a scan: the parameters that are the same in all
  // steps.
  const Graph* same_in_ = nullptr;
  std::vector<hlo::InstructionId> same_;
};

// Rules of regions. Operands are leaves, those of all operands one after another.
StatusOr<Duals> jvp_of_scan(Forward& forward, Graph& graph, const hlo::Computation& caller,
                            const hlo::Instruction& scan, const Duals& operands);
StatusOr<Duals> jvp_of_while(Forward& forward, Graph& graph, const hlo::Instruction& loop,
                             const Duals& operands);
StatusOr<Duals> jvp_of_conditional(Forward& forward, Graph& graph, const hlo::Computation& caller,
                                   const hlo::Instruction& conditional, const Duals& operands);

// What rules of calls with derivatives of their own work on.
struct RuleOfCall {
  Forward& forward;
  Graph& graph;
  const hlo::Instruction& call;
  const std::vector<Shape>& shapes;
  const Duals& operands;
  std::vector<size_t> counts = {};  // of arguments, and of the captures of each function
};

// Of a function with a custom_jvp or custom_vjp.
StatusOr<Duals> jvp_of_custom(const RuleOfCall& rule);

// Of a reduction by any associative function. errors: those of the function's derivative
StatusOr<Duals> jvp_of_reduce(Forward& forward, Graph& graph, const hlo::Instruction& reduce,
                              const Duals& operands);
StatusOr<Duals> jvp_of_reduce_window(Forward& forward, Graph& graph, const hlo::Instruction& reduce,
                                     const Duals& operands);

// The values too, written as ops of whole arrays.
StatusOr<Duals> jvp_of_map(Forward& forward, Graph& graph, const hlo::Instruction& map,
                           const Duals& operands);

// Of a custom_linear_solve or a custom_root.
StatusOr<Duals> jvp_of_implicit(const RuleOfCall& rule);

// Which of the first `size` values of a computation follow from these parameters and constants.
std::vector<bool> same_values(const Writer& writer, size_t size,
                              base::FunctionRef<const hlo::Instruction&(hlo::InstructionId)> at,
                              std::span<const hlo::InstructionId> parameters);

std::vector<Shape> types_of(std::span<const Dual> duals);
// The tangent, zeros if it is absent.
Value or_zeros(Graph& graph, const Dual& dual);
std::vector<bool> tangents_in(std::span<const Dual> duals);
// Adds the carries that get a tangent in a step. Returns whether there were any.
bool widen(std::vector<bool>& carries, std::span<const Dual> after);

// Makes all tangents errors, with the first reason among the operands.
Duals poisoned(Duals values, const Status& why);
// The first reason among duals; OK if there is none.
Status reason_in(const Duals& duals);

}  // namespace heddle::transform
