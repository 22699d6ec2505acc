#include "heddle/grad/implicit.h"

#include "heddle/grad/internal/traced.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/derivatives.h"

namespace heddle::grad_internal {
namespace {

// Traces a function of the equation. Its results must be like `leaves`.
Trace traced_like(const FlatFunction& fn, std::string_view name, const FlatBody& run,
                  const std::vector<Shape>& given, const std::vector<Tensor>& leaves,
                  const TreeSpec& spec) {
  Trace trace = traced({fn.what, "", run}, given, {});
  require_alike(base::cat("what ", name, " gives"), trace.results, types_of(leaves),
                leaf_paths(spec));
  return trace;
}

}  // namespace

Derived linear_solve(const FlatFunction& matvec, const FlatBody& solve,
                     const FlatSolve* transpose_solve, bool symmetric, const Point& b) {
  for (size_t i = 0; i < b.leaves.size(); ++i) {
    if (!has_tangent(b.leaves[i]))
      trace_internal::refuse("b", leaf_paths(b.specs[0])[i], " is ", b.leaves[i].shape(),
                             "; it must be floats, cast it");
  }
  const std::vector<Shape> types = types_of(b.leaves);
  const auto like_b = [&](std::string_view name, const FlatBody& run) {
    return traced_like(matvec, name, run, types, b.leaves, b.specs[0]);
  };
  const Trace product = like_b("matvec", matvec.run), solved = like_b("solve", solve);
  std::vector<bool> linear(types.size() + product.captures.size());
  std::fill_n(linear.begin(), types.size(), true);
  const auto refuse = [&](const Status& status) {
    throw_in_own_lines(matvec, types, {}, status, [&](const Fragment& own) {
      return transform::transpose(*own, linear).status();
    });
  };
  const StatusOr<Fragment> turned = transpose_of(product.module, linear);
  if (turned.status().code() == StatusCode::kInvalidArgument) refuse(turned.status());
  if (symmetric)
    return custom_call(matvec, hlo::kLinearSolve, b, {&solved, &product, &solved, &product});
  if (transpose_solve == nullptr)
    return custom_call(matvec, hlo::kLinearSolve, b, {&solved, &product});
  if (!turned.ok()) refuse(turned.status());
  const auto transposed_product = [&](std::span<const Tensor> leaves) {
    std::vector<Tensor> operands = product.captures;
    operands.insert(operands.end(), leaves.begin(), leaves.end());
    return call(matvec.what, *turned, std::move(operands));
  };
  const auto vecmat = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    out = b.specs;
    return transposed_product(leaves);
  };
  const auto back = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    return (*transpose_solve)(transposed_product, leaves, out);
  };
  const Trace turned_product = like_b("matvec's transpose", vecmat);
  const Trace turned_solved = like_b("transpose_solve", back);
  return custom_call(matvec, hlo::kLinearSolve, b,
                     {&solved, &product, &turned_solved, &turned_product});
}

Derived root(const FlatFunction& f, const FlatBody& solve, const FlatBody& tangent_solve,
             const Point& guess) {
  const std::vector<Shape> types = types_of(guess.leaves);
  const auto like_guess = [&](std::string_view name, const FlatBody& run,
                              const std::vector<Shape>& given) {
    return traced_like(f, name, run, given, guess.leaves, guess.specs[0]);
  };
  std::vector<Shape> twice = types;
  twice.insert(twice.end(), types.begin(), types.end());
  const Trace residual = like_guess("f", f.run, types);
  const Trace solved = like_guess("solve", solve, types);
  const Trace tangent = like_guess("tangent_solve", tangent_solve, twice);
  return custom_call(f, hlo::kRoot, guess, {&solved, &residual, &tangent});
}

}  // namespace heddle::grad_internal
