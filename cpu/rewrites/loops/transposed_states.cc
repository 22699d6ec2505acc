#include "heddle/cpu/rewrites/loops/transposed_states.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/loops/transposed_body.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

// The loop with a transposed state, as the state that it was.
hlo::Value loop_of(transform::Rebuilder& to, InstructionId id, const TransposedBody& body) {
  const hlo::Value init = to.value(to.old(id).operands[0]);
  hlo::Graph& graph = to.in_place_of(id);
  const auto elements = [&](const hlo::Value& state, bool forward) {
    hlo::Values out = graph.elements(state);
    for (const int64_t e : body.elements()) {
      const Dims order = body.family().order(to.old(id).shape.elements()[static_cast<size_t>(e)]);
      hlo::Value& element = out[static_cast<size_t>(e)];
      element = transpose(element, forward ? order : inverse_permutation(order));
    }
    return graph.tuple(out);
  };
  const hlo::Value state = elements(init, /*forward=*/true);
  Instruction now = to.mapped(id);
  now.operands = {state.id()};
  now.shape = body.state(now.shape);
  return elements(graph.wrap(to.builder().append(std::move(now))), /*forward=*/false);
}

using Bodies = std::map<ComputationId, TransposedBody>;  // by the bodies' ids

void copy(transform::Rebuilder& to, InstructionId id, const Bodies& bodies) {
  const Instruction& old = to.old(id);
  const auto body = old.opcode == Opcode::kWhile ? bodies.find(old.called[0]) : bodies.end();
  if (body == bodies.end())
    to.copy(id);
  else
    to.replace(id, loop_of(to, id, body->second));
}

void write_parameter(transform::Rebuilder& to, const TransposedBody& body) {
  const InstructionId id = to.from().parameters[0];
  Instruction now = to.mapped(id);
  now.shape = body.state(now.shape);
  to.replace(id, to.builder().append(std::move(now)));
}

// Writes a body anew.
class BodyWriter {
 public:
  BodyWriter(transform::ModuleRebuilder& module, ComputationId id, const Bodies& bodies)
      : to_(module, id), bodies_(bodies), body_(bodies.at(id)), family_(body_.family()) {}

  Computation run() && {
    const Computation& from = to_.from();
    for (const InstructionId id : to_.order()) {
      if (id == from.parameters[0]) {
        write_parameter(to_, body_);
      } else if (body_.has(id)) {
        transposed_.emplace(id, op(id));
      } else if (id == from.root) {
        to_.replace(id, root(id));
      } else {
        for (const InstructionId operand : to_.old(id).operands) make_whole(operand);
        copy(to_, id, bodies_);
      }
    }
    return std::move(to_).finish();
  }

 private:
  hlo::Value root(InstructionId id) {
    const Instruction& old = to_.old(id);
    hlo::Values elements;
    for (size_t e = 0; e < old.operands.size(); ++e) {
      const bool is_transposed = body_.elements().contains(static_cast<int64_t>(e));
      elements.push_back(is_transposed ? transposed(old.operands[e]) : whole(old.operands[e]));
    }
    return to_.in_place_of(id).tuple(elements);
  }

  void make_whole(InstructionId old) {
    if (to_[old].valid() || !body_.has(old)) return;
    to_.in_place_of(old);
    to_.replace(old, transpose(transposed_.at(old),
                               inverse_permutation(family_.order(to_.old(old).shape))));
  }
  hlo::Value whole(InstructionId old) {
    make_whole(old);
    return to_.value(old);
  }
  hlo::Value transposed(InstructionId old) {
    const auto found = transposed_.find(old);
    if (found != transposed_.end()) return found->second;
    to_.in_place_of(old);
    return transposed_[old] = transpose(to_.value(old), family_.order(to_.old(old).shape));
  }

