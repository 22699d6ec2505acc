// What the derivatives of modules share: leaves of tuples, copies of parts of computations, and
// which of a computation's values are linear.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/hlo/value.h"

namespace heddle::transform {

using hlo::Graph;
using hlo::Value;
using hlo::Values;
using hlo::Writer;

// The leaves of a type: of a tuple those of its elements, else the type itself.
size_t leaf_count(const Shape& shape);
std::vector<Shape> leaves_of(const Shape& shape);
// Those of element `index` of a tuple begin here.
size_t first_leaf(const Shape& tuple, int64_t index);
// The leaves of a value, and a value of the type with these leaves.
Values flattened(Graph& graph, const Value& value);
Value assembled(Graph& graph, const Shape& shape, std::span<const Value> leaves);

// The type of one step's part of a scan's input.
Shape slice_of(const Value& input, int64_t dimension);

// An instruction with new operands and callees. What refers to other instructions is left out.
Value copied(Graph& graph, const hlo::Instruction& instruction, const Values& operands,
             std::vector<hlo::ComputationId> called);

// Computations of one module, and where they are in the module that is written.
class Source {
 public:
  // Of another module.
  Source(Writer& into, const hlo::Module& from)
      : into_(into), from_(&from), map_(from.computations.size()) {}
  // Of the module that is written itself.
  explicit Source(Writer& into) : into_(into) {}

  // A copy where the table may grow while it is read.
  [[nodiscard]] hlo::Computation at(hlo::ComputationId id) const {
    return from_ ? from_->at(id) : into_.module().at(id);
  }
  // The computation as it is in the module that is written.
  hlo::ComputationId called(hlo::ComputationId id);
  std::vector<hlo::ComputationId> called(const std::vector<hlo::ComputationId>& ids);

  Writer& into() { return into_; }

 private:
  Writer& into_;
  const hlo::Module* from_ = nullptr;
  std::vector<hlo::ComputationId> map_;
};

// Copies what some values of a computation need, from values that are given.
class PartCopy {
 public:
  // `from` is a computation of the module that is written.
  PartCopy(Graph& to, const hlo::Computation& from)
      : to_(to), from_(from), values_(from.instructions.size()) {}

  void give(hlo::InstructionId id, const Value& value) { values_[id.value] = value; }
  // The values, copied where they are not given.
  Values want(std::span<const hlo::InstructionId> ids);
  // And what has an effect (transform/effects.h), where that needs none of the parameters that were
  // not given: of the parts that a computation is cut into, the one that is run for its effects.
  Values want_with_effects(std::span<const hlo::InstructionId> ids);

 private:
  Values copy(std::span<const hlo::InstructionId> ids, std::vector<bool> needed);

  Graph& to_;
  const hlo::Computation& from_;
  Values values_;
};

// The computation, for a part that computes again what another part computes too: itself, but
// without its debug calls (hlo/debug_calls.h), and without custom calls with an effect of which
// nothing reads the result.
// errors: Unimplemented at the line of one that is read; `repair` says how it runs once
StatusOr<hlo::ComputationId> computed_again(Writer& writer, hlo::ComputationId id,
                                            std::string_view repair);

// The computation, a part of the module that is written, with equal values once: what a rule writes
// may be there already, and is kept once then.
hlo::Computation merged(const Writer& writer, hlo::ComputationId id);

// A computation made by jvp, cut into what depends on tangents and what does not.
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

// Where an instruction stands, behind an error.
Status at_line(const Status& status, const hlo::Instruction& instruction);

// A custom-call without a derivative, and one whose backend_config is wrong, at their lines.
Status no_derivative_of_call(const hlo::Instruction& call, std::string_view why);
Status malformed_call(const hlo::Instruction& call);

// A value of a scan's scanned dimension for loops that have no input.
Value counter_input(Graph& graph, int64_t dimension, int64_t length);

}  // namespace heddle::transform
