#include "heddle/transform/derivatives/internal/parts.h"

#include <algorithm>
#include <unordered_map>

#include "heddle/base/located_status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/effects.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/leaves.h"

namespace heddle::transform {

std::vector<Shape> leaves_of(const Shape& shape) {
  if (!shape.is_tuple()) return {shape};
  std::vector<Shape> out;
  for (const Shape& element : shape.elements()) {
    for (Shape& leaf : leaves_of(element)) out.push_back(std::move(leaf));
  }
  return out;
}

size_t first_leaf(const Shape& tuple, int64_t index) {
  size_t first = 0;
  for (int64_t i = 0; i < index; ++i) first += leaf_count(tuple.element(i));
  return first;
}

Shape slice_of(const Value& input, int64_t dimension) {
  hlo::Dims sizes = input.sizes();
  sizes.erase(sizes.begin() + dimension);
  return {input.dtype(), sizes};
}

Values flattened(Graph& graph, const Value& value) {
  if (!value.shape().is_tuple()) return {value};
  Values out;
  for (const Value& element : graph.elements(value)) {
    for (const Value& leaf : flattened(graph, element)) out.push_back(leaf);
  }
  return out;
}

Value assembled(Graph& graph, const Shape& shape, std::span<const Value> leaves) {
  return shape.is_tuple() ? graph.tuple(assembled(graph, shape.elements(), leaves)) : leaves[0];
}
Values assembled(Graph& graph, std::span<const Shape> shapes, std::span<const Value> leaves) {
  Values out;
  for (const Shape& shape : shapes) {
    const size_t count = leaf_count(shape);
    out.push_back(assembled(graph, shape, leaves.first(count)));
    leaves = leaves.subspan(count);
  }
  return out;
}

std::vector<Shape> operand_shapes(const Computation& computation, const Instruction& instruction) {
  std::vector<Shape> out;
  for (InstructionId id : instruction.operands) out.push_back(computation.at(id).shape);
  return out;
}

Value copied(Graph& graph, const Instruction& instruction, const Values& operands,
             std::vector<ComputationId> called) {
  Instruction now = instruction;
  now.operands.clear();
  for (const Value& operand : operands) now.operands.push_back(operand.id());
  now.called = std::move(called);
  now.name.clear();
  if (!now.extras->control_predecessors.empty()) now.extras.mutate().control_predecessors.clear();
  return graph.append(std::move(now));
}

ComputationId Source::called(ComputationId id) {
  if (!from_) return id;
  ComputationId& now = map_[id.value];
  if (now.valid()) return now;
  hlo::Computation copy = from_->at(id);
  for (Instruction& instruction : copy.instructions)
    instruction.called = called(instruction.called);
  return map_[id.value] = into_.add(std::move(copy));
}

std::vector<ComputationId> Source::called(const std::vector<ComputationId>& ids) {
  std::vector<ComputationId> out;
  for (ComputationId id : ids) out.push_back(called(id));
  return out;
}

Values PartCopy::want(std::span<const InstructionId> ids) {
  return copy(ids, std::vector<bool>(from_.instructions.size()));
}

Values PartCopy::want_with_effects(std::span<const InstructionId> ids) {
  const Effects effects(to_.writer().module());
  std::vector<bool> needed(from_.instructions.size()), is_there(needed.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    const Instruction& instruction = from_.instructions[i];
    is_there[i] = bool(values_[i]) ||
                  (instruction.opcode != Opcode::kParameter &&
                   std::ranges::all_of(instruction.operands,
                                       [&](InstructionId id) { return bool(is_there[id.value]); }));
    needed[i] = is_there[i] && values_[i].is_absent() && effects.of(instruction);
  }
  return copy(ids, std::move(needed));
}

Values PartCopy::copy(std::span<const InstructionId> ids, std::vector<bool> needed) {
  for (InstructionId id : ids) needed[id.value] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i] || values_[i]) continue;
    for (InstructionId operand : from_.instructions[i].operands) needed[operand.value] = true;
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] || values_[i]) continue;
    Values operands;
    for (InstructionId operand : from_.instructions[i].operands)
      operands.push_back(values_[operand.value]);
    values_[i] = copied(to_, from_.instructions[i], operands, from_.instructions[i].called);
  }
  Values out;
  for (InstructionId id : ids) out.push_back(values_[id.value]);
  return out;
}