  // The op on transposed arrays.
  hlo::Value op(InstructionId id) {
    const Instruction& old = to_.old(id);
    const Shape shape = family_.transposed(old.shape);
    const Dims order = family_.order(old.shape), places = inverse_permutation(order);
    switch (old.opcode) {
      case Opcode::kGetTupleElement:
        return to_.in_place_of(id).element(to_.value(old.operands[0]),
                                           old.attrs.get<hlo::TupleIndexAttrs>().index);
      case Opcode::kBroadcast: return broadcast_of(id, shape);
      case Opcode::kIota: {
        const int64_t along = old.attrs.get<hlo::IotaAttrs>().iota_dimension;
        const hlo::IotaAttrs attrs{places[static_cast<size_t>(along)]};
        return to_.in_place_of(id).op(Opcode::kIota, {}, attrs, {}, &shape);
      }
      case Opcode::kReshape: {
        const hlo::Value x = transposed(old.operands[0]);
        to_.in_place_of(id);
        return reshape(x, shape.dimensions());
      }
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice: return of_a_row(id, order);
      default: break;
    }
    hlo::Values operands;
    for (const InstructionId operand : old.operands)
      operands.push_back(to_.old(operand).shape.is_scalar() ? whole(operand) : transposed(operand));
    hlo::Attrs attrs = old.attrs;
    if (old.opcode == Opcode::kConcatenate || old.opcode == Opcode::kReverse)
      attrs = hlo::DimensionsAttrs{permuted(places, dimensions_of(old))};
    if (old.opcode == Opcode::kSlice)
      attrs = hlo::SliceAttrs{permuted(old.attrs.get<hlo::SliceAttrs>().slice, order)};
    if (old.opcode == Opcode::kPad)
      attrs = hlo::PadAttrs{permuted(old.attrs.get<hlo::PadAttrs>().padding, order)};
    return to_.in_place_of(id).op(old.opcode, operands, attrs, {}, &shape);
  }

  hlo::Value broadcast_of(InstructionId id, const Shape& shape) {
    const Instruction& old = to_.old(id);
    Dims dimensions = body_.dimensions(old);
    hlo::Value x = whole(old.operands[0]);
    to_.in_place_of(id);
    if (!body_.keeps_order(old)) {
      Dims order = consecutive_dimensions(std::ssize(dimensions));
      std::ranges::sort(order, {}, [&](int64_t d) { return dimensions[static_cast<size_t>(d)]; });
      x = transpose(x, order);
      std::ranges::sort(dimensions);
    }
    return broadcast(x, shape.dimensions(), dimensions);
  }

  // A dynamic slice, or an update, of a stack.
  hlo::Value of_a_row(InstructionId id, const Dims& order) {
    const Instruction& old = to_.old(id);
    const bool is_update = old.opcode == Opcode::kDynamicUpdateSlice;
    const hlo::Value stack = transposed(old.operands[0]);
    const hlo::Value part = is_update ? transposed(old.operands[1]) : hlo::Value();
    hlo::Values starts;
    for (const int64_t d : order)
      starts.push_back(whole(old.operands[static_cast<size_t>(d + (is_update ? 2 : 1))]));
    to_.in_place_of(id);
    if (is_update) return dynamic_update_slice(stack, part, starts);
    const Dims& sizes = old.attrs.get<hlo::DynamicSliceAttrs>().dynamic_slice_sizes;
    return dynamic_slice(stack, starts, permuted(sizes, order));
  }

  transform::Rebuilder to_;
  const Bodies& bodies_;
  const TransposedBody& body_;
  const Family& family_;
  std::map<InstructionId, hlo::Value> transposed_;  // by the old instruction
};

}  // namespace

StatusOr<std::optional<hlo::Module>> transpose_states(const hlo::Module& module) {
  std::map<ComputationId, int> calls;
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      for (const ComputationId called : each.called) ++calls[called];
    }
  }
  Bodies bodies;
  std::map<ComputationId, const TransposedBody*> conditions;
  for (const Computation& computation : module.computations) {
    for (const Instruction& loop : computation.instructions) {
      if (loop.opcode != Opcode::kWhile || calls[loop.called[0]] != 1 || calls[loop.called[1]] != 1)
        continue;
      if (auto body = TransposedBody::of(module, loop)) {
        const auto at = bodies.emplace(loop.called[0], *std::move(body)).first;
        conditions.emplace(loop.called[1], &at->second);
      }
    }
  }
  if (bodies.empty()) return std::optional<hlo::Module>();
  transform::ModuleRebuilder into(module);
  for (const ComputationId id : into.order()) {
    if (bodies.contains(id)) {
      into.replace(id, BodyWriter(into, id, bodies).run());
      continue;
    }
    transform::Rebuilder to(into, id);
    const auto loop = conditions.find(id);
    for (const InstructionId i : to.order()) {
      if (loop != conditions.end() && i == to.from().parameters[0])
        write_parameter(to, *loop->second);
      else
        copy(to, i, bodies);
    }
    into.replace(id, std::move(to).finish());
  }
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
