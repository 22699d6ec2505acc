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
    if (hlo::is_custom(call_, hlo::kLinearSolve) || hlo::is_custom(call_, hlo::kRoot))
      return jvp_of_implicit(*this);
    const bool is_elementwise = hlo::is_custom(call_, hlo::kElementwiseCall);
    const bool is_jvp = hlo::is_custom(call_, hlo::kCustomJvp);
    const size_t functions = is_elementwise ? 1 : is_jvp ? 2 : 3;
    const auto counts = hlo::operand_counts(call_, 1 + functions);
    if (!counts || call_.called.size() != functions || operands_.size() != call_.operands.size())
      return malformed_call(call_);
    counts_ = *counts;
    if (const Status why = unusable(is_jvp || is_elementwise); !why.ok())
      return poisoned(forward_.plain(graph_, call_, shapes_, operands_), why);
    return is_elementwise ? elementwise() : is_jvp ? jvp() : vjp();
  }

 private:
  // Why there are no tangents.
  Status unusable(bool has_forward_mode) const {
    if (Status why = reason_in(operands_); !why.ok()) return why;
    for (size_t i = counts_[0]; i < operands_.size(); ++i) {
      if (operands_[i].dx)
        return no_derivative_of_call(
            call_,
            "a function of it captures a tensor that has tangents, of which its "
            "derivative says nothing; pass it as an argument");
    }
    if (has_forward_mode || forward_.mode_ == Mode::kApart) return {};
    return no_derivative_of_call(call_,
                                 "a custom_vjp has reverse mode only; write a custom_jvp for both");
  }

  // The arguments without tangents, and then `more`, and then the captures of function `number`.
  [[nodiscard]] Duals points(const Values& more, size_t number) const {
    Duals out;
    for (size_t i = 0; i < counts_[0]; ++i) out.push_back({operands_[i].x});
    for (const Value& each : more) out.push_back({each});
    for (const Value& each : captures(number)) out.push_back({each});
    return out;
  }
  [[nodiscard]] Values captures(size_t number) const {
    Values out;
    for (const Dual& each : captures_of(operands_, counts_, number)) out.push_back(each.x);
    return out;
  }

  StatusOr<Duals> jvp() {
    Values tangents;
    for (size_t i = 0; i < counts_[0]; ++i) tangents.push_back(or_zeros(graph_, operands_[i]));
    const size_t results = leaf_count(call_.shape);
    const hlo::Computation rule = forward_.source_.at(call_.called[1]);
    const Duals given = points(tangents, 1);
    if (!hlo::takes(rule, types_of(given), 2 * results)) return malformed_call(call_);
    std::vector<bool> is_tangent(given.size());
    std::fill_n(is_tangent.begin() + static_cast<std::ptrdiff_t>(counts_[0]), counts_[0], true);
    HEDDLE_ASSIGN_OR_RETURN(const Values made,
                            forward_.run_linear(graph_, rule, given, is_tangent));
    Duals out;
    for (size_t i = 0; i < results; ++i) {
      out.push_back({made[i]});
      if (hlo::has_tangent(made[i].shape())) out.back().dx = made[results + i];
    }
    return out;
  }

  StatusOr<Duals> elementwise() {
    Duals out = forward_.plain(graph_, call_, shapes_, operands_);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Value& dx = operands_[i].dx;
      if (dx.is_absent()) continue;
      HEDDLE_ASSIGN_OR_RETURN(const Values partials, partials_by(i));
      for (size_t j = 0; j < out.size(); ++j) {
        if (!same_type(partials[j].shape(), dx.shape())) return malformed_call(call_);
        out[j].dx = hlo::add(out[j].dx, partials[j] * dx);
      }
    }
    return out;
  }

  // The partial derivatives by an argument: the tangents along ones, as a call of the same kind.
  StatusOr<Values> partials_by(size_t argument) {
    const hlo::Computation fn = forward_.source_.at(call_.called[0]);
    if (fn.parameters.size() != operands_.size()) return malformed_call(call_);
    Graph inside(forward_.source_.into(), base::cat(fn.name, ".by", argument));
    Duals given;
    for (size_t i = 0; i < operands_.size(); ++i)
      given.push_back({inside.parameter(fn.parameter_shape(i))});
    given[argument].dx = inside.full(given[argument].x.shape(), 1);
    Forward together(forward_.source_, Mode::kTogether);
    HEDDLE_ASSIGN_OR_RETURN(const Duals made, together.run(inside, fn, given));
    HEDDLE_RETURN_IF_ERROR(reason_in(made));
    Values tangents;
    for (const Dual& each : made) tangents.push_back(or_zeros(inside, each));
    Instruction call = call_;
    call.name.clear();
    call.called = {std::move(inside).finish(tangents)};
    call.operands.clear();
    for (const Dual& each : operands_) call.operands.push_back(each.x.id());
    return graph_.elements(graph_.append(std::move(call)));
  }

  StatusOr<Duals> vjp() {
    const std::vector<Shape> results = leaves_of(call_.shape);
    const hlo::Computation forward = forward_.source_.at(call_.called[1]);
    const Duals point = points({}, 1);
    const size_t kept = leaf_count(forward.result_shape());
    if (kept < results.size() || !hlo::takes(forward, types_of(point), kept))
      return malformed_call(call_);
    HEDDLE_ASSIGN_OR_RETURN(const Duals made, forward_.run(graph_, forward, point));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!same_type(made[i].x.shape(), results[i])) return malformed_call(call_);
    }
    Values given;
    for (size_t i = results.size(); i < made.size(); ++i) given.push_back(made[i].x);
    const size_t residuals = given.size();
    for (const Value& each : captures(2)) given.push_back(each);
    size_t tangents = 0;
    for (size_t i = 0; i < counts_[0]; ++i) {
      if (!hlo::has_tangent(operands_[i].x.shape())) continue;
      given.push_back(or_zeros(graph_, operands_[i]));
      ++tangents;
    }
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = hlo::kCustomPullback;
    Instruction pullback{.opcode = hlo::Opcode::kCustomCall,
                         .shape = Shape::tuple(results),
                         .attrs = std::move(attrs),
                         .called = {forward_.source_.called(call_.called[2])}};
    for (const Value& each : given) pullback.operands.push_back(each.id());
    pullback.at = call_.at;
    pullback.extras.mutate().backend_config = base::cat(residuals, ",", counts_[3], ",", tangents);
    const Values linear = graph_.elements(graph_.append(std::move(pullback)));
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
