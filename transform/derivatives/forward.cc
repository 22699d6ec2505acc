#include "heddle/transform/derivatives/internal/forward.h"

#include <algorithm>
#include <utility>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/derivatives/internal/dependence.h"
#include "heddle/transform/derivatives/internal/devices.h"
#include "heddle/transform/effects.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/leaves.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

Duals poisoned(Duals values, const Status& why) {
  for (Dual& value : values) {
    if (!hlo::has_tangent(value.x.shape())) continue;
    value.dx = Value();
    value.why = why;
  }
  return values;
}

Status reason_in(const Duals& duals) {
  for (const Dual& dual : duals) {
    if (!dual.why.ok()) return dual.why;
  }
  return {};
}

namespace {

bool has_tangents(const Duals& duals) {
  for (const Dual& dual : duals) {
    if (dual.has_tangent()) return true;
  }
  return false;
}

Status without_derivative(const Instruction& instruction, std::string_view why) {
  if (instruction.opcode == Opcode::kCustomCall) return no_derivative_of_call(instruction, why);
  return at_line(base::unimplemented(to_string(instruction.opcode), ": has no derivative: ", why),
                 instruction);
}

// Whether a list of names, a,b,c, has this name.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

bool saves_name(std::string_view policy, std::string_view name) {
  if (name.empty()) return false;
  if (policy.starts_with(kSaveNames)) return lists(policy.substr(kSaveNames.size()), name);
  return policy.starts_with(kSaveNamesBut) && !lists(policy.substr(kSaveNamesBut.size()), name);
}

// Which values a checkpoint with this policy keeps, by instruction. For a name it is the named
// value, not the copy that names it: tangents may read either.
std::vector<bool> saved_by(std::string_view policy, const Computation& computation) {
  std::vector<bool> out(computation.instructions.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    const Opcode opcode = instruction.opcode;
    if (policy == kSaveDots) {
      out[i] = opcode == Opcode::kDot || opcode == Opcode::kConvolution;
    } else if (policy == kSaveDotsWithoutBatch) {
      out[i] =
          opcode == Opcode::kDot && instruction.attrs.get<hlo::DotAttrs>().lhs_batch_dims.empty();
    } else if (opcode == Opcode::kCopy &&
               saves_name(policy, hlo::frontend_attribute(instruction, kNameAttribute))) {
      out[instruction.operands[0].value] = true;
    }
  }
  return out;
}

// The saved values that tangents need: none that only other saved values depend on.
std::vector<InstructionId> saved_for(const Computation& computation, std::string_view policy,
                                     const std::vector<bool>& is_linear,
                                     std::span<const InstructionId> tangents) {
  const std::vector<bool> is_saved = saved_by(policy, computation);
  std::vector<bool> needed(computation.instructions.size());
  for (InstructionId id : tangents) needed[id.value] = true;
  std::vector<InstructionId> saved;
  for (size_t i = needed.size(); i-- > 0;) {
    const Instruction& instruction = computation.instructions[i];
    if (!needed[i] || instruction.opcode == Opcode::kParameter) continue;
    if (is_saved[i] && !is_linear[i] && instruction.shape.is_array()) {
      saved.emplace_back(i);
      continue;
    }
    for (InstructionId id : instruction.operands) needed[id.value] = true;
  }
  std::ranges::reverse(saved);
  return saved;
}

}  // namespace

Duals Forward::plain(Graph& graph, const Instruction& instruction, const std::vector<Shape>& shapes,
                     const Duals& operands) {
  Values leaves;
  for (const Dual& operand : operands) leaves.push_back(operand.x);
  const Value y = copied(graph, instruction, assembled(graph, shapes, leaves),
                         source_.called(instruction.called));
  Duals out;
  for (const Value& leaf : flattened(graph, y)) out.push_back({leaf});
  return out;
}

StatusOr<Duals> Forward::by_rule(Graph& graph, const Instruction& instruction,
                                 const std::vector<Shape>& shapes, const Duals& operands) {
  Duals out = plain(graph, instruction, shapes, operands);
  if (const Status why = reason_in(operands); !why.ok()) return poisoned(std::move(out), why);
  const hlo::Derivative derivative = hlo::derivative_of(instruction);
  if (!derivative.jvp)
    return poisoned(std::move(out), without_derivative(instruction, derivative.jvp.reason()));
  if (std::ranges::any_of(shapes, &Shape::is_tuple))
    return poisoned(std::move(out), without_derivative(instruction, "it takes a tuple"));
  Values x, dx, y;
  for (const Dual& operand : operands) {
    x.push_back(operand.x);
    dx.push_back(operand.dx);
  }
  for (const Dual& result : out) y.push_back(result.x);
  Instruction of = instruction;
  of.called = source_.called(instruction.called);
  std::vector<std::string_view> why_none(y.size());
  auto dy = derivative.jvp.rule()({graph, of, x, dx, y, why_none});
  if (!dy.ok()) {
    return poisoned(std::move(out), without_derivative(instruction, base::message_of(dy.status())));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!why_none[i].empty())
      out[i].why = without_derivative(instruction, why_none[i]);
    else if (hlo::has_tangent(out[i].x.shape()))
      out[i].dx = (*dy)[i];
  }
  return out;
}