Instruction zeros_for(const Instruction& instruction) {
  return {.opcode = Opcode::kConstant,
          .shape = instruction.shape,
          .attrs = hlo::ConstantAttrs{.literal = Literal(instruction.shape)}};
}

namespace {

bool is_custom_effect(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_has_side_effect;
}

// By computation up to `last`, whether one of them runs in it. Callees stand first.
std::vector<bool> with_custom_effects(const hlo::Module& module, ComputationId last) {
  std::vector<bool> out(last.value + size_t{1});
  const auto has_effect = [&](const Instruction& instruction) {
    return is_custom_effect(instruction) ||
           std::ranges::any_of(instruction.called,
                               [&](ComputationId called) -> bool { return out[called.value]; });
  };
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::ranges::any_of(module.computations[i].instructions, has_effect);
  return out;
}

// The instructions that the result depends on, and regions, which may have effects of their own.
std::vector<bool> read_in(const hlo::Computation& computation) {
  std::vector<bool> out(computation.instructions.size());
  out[computation.root.value] = true;
  for (size_t i = out.size(); i-- > 0;) {
    const Instruction& instruction = computation.instructions[i];
    if (!out[i] && instruction.called.empty()) continue;
    for (InstructionId id : instruction.operands) out[id.value] = true;
  }
  return out;
}

// What computed_again() gives, once for each computation.
class WithoutEffects {
 public:
  WithoutEffects(Writer& writer, ComputationId last, std::string_view repair)
      : writer_(writer),
        repair_(repair),
        has_effect_(with_custom_effects(writer.module(), last)),
        made_(has_effect_.size()) {}

  StatusOr<ComputationId> of(ComputationId id) {
    if (!has_effect_[id.value]) return id;
    if (made_[id.value].valid()) return made_[id.value];
    hlo::Computation quiet = writer_.module().at(id);
    const std::vector<bool> is_read = read_in(quiet);
    for (size_t i = 0; i < is_read.size(); ++i) {
      Instruction& instruction = quiet.instructions[i];
      if (is_custom_effect(instruction)) {
        if (is_read[i] && !hlo::is_debug_call(instruction)) return refused(instruction);
        instruction = zeros_for(instruction);
      }
      for (ComputationId& called : instruction.called) {
        HEDDLE_ASSIGN_OR_RETURN(called, of(called));
      }
    }
    return made_[id.value] = writer_.add(std::move(quiet));
  }

 private:
  [[nodiscard]] Status refused(const Instruction& call) const {
    return at_line(base::unimplemented(call.attrs.get<hlo::CustomCallAttrs>().custom_call_target,
                                       ": has an effect, and would run again for its result where "
                                       "the derivative computes that again; ",
                                       repair_),
                   call);
  }

  Writer& writer_;
  std::string_view repair_;
  std::vector<bool> has_effect_;     // by computation
  std::vector<ComputationId> made_;  // by computation; not valid: not yet
};

}  // namespace

StatusOr<ComputationId> computed_again(Writer& writer, ComputationId id, std::string_view repair) {
  return WithoutEffects(writer, id, repair).of(id);
}

hlo::Computation merged(const Writer& writer, ComputationId id) {
  hlo::Computation computation = writer.module().at(id);
  const Effects effects(writer.module());
  std::vector<InstructionId> now(computation.instructions.size());
  std::unordered_multimap<uint64_t, InstructionId> known;  // by hash
  for (size_t i = 0; i < now.size(); ++i) {
    Instruction& instruction = computation.instructions[i];
    now[i] = InstructionId(i);
    for (InstructionId& operand : instruction.operands) operand = now[operand.value];
    if (!effects.may_merge(instruction)) continue;
    const uint64_t hash = hlo::hash_of(instruction).low;
    auto [from, to] = known.equal_range(hash);
    const auto same = std::find_if(from, to, [&](const auto& entry) {
      return hlo::equal(computation.at(entry.second), instruction);
    });
    if (same != to)
      now[i] = same->second;
    else
      known.emplace(hash, now[i]);
  }
  computation.root = now[computation.root.value];
  return computation;
}

