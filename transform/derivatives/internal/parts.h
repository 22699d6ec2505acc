// Shared by the derivatives of modules: leaves of tuples, copies of parts of computations, and
// which of a computation's values are linear.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/hlo/value.h"

namespace heddle::transform {

using hlo::Graph;
using hlo::leaf_count;
using hlo::Value;
using hlo::Values;
using hlo::Writer;

// The leaves of a type: for a tuple those of its elements, else the type itself.
std::vector<Shape> leaves_of(const Shape& shape);
// The first leaf of element `index` of a tuple.
size_t first_leaf(const Shape& tuple, int64_t index);
// The leaves of a value, and a value of the type with these leaves.
Values flattened(Graph& graph, const Value& value);
Value assembled(Graph& graph, const Shape& shape, std::span<const Value> leaves);
Values assembled(Graph& graph, std::span<const Shape> shapes, std::span<const Value> leaves);
std::vector<Shape> operand_shapes(const hlo::Computation& computation,
                                  const hlo::Instruction& instruction);

inline void append(Values& to, const Values& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The type of one step's part of a scan's input.
Shape slice_of(const Value& input, int64_t dimension);

// An instruction with new operands and callees. What refers to other instructions is left out.
Value copied(Graph& graph, const hlo::Instruction& instruction, const Values& operands,
             std::vector<hlo::ComputationId> called);

// Computations of one module, and their places in the new module.
class Source {
 public:
  // Of another module.
  Source(Writer& into, const hlo::Module& from)
      : into_(into), from_(&from), map_(from.computations.size()) {}
  // Of the new module itself.
  explicit Source(Writer& into) : into_(into) {}

  // A copy, since the table may grow while it is read.
  [[nodiscard]] hlo::Computation at(hlo::ComputationId id) const {
    return from_ ? from_->at(id) : into_.module().at(id);
  }
  // The computation in the new module.
  hlo::ComputationId called(hlo::ComputationId id);
  std::vector<hlo::ComputationId> called(const std::vector<hlo::ComputationId>& ids);

  Writer& into() { return into_; }

 private:
  Writer& into_;
  const hlo::Module* from_ = nullptr;
  std::vector<hlo::ComputationId> map_;
};

// Copies the instructions that some values of a computation need, from given values.
class PartCopy {
 public:
  // `from` is a computation of the new module.
  PartCopy(Graph& to, const hlo::Computation& from)
      : to_(to), from_(from), values_(from.instructions.size()) {}

  void give(hlo::InstructionId id, const Value& value) { values_[id.value] = value; }
  // The values; copies those that are not given.
  Values want(std::span<const hlo::InstructionId> ids);
  // The same with the instructions that have an effect (transform/effects.h), if they need no
  // parameter that was not given. It is for the one part of a computation that runs for its
  // effects.
  Values want_with_effects(std::span<const hlo::InstructionId> ids);

 private:
  Values copy(std::span<const hlo::InstructionId> ids, std::vector<bool> needed);

  Graph& to_;
  const hlo::Computation& from_;
  Values values_;
};

// The computation for a part that computes again what another part computes too: without its debug
// calls (hlo/calls/debug_calls.h), and without custom calls with an effect whose result nothing
// reads.
// errors: Unimplemented at the line of one that is read; `repair` says how it runs once
StatusOr<hlo::ComputationId> computed_again(Writer& writer, hlo::ComputationId id,
                                            std::string_view repair);

// The computation, a part of the new module, with equal values once: a rule may write a value that
// is there already.
hlo::Computation merged(const Writer& writer, hlo::ComputationId id);

// A constant in place of an instruction that is not to run.
hlo::Instruction zeros_for(const hlo::Instruction& instruction);

// A computation of jvp, cut into the part that depends on tangents and the part that does not.
struct Split {
  std::vector<bool> is_linear;                // by instruction: depends on a parameter of `linear`
  std::vector<hlo::InstructionId> residuals;  // what linear instructions read of the others;
                                              // constants and what is cheap to make again left
                                              // out; in the order in which they are computed, so
                                              // that alike ones stay in the order of what they are
                                              // computed from
};
Split split(const hlo::Computation& computation, const std::vector<bool>& linear_parameters,
            std::span<const hlo::InstructionId> linear_results);

// The error with the instruction's line.
Status at_line(const Status& status, const hlo::Instruction& instruction);

// Errors for a custom-call without a derivative, and for one with a wrong backend_config, at its
// line.
Status no_derivative_of_call(const hlo::Instruction& call, std::string_view why);
Status malformed_call(const hlo::Instruction& call);

// An input of a scan for loops that have none, with the scanned dimension.
Value counter_input(Graph& graph, int64_t dimension, int64_t length);

}  // namespace heddle::transform