StatusOr<Duals> Forward::checkpointed(Graph& graph, const Instruction& call,
                                      const std::vector<Shape>& shapes, const Duals& operands) {
  if (const Status why = reason_in(operands); !why.ok())
    return poisoned(plain(graph, call, shapes, operands), why);
  const Computation computation = source_.at(call.called[0]);
  Graph inside(source_.into(), computation.name + ".tangent");
  Duals parameters;
  for (const Dual& each : operands) parameters.push_back({inside.parameter(each.x.shape())});
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].dx) parameters[i].dx = inside.parameter(operands[i].x.shape());
  }
  HEDDLE_ASSIGN_OR_RETURN(const Duals results, run(inside, computation, parameters));
  if (const Status why = reason_in(results); !why.ok())
    return poisoned(plain(graph, call, shapes, operands), why);
  Values all;
  for (const Dual& each : results) all.push_back(each.x);
  for (const Dual& each : results) {
    if (each.dx) all.push_back(each.dx);
  }
  const Computation both = merged(source_.into(), std::move(inside).finish(all));
  return cut(graph, call, shapes, operands, results, both);
}

// The values and the tangents of a checkpoint as two calls, from one computation of both.
StatusOr<Duals> Forward::cut(Graph& graph, const Instruction& call,
                             const std::vector<Shape>& shapes, const Duals& operands,
                             const Duals& results, const Computation& both) {
  const std::vector<InstructionId> returned = returned_values(both);
  const auto middle = returned.begin() + static_cast<std::ptrdiff_t>(results.size());
  const std::vector<InstructionId> values(returned.begin(), middle),
      tangents(middle, returned.end());
  std::vector<bool> linear(both.parameters.size(), true);
  std::fill_n(linear.begin(), operands.size(), false);
  const std::vector<InstructionId> saved =
      saved_for(both, hlo::frontend_attribute(call, kCheckpointAttribute),
                split(both, linear, tangents).is_linear, tangents);

  Values x, dx;
  for (const Dual& each : operands) {
    x.push_back(each.x);
    if (each.dx) dx.push_back(each.dx);
  }
  Duals out;
  if (saved.empty()) {
    out = plain(graph, call, shapes, operands);
  } else {
    std::vector<InstructionId> wanted = values;
    wanted.insert(wanted.end(), saved.begin(), saved.end());
    HEDDLE_ASSIGN_OR_RETURN(const hlo::ComputationId forward,
                            part_of(both, std::span(both.parameters).first(operands.size()), wanted,
                                    PartKind::kWithEffects));
    const auto made = graph.op_of_many(Opcode::kCall, x, hlo::CallAttrs{}, {forward});
    for (size_t i = 0; i < results.size(); ++i) out.push_back({made[i]});
    x.insert(x.end(), made.begin() + static_cast<std::ptrdiff_t>(results.size()), made.end());
  }
  if (tangents.empty()) return out;
  std::vector<InstructionId> given(both.parameters);
  given.insert(given.begin() + static_cast<std::ptrdiff_t>(operands.size()), saved.begin(),
               saved.end());
  x.insert(x.end(), dx.begin(), dx.end());
  HEDDLE_ASSIGN_OR_RETURN(const hlo::ComputationId again,
                          part_of(both, given, tangents, PartKind::kAgain));
  const Values made = graph.op_of_many(Opcode::kCall, x, hlo::CallAttrs{}, {again});
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (results[i].dx) out[i].dx = made[next++];
  }
  return out;
}

// A part of another computation: some of its values are the parameters, others the results.
StatusOr<hlo::ComputationId> Forward::part_of(const Computation& computation,
                                              std::span<const InstructionId> given,
                                              std::span<const InstructionId> wanted,
                                              PartKind kind) {
  Graph graph(source_.into(), computation.name);
  PartCopy copy(graph, computation);
  const PartsOfDevices devices(computation);
  for (InstructionId id : given) {
    const Value kept = graph.parameter(devices.residual_type(computation, id));
    copy.give(id, devices.read(graph, id, kept));
  }
  Values made = kind == PartKind::kWithEffects ? copy.want_with_effects(wanted) : copy.want(wanted);
  devices.join(graph, wanted, made);
  const hlo::ComputationId part = std::move(graph).finish(made);
  if (kind == PartKind::kWithEffects) return part;
  return computed_again(source_.into(), part, "call it outside of the checkpoint");
}

