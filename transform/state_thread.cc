#include "heddle/transform/state_thread.h"

#include <algorithm>
#include <map>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/transform/derivatives/internal/parts.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

bool is_region(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCall || instruction.opcode == Opcode::kWhile ||
         instruction.opcode == Opcode::kConditional || instruction.opcode == Opcode::kScan;
}

std::vector<Shape> shapes_of(const Values& values) {
  std::vector<Shape> out;
  for (const Value& each : values) out.push_back(each.shape());
  return out;
}

class Threader {
 public:
  Threader(Writer& writer, const hlo::Module& module, StateThread& thread)
      : module_(module), source_(writer, module), thread_(thread) {}

  bool takes_part(ComputationId id) {
    const auto known = takes_part_.find(id);
    if (known != takes_part_.end()) return known->second;
    const Computation& computation = module_.at(id);
    const bool does = std::ranges::any_of(computation.instructions, [&](const Instruction& each) {
      return takes_part(computation, each);
    });
    return takes_part_[id] = does;
  }

  ComputationId entry() {
    const Computation& computation = module_.entry_computation();
    Graph graph(source_.into(), computation.name);
    Values parameters;
    for (InstructionId id : computation.parameters)
      parameters.push_back(graph.append(computation.at(id)));
    Values state = thread_.start(graph);
    const Value root = run(graph, computation, parameters, state);
    thread_.finish(graph, state);
    return std::move(graph).finish_with(root);
  }

 private:
  bool takes_part(const Computation& computation, const Instruction& instruction) {
    if (!is_region(instruction)) return thread_.takes_part(computation, instruction);
    return std::ranges::any_of(instruction.called,
                               [&](ComputationId id) { return takes_part(id); });
  }

