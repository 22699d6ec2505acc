// The backward pass: cotangents of what a computation is linear in.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class Backward {
 public:
  // What a computation gives, by leaves.
  struct Result {
    Values known;  // results that do not depend on what is absent; absent: those that do
    Values ct;     // cotangents of the parameters that are absent; absent: zero
  };

  // Whether what is transposed was written by jvp, or is a user's function: of that a term that
  // does not depend on what it is linear in is an error.
  enum class Given : uint8_t { kLinear, kPerhapsAffine };

  // Computations are those of the module that is written.
  explicit Backward(Writer& writer, Given given = Given::kLinear)
      : source_(writer), given_(given) {}

  // parameters: their leaves; absent: those that the computation is linear in.
  // ct: cotangents of the results' leaves; absent: zero. Not read of those that are known.
  // errors: Unimplemented for what has no transpose
  StatusOr<Result> run(Graph& graph, const hlo::Computation& computation, const Values& parameters,
                       const Values& ct);

 private:
  friend class ScanTranspose;
  friend class BranchesTranspose;

  // Cotangents of the operands' leaves.
  StatusOr<Values> transposed(Graph& graph, const hlo::Computation& computation,
                              const hlo::Instruction& instruction, const Values& operands,
                              const Values& ct);

  // Of a call of tangents: what it reads of values is computed here.
  StatusOr<Values> of_call(Graph& graph, const hlo::Instruction& call, const Values& operands,
                           const Values& ct);

  // errors: InvalidArgument where a known value takes part that is not known to be 0
  Status check_no_constant(const hlo::Instruction& instruction, const Values& operands) const;
  [[nodiscard]] bool is_constant_term(const Value& value) const;

  Source source_;
  Given given_;
};

// Where a shard_map begins or ends: cotangents of the operand.
StatusOr<Values> transpose_of_shard_edge(Graph& graph, const hlo::Computation& caller,
                                         const hlo::Instruction& edge, const Value& ct);

// Rules of regions: cotangents of the operands' leaves.
StatusOr<Values> transpose_of_scan(Backward& backward, Graph& graph, const hlo::Computation& caller,
                                   const hlo::Instruction& scan, const Values& operands,
                                   const Values& ct);
StatusOr<Values> transpose_of_conditional(Backward& backward, Graph& graph,
                                          const hlo::Computation& caller,
                                          const hlo::Instruction& conditional,
                                          const Values& operands, const Values& ct);

// Of the linear part of a custom_vjp.
StatusOr<Values> transpose_of_pullback(Source& source, Graph& graph, const hlo::Instruction& call,
                                       const Values& operands, const Values& ct);

// Of a custom_linear_solve, which is linear in its right side.
StatusOr<Values> transpose_of_linear_solve(Source& source, Graph& graph,
                                           const hlo::Instruction& call, const Values& operands,
                                           const Values& ct);

}  // namespace heddle::transform
