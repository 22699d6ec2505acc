// One step after the other: where its results go, and who writes them.
#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
RegionLowering::RegionLowering(ProgramLowering& program, const Region& region,
                               std::span<const Value> arguments)
    : program_(program),
      region_(region),
      values_(region.leaves().size()),
      wanted_(region.leaves().size()),
      packs_(region, lanes_for(program.program.plan, Scalar::kF32)),
      lanes_(region.leaves().size()),
      dissolved_(packs_.size()),
      done_(static_cast<size_t>(region.computation().size())) {
  for (size_t i = 0; i < arguments.size(); ++i) bind(region.parameters()[i], arguments[i]);
}

void RegionLowering::want_results(std::span<const BufferId> places) {
  for (size_t i = places.size(); i-- > 0;) {
    if (places[i].valid()) wanted_[region_.results()[i].value] = places[i];
  }
  // A scalar is no array, which lives in its place.
  for (LeafId leaf : region_.results()) {
    while (!is_node_type(shape(leaf))) {
      const auto from = source_in_place(leaf);
      if (!from) break;
      if (!wanted_[from->value].valid()) wanted_[from->value] = wanted_[leaf.value];
      leaf = *from;
    }
  }
}

// The leaf that may lie where this one comes to lie: a reshape or view has the bytes of what it is
// of, an update is made in its target, and an elementwise step in the last of its operands that it
// reads.
std::optional<LeafId> RegionLowering::source_in_place(LeafId leaf) const {
  const InstructionId id = region_.leaves()[leaf.value].producer;
  const auto number = leaf.value - region_.leaf(id).value;
  const bool is_update = number < updated_operands(at(id));
  if (at(id).opcode == Opcode::kReshape || is_complex_view(computation(), at(id)) || is_update) {
    const LeafId from = region_.leaf(at(id).operands[number]);
    if (is_update && !region_.reads_last(id, from)) return std::nullopt;
    return from;
  }
  for (LeafId read : region_.reads(id)) {
    if (shape(read) == shape(leaf) && region_.reads_last(id, read) &&
        region_.reads_in_place(id, read))
      return read;
  }
  return std::nullopt;
}

void RegionLowering::bind(LeafId leaf, Value value) {
  values_[leaf.value] = value;
  if (value.is_buffer()) program_.state(value.buffer).pending += region_.read_count(leaf);
}

BufferId RegionLowering::place_for(LeafId leaf, InstructionId step) {
  const BufferId wanted = wanted_[leaf.value];
  if (wanted.valid()) {
    int own = 0;  // reads of this step that may see the old value
    for (LeafId read : region_.reads(step)) {
      const Value& value = values_[read.value];
      if (value.is_buffer() && value.buffer == wanted && region_.reads_in_place(step, read)) ++own;
    }
    if (program_.state(wanted).pending == own) {
      program_.touch(wanted);
      return wanted;
    }
  }
  // An operand that lies in a buffer of this region, and that this step reads last.
  for (LeafId read : region_.reads(step)) {
    const Value& value = values_[read.value];
    if (value.is_buffer() && temporaries_.contains(value.buffer.value) &&
        program_.state(value.buffer).pending == 1 && shape(read) == shape(leaf) &&
        region_.reads_in_place(step, read)) {
      program_.touch(value.buffer);
      return value.buffer;
    }
  }
  const BufferId own = program_.allocate(shape(leaf));
  temporaries_.insert(own.value);
  return own;
}

BufferId RegionLowering::in_memory(LeafId leaf) {
  const Value& value = values_[leaf.value];
  if (value.is_buffer()) return value.buffer;
  const BufferId buffer = program_.allocate(shape(leaf));
  write_leaf(leaf, buffer);
  return buffer;
}

Value RegionLowering::result(size_t number) {
  const LeafId leaf = region_.results()[number];
  const Value& value = values_[leaf.value];
  if (value.is_buffer() || value.is_node()) return value;
  Memo memo;
  if (is_node_type(shape(leaf))) return Value::of(element(leaf, {}, memo));
  return Value::of(in_memory(leaf));
}

void RegionLowering::release_results() {
  for (LeafId leaf : region_.results()) {
    if (values_[leaf.value].is_buffer()) --program_.state(values_[leaf.value].buffer).pending;
  }
}

Status RegionLowering::run() {
  const std::vector<InstructionId>& steps = region_.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (done_[steps[i].value]) continue;
    const Group group = group_at(i);
    if (group.members.size() < 2) {
      HEDDLE_RETURN_IF_ERROR(run_steps({&steps[i], 1}));
      continue;
    }
    for (const InstructionId& scalar : group.scalars)
      HEDDLE_RETURN_IF_ERROR(run_steps({&scalar, 1}));
    HEDDLE_RETURN_IF_ERROR(run_steps(group.members));
  }
  for (LeafId leaf : region_.results()) {
    if (values_[leaf.value].is_buffer()) program_.touch(values_[leaf.value].buffer);
  }
  return {};
}

// One step, or the members of a group.
Status RegionLowering::run_steps(std::span<const InstructionId> steps) {
  program_.next_step();
  const PlanBuilder::Floor floor(b());
  const auto for_each_read = [&](const auto& visit) {
    for (InstructionId step : steps) {
      for (LeafId leaf : region_.reads(step)) {
        if (values_[leaf.value].is_buffer()) visit(values_[leaf.value].buffer);
      }
    }
  };
  for (InstructionId step : steps) done_[step.value] = true;
  for_each_read([&](BufferId buffer) { program_.touch(buffer); });
  // A member's own value is no buffer yet: what reads it inside of the group is not counted.
  std::vector<BufferId> read;
  for_each_read([&](BufferId buffer) { read.push_back(buffer); });
  if (steps.size() > 1) {
    emit_group(steps);
  } else {
    const int pack = packs_.pack_of(steps[0]);
    if (pack >= 0 && (values_[region_.leaf(steps[0]).value].is_node() || emit_pack(pack)))
      return {};
    HEDDLE_RETURN_IF_ERROR(emit(steps[0]));
  }
  for (BufferId buffer : read) --program_.state(buffer).pending;
  return {};
}