namespace {

// Whether it depends only on constants, by ops that cost little.
bool is_constant(const Instruction& instruction, const std::vector<bool>& constant) {
  switch (instruction.opcode) {
    case Opcode::kConstant:
    case Opcode::kIota: return true;
    case Opcode::kParameter: return false;
    default: break;
  }
  const bool is_cheap = has_trait(instruction.opcode, hlo::kElementwise) ||
                        instruction.opcode == Opcode::kBroadcast ||
                        instruction.opcode == Opcode::kReshape;
  if (!is_cheap) return false;
  for (InstructionId operand : instruction.operands) {
    if (!constant[operand.value]) return false;
  }
  return true;
}

// The value to keep instead of a value that only repeats a smaller operand.
InstructionId smaller(const hlo::Computation& computation, InstructionId id) {
  while (true) {
    const Instruction& now = computation.at(id);
    const bool is_spread = now.opcode == Opcode::kBroadcast || now.opcode == Opcode::kConvert;
    if (!is_spread) return id;
    const InstructionId operand = now.operands[0];
    if (computation.at(operand).shape.byte_size() >= now.shape.byte_size()) return id;
    id = operand;
  }
}

}  // namespace

Split split(const hlo::Computation& computation, const std::vector<bool>& linear_parameters,
            std::span<const InstructionId> linear_results) {
  Split out;
  const size_t size = computation.instructions.size();
  out.is_linear.resize(size);
  std::vector<bool> constant(size), needed(size), kept(size);
  for (size_t i = 0; i < computation.parameters.size(); ++i)
    out.is_linear[computation.parameters[i].value] = linear_parameters[i];
  for (size_t i = 0; i < size; ++i) {
    const Instruction& instruction = computation.instructions[i];
    for (InstructionId operand : instruction.operands) {
      if (out.is_linear[operand.value]) out.is_linear[i] = true;
    }
    constant[i] = !out.is_linear[i] && is_constant(instruction, constant);
  }
  // For a tuple it keeps the elements, and makes the tuple again.
  const auto keep = [&](InstructionId first) {
    std::vector<InstructionId> next{first};
    while (!next.empty()) {
      const InstructionId id = smaller(computation, next.back());
      next.pop_back();
      if (kept[id.value] || constant[id.value]) continue;
      kept[id.value] = true;
      const Instruction& value = computation.at(id);
      if (value.opcode == Opcode::kTuple)
        next.insert(next.end(), value.operands.begin(), value.operands.end());
      else
        out.residuals.push_back(id);
    }
  };
  for (InstructionId id : linear_results) {
    needed[id.value] = true;
    if (!out.is_linear[id.value]) keep(id);
  }
  for (size_t i = size; i-- > 0;) {
    if (!needed[i] || !out.is_linear[i]) continue;
    for (InstructionId operand : computation.instructions[i].operands) {
      needed[operand.value] = true;
      if (!out.is_linear[operand.value]) keep(operand);
    }
  }
  std::ranges::sort(out.residuals, {}, &InstructionId::value);
  return out;
}

Status no_derivative_of_call(const Instruction& call, std::string_view why) {
  return at_line(base::unimplemented(call.attrs.get<hlo::CustomCallAttrs>().custom_call_target,
                                     ": has no derivative: ", why),
                 call);
}
Status malformed_call(const Instruction& call) {
  return no_derivative_of_call(call, "its operands are not those that its backend_config says");
}

Status at_line(const Status& status, const Instruction& instruction) {
  if (status.ok() || !instruction.at.known()) return status;
  return with_location(status, to_string(instruction.at));
}

Value counter_input(Graph& graph, int64_t dimension, int64_t length) {
  hlo::Dims sizes(static_cast<size_t>(dimension), 1);
  sizes.push_back(length);
  return graph.iota(sizes, dimension);
}

}  // namespace heddle::transform
