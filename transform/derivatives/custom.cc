// Derivatives by the author of a function: custom_jvp and custom_vjp.
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/backward.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

using hlo::Instruction;

class CustomRule : RuleOfCall {
 public:
  explicit CustomRule(const RuleOfCall& rule) : RuleOfCall(rule) {}

  StatusOr<Duals> run() {
    if (hlo::is_custom(call, hlo::kLinearSolve) || hlo::is_custom(call, hlo::kRoot))
      return jvp_of_implicit(*this);
    const bool is_elementwise = hlo::is_custom(call, hlo::kElementwiseCall);
    const bool has_tangent = hlo::is_custom(call, hlo::kWithTangent);
    const bool is_jvp = has_tangent || hlo::is_custom(call, hlo::kCustomJvp);
    const size_t functions = is_elementwise ? 1 : is_jvp ? 2 : 3;
    const auto found = hlo::operand_counts(call, 1 + functions);
    if (!found || call.called.size() != functions || operands.size() != call.operands.size())
      return malformed_call(call);
    counts = *found;
    if (const Status why = unusable(is_jvp || is_elementwise); !why.ok())
      return poisoned(forward.plain(graph, call, shapes, operands), why);
    if (has_tangent) return with_tangent();
    return is_elementwise ? elementwise() : is_jvp ? jvp() : vjp();
  }

 private:
  // Why there are no tangents.
  Status unusable(bool has_forward_mode) const {
    if (Status why = reason_in(operands); !why.ok()) return why;
    for (size_t i = counts[0]; i < operands.size(); ++i) {
      if (operands[i].dx)
        return no_derivative_of_call(
            call,
            "a function of it captures a tensor that has tangents, of which its "
            "derivative says nothing; pass it as an argument");
    }
    if (has_forward_mode || forward.mode_ == Mode::kApart) return {};
    return no_derivative_of_call(call,
                                 "a custom_vjp has reverse mode only; write a custom_jvp for both");
  }

  // The arguments without tangents, and then `more`, and then the captures of function `number`.
  [[nodiscard]] Duals points(const Values& more, size_t number) const {
    Duals out;
    for (size_t i = 0; i < counts[0]; ++i) out.push_back({operands[i].x});
    for (const Value& each : more) out.push_back({each});
    for (const Value& each : captures(number)) out.push_back({each});
    return out;
  }
  [[nodiscard]] Values captures(size_t number) const {
    Values out;
    for (const Dual& each : captures_of(operands, counts, number)) out.push_back(each.x);
    return out;
  }

  StatusOr<Duals> jvp() {
    Values tangents;
    for (size_t i = 0; i < counts[0]; ++i) tangents.push_back(or_zeros(graph, operands[i]));
    const size_t results = leaf_count(call.shape);
    const hlo::Computation rule = forward.source_.at(call.called[1]);
    const Duals given = points(tangents, 1);
    if (!hlo::takes(rule, types_of(given), 2 * results)) return malformed_call(call);
    std::vector<bool> is_tangent(given.size());
    std::fill_n(is_tangent.begin() + static_cast<std::ptrdiff_t>(counts[0]), counts[0], true);
    HEDDLE_ASSIGN_OR_RETURN(const Values made, forward.run_linear(graph, rule, given, is_tangent));
    Duals out;
    for (size_t i = 0; i < results; ++i) {
      out.push_back({made[i]});
      if (hlo::has_tangent(made[i].shape())) out.back().dx = made[results + i];
    }
    return out;
  }

  StatusOr<Duals> with_tangent() {
    Duals out = forward.plain(graph, call, shapes, operands);
    Values more;
    for (const Dual& each : out) more.push_back(each.x);
    for (const Dual& each : operands) more.push_back(or_zeros(graph, each));
    const hlo::Computation rule = forward.source_.at(call.called[1]);
    const Duals given = points(more, 1);
    if (!hlo::takes(rule, types_of(given), out.size())) return malformed_call(call);
    std::vector<bool> is_tangent(given.size());
    std::fill(is_tangent.end() - static_cast<std::ptrdiff_t>(operands.size()), is_tangent.end(),
              true);
    HEDDLE_ASSIGN_OR_RETURN(const Values made, forward.run_linear(graph, rule, given, is_tangent));
    for (size_t i = 0; i < out.size(); ++i) {
      if (hlo::has_tangent(made[i].shape())) out[i].dx = made[i];
    }
    return out;
  }