  Value run(Graph& graph, const Computation& computation, const Values& parameters, Values& state) {
    Values values(computation.instructions.size());
    for (size_t i = 0; i < parameters.size(); ++i)
      values[computation.parameters[i].value] = parameters[i];
    for (size_t i = 0; i < values.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode == Opcode::kParameter) continue;
      Values operands;
      for (InstructionId id : instruction.operands) operands.push_back(values[id.value]);
      if (!takes_part(computation, instruction)) {
        values[i] = as_it_was(graph, instruction, operands);
        continue;
      }
      graph.set_location(instruction.at);
      switch (instruction.opcode) {
        case Opcode::kCall: values[i] = call(graph, instruction, operands, state); break;
        case Opcode::kWhile: values[i] = loop(graph, instruction, operands, state); break;
        case Opcode::kConditional: values[i] = branches(graph, instruction, operands, state); break;
        case Opcode::kScan: values[i] = scan(graph, instruction, operands, state); break;
        default:
          values[i] = thread_.write(graph, instruction, operands,
                                    source_.called(instruction.called), state);
      }
    }
    return values[computation.root.value];
  }

  Value as_it_was(Graph& graph, const Instruction& instruction, const Values& operands) {
    return copied(graph, instruction, operands, source_.called(instruction.called));
  }

  // Splits leaves into the value of a type and the state.
  Value take(Graph& graph, const Shape& shape, const Values& leaves, Values& state) const {
    const size_t count = leaf_count(shape);
    state.assign(leaves.begin() + static_cast<std::ptrdiff_t>(count), leaves.end());
    return assembled(graph, shape, std::span(leaves).first(count));
  }

  Value with_attributes(Graph& graph, const Instruction& old, const Value& made) const {
    const hlo::FrontendAttributes& attributes = old.extras->frontend_attributes;
    return attributes.empty() ? made : graph.with_frontend_attributes(made, attributes);
  }

  // What the instruction calls, with the state behind its parameters and, as `left` makes it of
  // the one after it, behind its results.
  template <class Left>
  ComputationId with_state(const Instruction& caller, const Values& state, const Left& left) {
    const std::pair key(caller.opcode, caller.called[0]);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    const Computation& body = module_.at(caller.called[0]);
    Graph inside(source_.into(), body.name);
    Values parameters, within;
    for (size_t i = 0; i < body.parameters.size(); ++i)
      parameters.push_back(inside.parameter(body.parameter_shape(i)));
    for (const Value& each : state) within.push_back(inside.parameter(each.shape()));
    Values results = flattened(inside, run(inside, body, parameters, within));
    append(results, left(inside, within));
    return made_[key] = std::move(inside).finish(results);
  }

  Value call(Graph& graph, const Instruction& call, const Values& operands, Values& state) {
    const ComputationId body =
        with_state(call, state, [](Graph&, const Values& within) { return within; });
    Values given = operands;
    append(given, state);
    const Value made = graph.op(Opcode::kCall, given, call.attrs, {body});
    return take(graph, call.shape, flattened(graph, with_attributes(graph, call, made)), state);
  }

  Value scan(Graph& graph, const Instruction& scan, const Values& operands, Values& state) {
    const ComputationId body = with_state(scan, state, [&](Graph& inside, const Values& within) {
      return thread_.stepped(inside, within);
    });
    auto attrs = scan.attrs.get<hlo::ScanAttrs>();
    attrs.num_carries += static_cast<int64_t>(state.size());
    Values given = operands;
    append(given, thread_.entered(graph, state));
    const Value made = graph.op(Opcode::kScan, given, attrs, {body});
    Values after;
    const Value out =
        take(graph, scan.shape, flattened(graph, with_attributes(graph, scan, made)), after);
    state = thread_.left(graph, state, after);
    return out;
  }

  Value branches(Graph& graph, const Instruction& conditional, const Values& operands,
                 Values& state) {
    Values given{operands[0]};
    std::vector<ComputationId> ids;
    for (size_t b = 0; b < conditional.called.size(); ++b) {
      const Computation& computation = module_.at(conditional.called[b]);
      Values leaves = flattened(graph, operands[b + 1]);
      append(leaves, state);
      given.push_back(graph.tuple(leaves));
      Graph inside(source_.into(), computation.name);
      Values within;
      const Value operand = take(inside, operands[b + 1].shape(),
                                 inside.elements(inside.parameter(given.back().shape())), within);
      Values results = flattened(inside, run(inside, computation, {operand}, within));
      append(results, within);
      ids.push_back(std::move(inside).finish(results));
    }
    const Value made = graph.op(Opcode::kConditional, given, conditional.attrs, ids);
    return take(graph, conditional.shape,
                flattened(graph, with_attributes(graph, conditional, made)), state);
  }

  // A condition only tells whether to go on. A condition that changes the state is evaluated before
  // the loop and at the end of each step instead.
  Value loop(Graph& graph, const Instruction& loop, const Values& operands, Values& state) {
    const Computation& body = module_.at(loop.called[0]);
    const Computation& condition = module_.at(loop.called[1]);
    const bool is_early = takes_part(loop.called[1]);
    Values inner = thread_.entered(graph, state);
    Values start = flattened(graph, operands[0]);
    Value on;
    if (is_early) on = run(graph, condition, operands, inner);
    append(start, inner);
    if (is_early) start.push_back(on);
    const Shape type = Shape::tuple(shapes_of(start));

    Graph test(source_.into(), condition.name);
    Values within, leaves = test.elements(test.parameter(type));
    if (is_early) {
      on = leaves.back();
      leaves.pop_back();
    }
    const Value tested = take(test, loop.shape, leaves, within);
    if (!is_early) on = run(test, condition, {tested}, within);
    const ComputationId condition_id =
        std::move(test).finish_with(thread_.goes_on(test, on, within));

    Graph step(source_.into(), body.name);
    leaves = step.elements(step.parameter(type));
    if (is_early) leaves.pop_back();
    const Value now = take(step, loop.shape, leaves, within);
    const Value next = run(step, body, {now}, within);
    within = thread_.stepped(step, within);
    if (is_early) on = run(step, condition, {next}, within);
    Values results = flattened(step, next);
    append(results, within);
    if (is_early) results.push_back(on);
    const ComputationId body_id = std::move(step).finish(results);

    const Value made = graph.op(Opcode::kWhile, {graph.tuple(start)}, {}, {body_id, condition_id});
    leaves = flattened(graph, with_attributes(graph, loop, made));
    if (is_early) leaves.pop_back();
    Values after;
    const Value out = take(graph, loop.shape, leaves, after);
    state = thread_.left(graph, state, after);
    return out;
  }

  const hlo::Module& module_;
  Source source_;
  StateThread& thread_;
  std::map<ComputationId, bool> takes_part_;
  std::map<std::pair<Opcode, ComputationId>, ComputationId> made_;
};

// The state is the result of the previous call.
class EffectOrder final : public StateThread {
 public:
  bool takes_part(const Computation&, const Instruction& instruction) const override {
    return hlo::is_debug_call(instruction);
  }
  Values start(Graph& graph) const override { return {graph.number(u32, 0)}; }
  Value write(Graph& graph, const Instruction& instruction, const Values& operands,
              std::vector<ComputationId> called, Values& state) override {
    Instruction call = instruction;
    const std::string& config = instruction.extras->backend_config;
    Values given = operands;
    if (hlo::dictionary_entry(config, "ordered") != "true") {
      call.extras.mutate().backend_config = hlo::with_entry(config, "ordered", "true");
    } else if (!given.empty()) {
      given.pop_back();
    }
    append(given, state);
    state = {copied(graph, call, given, std::move(called))};
    return state[0];
  }
};

}  // namespace

StatusOr<hlo::Module> with_state(const hlo::Module& module, StateThread& thread) {
  Writer writer;
  Threader threader(writer, module, thread);
  if (!threader.takes_part(module.entry)) return module;
  const ComputationId entry = threader.entry();
  HEDDLE_RETURN_IF_ERROR(writer.status());
  hlo::Module out = std::move(writer).finish(entry);
  out.name = module.name;
  out.extras = module.extras;
  return out;
}

StatusOr<hlo::Module> with_debug_calls_in_order(const hlo::Module& module) {
  if (!hlo::has_debug_calls(module)) return module;
  EffectOrder order;
  return with_state(module, order);
}

}  // namespace heddle::transform