Status RegionLowering::emit(InstructionId id) {
  const Instruction& instruction = at(id);
  const PlanBuilder::For made_for(b(), program_.origin(instruction));
  if (!is_loop_step(program_.module, computation(), instruction)) return emit_kernel(id);
  ++program_.program.loop_steps;
  switch (instruction.opcode) {
    case Opcode::kWhile: return emit_while(id);
    case Opcode::kConditional: return emit_conditional(id);
    case Opcode::kDot: return emit_dot(id, id);
    case Opcode::kTranspose:
      if (const InstructionId product = region_.product_of(id); product.valid())
        return emit_dot(product, id);
      break;
    case Opcode::kScatter:
      if (!shape(region_.leaf(id)).is_scalar()) return emit_scatter(id);
      return emit_kernel(id);
    case Opcode::kDynamicUpdateSlice:
      if (!instruction.shape.is_scalar()) return emit_update(id);
      break;
    case Opcode::kReduce: emit_reduce(id); return {};
    case Opcode::kReduceWindow:
      if (running_fold(program_.module, at(instruction.operands[0]).shape, instruction)) break;
      emit_window(id);
      return {};
    case Opcode::kConstant:
      if (instruction.shape.is_tuple()) {
        size_t next = 0;
        bind_constants(region_.leaves_of(id), next,
                       instruction.attrs.get<hlo::ConstantAttrs>().literal);
        return {};
      }
      break;
    default: break;
  }
  bind(region_.leaf(id), is_node_type(instruction.shape) ? Value::of(scalar_of_step(id))
                                                         : Value::of(array_of_step(id)));
  return {};
}

NodeId RegionLowering::scalar_of_step(InstructionId id) {
  Memo memo;
  if (at(id).opcode == Opcode::kDynamicUpdateSlice)
    return operand_element(at(id).operands[1], {}, memo);
  return lazy_element(at(id), {}, memo);
}

BufferId RegionLowering::array_of_step(InstructionId id) {
  const Instruction& instruction = at(id);
  if (instruction.opcode == Opcode::kConstant) {
    const Literal& literal = instruction.attrs.get<hlo::ConstantAttrs>().literal;
    if (!is_splat(literal) || !scalar_of(instruction.shape.dtype()))
      return program_.constant(literal);
  }
  if (lies_as_operand(computation(), instruction))
    return in_memory(region_.leaf(instruction.operands[0]));
  const BufferId to = place_for(region_.leaf(id), id);
  write_array(id, to);
  return to;
}

void RegionLowering::write_array(InstructionId id, BufferId to) {
  switch (at(id).opcode) {
    case Opcode::kConcatenate: return emit_concatenate(id, to);
    case Opcode::kCholesky: return emit_cholesky(id, to);
    case Opcode::kTriangularSolve: return emit_triangular_solve(id, to);
    case Opcode::kReduceWindow: return emit_running(id, to);
    case Opcode::kSelectAndScatter: return emit_selection(id, to);
    case Opcode::kConvolution: return emit_direct_convolution(id, to);
    case Opcode::kComplex: return emit_complex(id, to);
    case Opcode::kPad: return emit_pad(id, to);
    default: return emit_array(id, to);
  }
}

void RegionLowering::bind_constants(std::span<const LeafId> leaves, size_t& next,
                                    const Literal& literal) {
  if (literal.is_tuple()) {
    for (const Literal& element : literal.elements()) bind_constants(leaves, next, element);
    return;
  }
  const LeafId leaf = leaves[next++];
  bind(leaf, is_node_type(shape(leaf))
                 ? Value::of(b().bits({scalar_type(shape(leaf)), 1}, bits_of_element(literal, 0)))
                 : Value::of(program_.constant(literal)));
}

Status RegionLowering::emit_kernel(InstructionId id) {
  const Instruction& instruction = at(id);
  ++program_.program.kernel_steps;
  HEDDLE_RETURN_IF_ERROR(
      program_.add_kernel({.product = std::nullopt,
                           .instruction = module_of(program_.module, computation(), instruction)}));
  std::vector<BufferId> buffers;
  for (InstructionId operand : instruction.operands) {
    for (LeafId leaf : region_.leaves_of(operand)) buffers.push_back(in_memory(leaf));
  }
  std::vector<BufferId> results;
  for (LeafId leaf : region_.leaves_of(id)) {
    results.push_back(is_node_type(shape(leaf)) ? program_.allocate(shape(leaf))
                                                : place_for(leaf, id));
  }
  buffers.insert(buffers.end(), results.begin(), results.end());
  b().kernel(buffers, {}, base::cat("the evaluator's rule of ", to_string(instruction.opcode)));
  for (size_t i = 0; i < results.size(); ++i) {
    const LeafId leaf = region_.leaves_of(id)[i];
    if (is_node_type(shape(leaf))) {
      bind(leaf, Value::of(b().load(results[i], {scalar_type(shape(leaf)), 1}, b().index(0))));
    } else {
      bind(leaf, Value::of(results[i]));
    }
  }
  return {};
}

}  // namespace heddle::cpu
