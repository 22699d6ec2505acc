// The backward pass: cotangents of the parameters that a computation is linear in.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class Backward {
 public:
  // The results of a computation, by leaves.
  struct Result {
    Values known;  // results that do not depend on absent parameters; absent: those that do
    Values ct;     // cotangents of the absent parameters; absent: zero
  };

  // Whether the transposed computation is from jvp, or a user's function. In a user's function it
  // is an error if a term does not depend on the linear parameters.
  enum class Given : uint8_t { kLinear, kPerhapsAffine };

  // Computations are those of the new module.
  explicit Backward(Writer& writer, Given given = Given::kLinear)
      : source_(writer), given_(given) {}

  // parameters: their leaves; absent: the computation is linear in them.
  // ct: cotangents of the results' leaves; absent: zero. Those of known results are not read.
  // totals: what the absent parameters' cotangents begin with; absent, or fewer: zero
  // errors: Unimplemented for an op without a transpose
  StatusOr<Result> run(Graph& graph, const hlo::Computation& computation, const Values& parameters,
                       const Values& ct, const Values& totals = {});

 private:
  friend class ScanTranspose;
  friend class BranchesTranspose;

  // Cotangents of the operands' leaves. totals: what loops, branches and calls may add to, for each
  // leaf; they take out those that are in what they return.
  StatusOr<Values> transposed(Graph& graph, const hlo::Computation& computation,
                              const hlo::Instruction& instruction, const Values& operands,
                              const Values& ct, Values& totals);

  // Of a call of tangents: this computes the values that it reads.
  StatusOr<Values> of_call(Graph& graph, const hlo::Instruction& call, const Values& operands,
                           const Values& ct, Values& totals);

  // errors: InvalidArgument if a known value takes part that may not be 0
  Status check_no_constant(const hlo::Instruction& instruction, const Values& operands) const;
  [[nodiscard]] bool is_constant_term(const Value& value) const;

  Source source_;
  Given given_;
};

// At the begin or end of a shard_map: cotangents of the operand.
StatusOr<Values> transpose_of_shard_edge(Graph& graph, const hlo::Computation& caller,
                                         const hlo::Instruction& edge, const Value& ct);

// Rules of regions: cotangents of the operands' leaves; totals as in Backward::transposed.
StatusOr<Values> transpose_of_scan(Backward& backward, Graph& graph, const hlo::Computation& caller,
                                   const hlo::Instruction& scan, const Values& operands,
                                   const Values& ct, Values& totals);
StatusOr<Values> transpose_of_conditional(Backward& backward, Graph& graph,
                                          const hlo::Computation& caller,
                                          const hlo::Instruction& conditional,
                                          const Values& operands, const Values& ct, Values& totals);

// Of the linear part of a custom_vjp.
StatusOr<Values> transpose_of_pullback(Source& source, Graph& graph, const hlo::Instruction& call,
                                       const Values& operands, const Values& ct);

// Of a custom_linear_solve, which is linear in its right side.
StatusOr<Values> transpose_of_linear_solve(Source& source, Graph& graph,
                                           const hlo::Instruction& call, const Values& operands,
                                           const Values& ct);

}  // namespace heddle::transform