StatusOr<Duals> Forward::derived(Graph& graph, const Computation& computation,
                                 const Instruction& instruction, const Duals& operands) {
  const std::vector<Shape> shapes = operand_shapes(computation, instruction);
  if (instruction.opcode == Opcode::kCall && has_tangents(operands) && mode_ == Mode::kApart &&
      !hlo::frontend_attribute(instruction, kCheckpointAttribute).empty())
    return checkpointed(graph, instruction, shapes, operands);
  if (instruction.opcode == Opcode::kCall && !hlo::derivative_name(instruction).empty())
    return has_tangents(operands) ? by_rule(graph, instruction, shapes, operands)
                                  : plain(graph, instruction, shapes, operands);
  if (instruction.opcode == Opcode::kCall) {
    HEDDLE_ASSIGN_OR_RETURN(Duals out, run(graph, source_.at(instruction.called[0]), operands));
    const std::string_view device = hlo::frontend_attribute(instruction, kDeviceAttribute);
    for (const Dual& each : out) {  // the call is gone
      const Instruction& made = graph.at(each.x.id());
      if (!device.empty() && made.opcode != Opcode::kParameter &&
          made.extras->frontend_attributes.empty())
        graph.with_frontend_attributes(each.x,
                                       {{std::string(kDeviceAttribute), std::string(device)}});
    }
    return out;
  }
  if (!has_tangents(operands)) return plain(graph, instruction, shapes, operands);
  switch (instruction.opcode) {
    case Opcode::kScan: return jvp_of_scan(*this, graph, computation, instruction, operands);
    case Opcode::kWhile: return jvp_of_while(*this, graph, instruction, operands);
    case Opcode::kConditional:
      return jvp_of_conditional(*this, graph, computation, instruction, operands);
    case Opcode::kCopy:
    case Opcode::kOptBarrier: {
      Duals out = plain(graph, instruction, shapes, operands);
      for (size_t i = 0; i < out.size(); ++i) {
        out[i].dx = operands[i].dx;
        out[i].why = operands[i].why;
      }
      return out;
    }
    case Opcode::kCustomCall:
      if (hlo::is_debug_call(instruction)) return plain(graph, instruction, shapes, operands);
      if (hlo::has_own_derivative(instruction))
        return jvp_of_custom({*this, graph, instruction, shapes, operands});
      return by_rule(graph, instruction, shapes, operands);
    case Opcode::kMap:
      if (const Status why = reason_in(operands); !why.ok())
        return poisoned(plain(graph, instruction, shapes, operands), why);
      return jvp_of_map(*this, graph, instruction, operands);
    case Opcode::kReduce:
    case Opcode::kReduceWindow: {
      HEDDLE_ASSIGN_OR_RETURN(Duals out, by_rule(graph, instruction, shapes, operands));
      if (reason_in(out).ok() || !reason_in(operands).ok()) return out;
      const auto jvp = instruction.opcode == Opcode::kReduce ? jvp_of_reduce : jvp_of_reduce_window;
      HEDDLE_ASSIGN_OR_RETURN(const Duals made, jvp(*this, graph, instruction, operands));
      if (const Status why = reason_in(made); !why.ok()) return poisoned(std::move(out), why);
      for (size_t i = 0; i < out.size(); ++i) out[i] = {out[i].x, made[i].dx};
      return out;
    }
    default: return by_rule(graph, instruction, shapes, operands);
  }
}

StatusOr<Duals> Forward::run(Graph& graph, const Computation& computation,
                             const Duals& parameters) {
  return leaves_of_run(graph, computation, parameters,
                       [&](const Instruction& instruction, const Duals& operands) {
                         return derived(graph, computation, instruction, operands);
                       });
}

StatusOr<Duals> Forward::run_inside(Graph& graph, const Computation& computation,
                                    const Duals& parameters, std::vector<InstructionId> same) {
  const Graph* const before_in = std::exchange(same_in_, &graph);
  std::vector<InstructionId> before = std::exchange(same_, std::move(same));
  StatusOr<Duals> out = run(graph, computation, parameters);
  same_in_ = before_in;
  same_ = std::move(before);
  return out;
}

