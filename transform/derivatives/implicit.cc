// Derivatives of solutions of equations: custom_linear_solve and custom_root. They read the
// equation, not the steps that solve it.
//
//   A x = b         A dx = db - dA x, and backwards A^T b' = x'
//   f(x, a) = 0     (df/dx) dx = -(df/da) da
#include <algorithm>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/backward.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

bool fits(const Computation& computation, const Duals& parameters, size_t results) {
  return hlo::takes(computation, types_of(parameters), results);
}

bool any_tangent(const Duals& duals) {
  return std::ranges::any_of(duals, [](const Dual& dual) { return bool(dual.dx); });
}

}  // namespace

class ImplicitRule : RuleOfCall {
 public:
  explicit ImplicitRule(const RuleOfCall& rule) : RuleOfCall(rule) {}

  StatusOr<Duals> run() {
    const bool is_root = hlo::is_custom(call, hlo::kRoot);
    const auto found = hlo::operand_counts(call, 1 + call.called.size());
    if (!found || operands.size() != call.operands.size() ||
        call.called.size() < (is_root ? 3U : 2U) || leaf_count(call.shape) != (*found)[0])
      return malformed_call(call);
    counts = *found;
    Duals x = forward.plain(graph, call, shapes, operands);
    if (const Status why = reason_in(operands); !why.ok()) return poisoned(std::move(x), why);
    HEDDLE_ASSIGN_OR_RETURN(const Duals equation, equation_at(x));
    if (const Status why = reason_in(equation); !why.ok()) return poisoned(std::move(x), why);
    HEDDLE_ASSIGN_OR_RETURN(Values dx, is_root ? root(x, equation) : linear_solve(equation));
    for (size_t i = 0; i < dx.size(); ++i) {
      if (hlo::has_tangent(x[i].x.shape())) x[i].dx = dx[i];
    }
    return x;
  }

 private:
  // A x or f(x), with the tangents of the captures of A and f.
  StatusOr<Duals> equation_at(const Duals& x) {
    Duals parameters = x;
    for (const Dual& each : captures_of(operands, counts, 1)) parameters.push_back(each);
    const Computation function = forward.source_.at(call.called[1]);
    if (!fits(function, parameters, x.size())) return malformed_call(call);
    return forward.run(graph, function, parameters);
  }

  StatusOr<Values> linear_solve(const Duals& product) {
    const auto begin = operands.begin();
    const Duals b(begin, begin + static_cast<std::ptrdiff_t>(counts[0]));
    if (!any_tangent(b) && !any_tangent(product)) return Values();
    Values given;
    for (size_t i = 0; i < b.size(); ++i) {
      const Value right = product[i].dx ? or_zeros(graph, b[i]) - product[i].dx : Value();
      given.push_back(right ? right : or_zeros(graph, b[i]));
    }
    for (size_t i = b.size(); i < operands.size(); ++i) given.push_back(operands[i].x);
    return flattened(graph, copied(graph, call, given, forward.source_.called(call.called)));
  }

  StatusOr<Values> root(const Duals& x, const Duals& residual) {
    if (!any_tangent(residual)) return Values();
    Duals parameters;
    for (const Dual& each : x) parameters.push_back({each.x});
    for (const Dual& each : residual) parameters.push_back({or_zeros(graph, each)});
    for (const Dual& each : captures_of(operands, counts, 2)) parameters.push_back({each.x});
    const Computation solve = forward.source_.at(call.called[2]);
    if (!fits(solve, parameters, x.size())) return malformed_call(call);
    std::vector<bool> is_tangent(parameters.size());
    std::fill_n(is_tangent.begin() + static_cast<std::ptrdiff_t>(x.size()), residual.size(), true);
    HEDDLE_ASSIGN_OR_RETURN(const Values solved,
                            forward.run_linear(graph, solve, parameters, is_tangent));
    Values out;
    for (const Value& each : solved) out.push_back(-each);
    return out;
  }
};

StatusOr<Duals> jvp_of_implicit(const RuleOfCall& rule) { return ImplicitRule(rule).run(); }

// The same call with the transposes of solve and matvec first, and those behind.
StatusOr<Values> transpose_of_linear_solve(Source& source, Graph& graph, const Instruction& call,
                                           const Values& operands, const Values& ct) {
  const auto counts = hlo::operand_counts(call, 1 + call.called.size());
  if (!counts || leaf_count(call.shape) != (*counts)[0]) return malformed_call(call);
  if (call.called.size() != 4)
    return at_line(base::unimplemented("custom_linear_solve: has no reverse derivative: give it a "
                                       "transpose_solve, or .symmetric = true"),
                   call);
  const size_t n = (*counts)[0], first_two = (*counts)[1] + (*counts)[2];
  for (size_t i = n; i < operands.size(); ++i) {
    if (operands[i].is_absent()) return base::internal_error("a solve is linear in its matrix");
  }
  Instruction turned = call;
  turned.called = {call.called[2], call.called[3], call.called[0], call.called[1]};
  turned.extras.mutate().backend_config =
      base::cat(n, ",", (*counts)[3], ",", (*counts)[4], ",", (*counts)[1], ",", (*counts)[2]);
  const std::vector<Shape> shapes = leaves_of(call.shape);
  Values given;
  for (size_t i = 0; i < n; ++i) given.push_back(ct[i] ? ct[i] : graph.zeros(shapes[i]));
  given.insert(given.end(), operands.begin() + static_cast<std::ptrdiff_t>(n + first_two),
               operands.end());
  given.insert(given.end(), operands.begin() + static_cast<std::ptrdiff_t>(n),
               operands.begin() + static_cast<std::ptrdiff_t>(n + first_two));
  Values out = flattened(graph, copied(graph, turned, given, source.called(turned.called)));
  out.resize(operands.size());
  return out;
}

}  // namespace heddle::transform