  StatusOr<Duals> elementwise() {
    Duals out = forward.plain(graph, call, shapes, operands);
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value& dx = operands[i].dx;
      if (dx.is_absent()) continue;
      HEDDLE_ASSIGN_OR_RETURN(const Values partials, partials_by(i));
      for (size_t j = 0; j < out.size(); ++j) {
        if (!same_type(partials[j].shape(), dx.shape())) return malformed_call(call);
        out[j].dx = hlo::add(out[j].dx, partials[j] * dx);
      }
    }
    return out;
  }

  // The partial derivatives by an argument: the tangents along ones, as a call of the same kind.
  StatusOr<Values> partials_by(size_t argument) {
    const hlo::Computation fn = forward.source_.at(call.called[0]);
    if (fn.parameters.size() != operands.size()) return malformed_call(call);
    Graph inside(forward.source_.into(), base::cat(fn.name, ".by", argument));
    Duals given;
    for (size_t i = 0; i < operands.size(); ++i)
      given.push_back({inside.parameter(fn.parameter_shape(i))});
    given[argument].dx = inside.full(given[argument].x.shape(), 1);
    Forward together(forward.source_, Mode::kTogether);
    HEDDLE_ASSIGN_OR_RETURN(const Duals made, together.run(inside, fn, given));
    HEDDLE_RETURN_IF_ERROR(reason_in(made));
    Values tangents;
    for (const Dual& each : made) tangents.push_back(or_zeros(inside, each));
    Instruction partial = call;
    partial.name.clear();
    partial.called = {std::move(inside).finish(tangents)};
    partial.operands.clear();
    for (const Dual& each : operands) partial.operands.push_back(each.x.id());
    return graph.elements(graph.append(std::move(partial)));
  }

  StatusOr<Duals> vjp() {
    const std::vector<Shape> results = leaves_of(call.shape);
    const hlo::Computation with_residuals = forward.source_.at(call.called[1]);
    const Duals point = points({}, 1);
    const size_t kept = leaf_count(with_residuals.result_shape());
    if (kept < results.size() || !hlo::takes(with_residuals, types_of(point), kept))
      return malformed_call(call);
    HEDDLE_ASSIGN_OR_RETURN(const Duals made, forward.run(graph, with_residuals, point));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!same_type(made[i].x.shape(), results[i])) return malformed_call(call);
    }
    Values given;
    for (size_t i = results.size(); i < made.size(); ++i) given.push_back(made[i].x);
    const size_t residuals = given.size();
    for (const Value& each : captures(2)) given.push_back(each);
    size_t tangents = 0;
    for (size_t i = 0; i < counts[0]; ++i) {
      if (!hlo::has_tangent(operands[i].x.shape())) continue;
      given.push_back(or_zeros(graph, operands[i]));
      ++tangents;
    }
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = hlo::kCustomPullback;
    Instruction pullback{.opcode = hlo::Opcode::kCustomCall,
                         .shape = Shape::tuple(results),
                         .attrs = std::move(attrs),
                         .called = {forward.source_.called(call.called[2])}};
    for (const Value& each : given) pullback.operands.push_back(each.id());
    pullback.at = call.at;
    pullback.extras.mutate().backend_config = base::cat(residuals, ",", counts[3], ",", tangents);
    const Values linear = graph.elements(graph.append(std::move(pullback)));
    Duals out;
    for (size_t i = 0; i < results.size(); ++i) {
      out.push_back({made[i].x});
      if (hlo::has_tangent(results[i])) out.back().dx = linear[i];
    }
    return out;
  }
};

StatusOr<Duals> jvp_of_custom(const RuleOfCall& rule) { return CustomRule(rule).run(); }

StatusOr<Values> transpose_of_pullback(Source& source, Graph& graph, const Instruction& call,
                                       const Values& operands, const Values& ct) {
  const auto counts = hlo::operand_counts(call, 3);
  if (!counts || call.called.size() != 1) return malformed_call(call);
  const auto [residuals, captures, tangents] = std::tuple((*counts)[0], (*counts)[1], (*counts)[2]);
  const hlo::Computation backward = source.at(call.called[0]);
  if (backward.parameters.size() != residuals + ct.size() + captures ||
      operands.size() != call.operands.size() || !backward.result_shape().is_tuple())
    return malformed_call(call);
  const std::vector<Shape> results = leaves_of(call.shape);
  for (size_t i = 0; i < backward.parameters.size(); ++i) {
    const bool is_ct = i >= residuals && i < residuals + ct.size();
    const size_t operand = i < residuals ? i : i - ct.size();
    if (!is_ct && operands[operand].is_absent()) return malformed_call(call);
    if (!same_type(backward.parameter_shape(i),
                   is_ct ? results[i - residuals] : operands[operand].shape()))
      return malformed_call(call);
  }
  PartCopy copy(graph, backward);
  const auto give = [&](size_t parameter, const Value& value) {
    copy.give(backward.parameters[parameter],
              value ? value : graph.zeros(backward.parameter_shape(parameter)));
  };
  for (size_t i = 0; i < residuals; ++i) give(i, operands[i]);
  for (size_t i = 0; i < ct.size(); ++i) give(residuals + i, ct[i]);
  for (size_t i = 0; i < captures; ++i) give(residuals + ct.size() + i, operands[residuals + i]);
  Values out(residuals + captures);
  for (const Value& each : copy.want_with_effects(returned_values(backward))) {
    if (hlo::has_tangent(each.shape())) out.push_back(each);
  }
  if (out.size() != residuals + captures + tangents) return malformed_call(call);
  return out;
}

}  // namespace heddle::transform