namespace {

bool has_regions(const Computation& computation) {
  return std::ranges::any_of(computation.instructions, [](const Instruction& each) {
    return each.opcode == Opcode::kScan || each.opcode == Opcode::kConditional ||
           each.opcode == Opcode::kWhile || each.opcode == Opcode::kCall ||
           (each.opcode == Opcode::kCustomCall && !hlo::is_debug_call(each));
  });
}

// An affine function is its value at 0 and its derivative there. Empty if that derivative reads the
// point, so that the function is not affine, if an effect reads it, which is not to see zeros, or
// if there is none. A debug call that reads it does not run.
StatusOr<Values> from_zero(Source& source, Mode mode, Graph& graph, Computation computation,
                           const Duals& parameters, const std::vector<bool>& is_tangent) {
  Writer& writer = source.into();
  for (Instruction& each : computation.instructions) each.called = source.called(each.called);
  const auto quiet = without_debug_calls_on(writer, std::move(computation), is_tangent);
  if (!quiet) return Values();
  Graph inside(writer, quiet->name);
  Duals duals;
  Values given;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value& x = parameters[i].x;
    duals.push_back({inside.parameter(x.shape())});
    given.push_back(is_tangent[i] ? graph.zeros(x.shape()) : x);
  }
  std::vector<bool> is_point = is_tangent;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value& x = parameters[i].x;
    if (!is_tangent[i] || !hlo::has_tangent(x.shape())) continue;
    duals[i].dx = inside.parameter(x.shape());
    given.push_back(x);
    is_point.push_back(false);
  }
  Source here(writer);
  const auto results = Forward(here, mode).run(inside, *quiet, duals);
  if (!results.ok() || !reason_in(*results).ok()) return Values();
  const std::vector<bool> vanishes = vanishing_results(writer, *quiet, is_tangent);
  Values all;
  for (const Dual& each : *results) all.push_back(each.dx ? each.dx : each.x);
  for (size_t i = 0; i < results->size(); ++i) {
    if ((*results)[i].dx && !vanishes[i]) all.push_back((*results)[i].x);
  }
  const Computation made = writer.module().at(std::move(inside).finish(all));
  std::vector<bool> reads_point = dependent_results(writer, made, is_point);
  reads_point.resize(results->size());
  if (std::ranges::find(reads_point, true) != reads_point.end()) return Values();
  PartCopy copy(graph, made);
  for (size_t i = 0; i < given.size(); ++i) copy.give(made.parameters[i], given[i]);
  Values out = copy.want_with_effects(returned_values(made));
  size_t next = results->size();
  for (size_t i = 0; i < results->size(); ++i) {
    if ((*results)[i].dx && !vanishes[i]) out[i] = hlo::add(out[next++], out[i]);
  }
  out.resize(results->size());
  return out;
}

}  // namespace

StatusOr<Values> Forward::run_linear(Graph& graph, const Computation& computation,
                                     const Duals& parameters, const std::vector<bool>& is_tangent) {
  if (mode_ == Mode::kApart && has_regions(computation)) {
    HEDDLE_ASSIGN_OR_RETURN(Values apart,
                            from_zero(source_, mode_, graph, computation, parameters, is_tangent));
    if (!apart.empty()) return apart;
  }
  HEDDLE_ASSIGN_OR_RETURN(const Duals made, run(graph, computation, parameters));
  Values out;
  for (const Dual& each : made) out.push_back(each.x);
  return out;
}

std::vector<bool> same_values(const Writer& writer, size_t size,
                              base::FunctionRef<const Instruction&(InstructionId)> at,
                              std::span<const InstructionId> parameters) {
  const Effects effects(writer.module());
  std::vector<bool> out(size);
  for (InstructionId id : parameters) {
    if (id.value < size) out[id.value] = true;
  }
  for (size_t i = 0; i < size; ++i) {
    const Instruction& instruction = at(InstructionId(i));
    if (instruction.opcode == Opcode::kParameter || effects.of(instruction)) continue;
    out[i] = std::ranges::all_of(instruction.operands,
                                 [&](InstructionId id) { return bool(out[id.value]); });
  }
  return out;
}

Value or_zeros(Graph& graph, const Dual& dual) {
  return dual.dx ? dual.dx : graph.zeros(dual.x.shape());
}

std::vector<Shape> types_of(std::span<const Dual> duals) {
  std::vector<Shape> out;
  for (const Dual& each : duals) out.push_back(each.x.shape());
  return out;
}

std::vector<bool> tangents_in(std::span<const Dual> duals) {
  std::vector<bool> out;
  for (const Dual& dual : duals) out.push_back(bool(dual.dx));
  return out;
}

bool widen(std::vector<bool>& carries, std::span<const Dual> after) {
  bool more = false;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i] || after[i].dx.is_absent()) continue;
    carries[i] = more = true;
  }
  return more;
}

}  // namespace heddle::transform
