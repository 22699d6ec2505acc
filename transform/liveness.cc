#include "heddle/transform/internal/liveness.h"

#include "heddle/hlo/derivative.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

bool shrinks_with_callee(const hlo::Module& module, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kWhile:
    case Opcode::kConditional: return true;
    case Opcode::kCall:  // a rule of a known derivative reads all results
      return !instruction.attrs.get<hlo::CallAttrs>().is_composite &&
             hlo::derivative_name(instruction).empty();
    case Opcode::kScan:
      return instruction.shape.is_tuple() &&
             module.at(instruction.called[0]).result_shape().is_tuple();
    default: return false;  // every other op reads all of its operands
  }
}

Liveness::Liveness(const hlo::Module& module)
    : module_(module),
      effects_(module),
      entered_(module.computations.size()),
      live_callers_(module.computations.size()) {
  lay_out();
  enter(module.entry, {});
  need_signature(module.entry);
  do {
    follow_all();
  } while (keep_one_input_of_scans());
}

void Liveness::lay_out() {
  uint32_t part = 0;
  auto add = [&](const Shape& shape) {
    first_part_.push_back(part);
    part += 1 + (shape.is_tuple() ? static_cast<uint32_t>(shape.element_shapes()) : 0);
  };
  for (const Computation& computation : module_.computations) {
    first_node_.push_back(static_cast<Node>(first_part_.size()));
    for (const Instruction& instruction : computation.instructions) add(instruction.shape);
    add(computation.result_shape());
  }
  first_node_.push_back(static_cast<Node>(first_part_.size()));
  first_part_.push_back(part);
  live_.resize(part);
}

std::vector<bool> Liveness::elements(Node node) const {
  std::vector<bool> out;
  for (size_t part = 1; part < part_count(node); ++part) out.push_back(live(node, part));
  return out;
}

void Liveness::need(Node node, Item item) {
  std::vector<bool>::reference bit = live_[first_part_[node] + item.part];
  if (bit) return;
  bit = true;
  queue_.push_back(item);
}

void Liveness::need(ComputationId c, InstructionId i, size_t part) {
  need(node(c, i), {c, i, 0});
  if (part > 0) need(node(c, i), {c, i, static_cast<uint32_t>(part)});
}

void Liveness::need_all(ComputationId c, InstructionId i) {
  for (size_t part = 0; part < part_count(node(c, i)); ++part) need(c, i, part);
}

void Liveness::need_result(ComputationId c, size_t part) {
  need(result_node(c), {c, {}, 0});
  if (part > 0) need(result_node(c), {c, {}, static_cast<uint32_t>(part)});
}

void Liveness::need_signature(ComputationId c) {
  for (InstructionId parameter : module_.at(c).parameters) need_all(c, parameter);
  for (size_t part = 0; part < part_count(result_node(c)); ++part) need_result(c, part);
}

void Liveness::follow_all() {
  while (!queue_.empty()) {
    Item item = queue_.back();
    queue_.pop_back();
    follow(item);
  }
}

void Liveness::follow(const Item& item) {
  if (!item.instruction.valid()) {
    follow_result(item.computation, item.part);
  } else if (item.part == 0) {
    follow_instruction(item.computation, item.instruction);
  } else {
    follow_element(item.computation, item.instruction, item.part - 1);
  }
}

void Liveness::follow_result(ComputationId c, size_t part) {
  need(c, module_.at(c).root, part);
  for (size_t i = 0; i < live_callers_[c.value].size(); ++i) {
    caller_needs_result(live_callers_[c.value][i], part);
  }
}

void Liveness::follow_instruction(ComputationId c, InstructionId i) {
  const Instruction& instruction = module_.at(c).at(i);
  for (InstructionId id : instruction.extras->control_predecessors) need_all(c, id);
  if (instruction.opcode == Opcode::kTuple) return;  // its elements say which operands
  if (instruction.opcode == Opcode::kParameter) {
    follow_parameter(c, static_cast<size_t>(instruction.attrs.get<hlo::ParameterAttrs>().number),
                     0);
  } else if (instruction.opcode == Opcode::kGetTupleElement) {
    auto index = static_cast<size_t>(instruction.attrs.get<hlo::TupleIndexAttrs>().index);
    need(c, instruction.operands[0], 1 + index);
    need_all(c, i);
  } else if (shrinks_with_callee(module_, instruction)) {
    follow_region(c, i);
  } else {
    follow_opaque(c, i);
  }
}

void Liveness::follow_region(ComputationId c, InstructionId i) {
  const Instruction& instruction = module_.at(c).at(i);
  if (instruction.opcode == Opcode::kConditional) need_all(c, instruction.operands[0]);
  for (uint32_t which = 0; which < instruction.called.size(); ++which) {
    ComputationId callee = instruction.called[which];
    enter(callee, {c, i, which});
    if (instruction.opcode == Opcode::kWhile || instruction.opcode == Opcode::kConditional) {
      need(callee, module_.at(callee).parameters[0], 0);  // takes one parameter, even if it is ()
    }
  }
  if (instruction.opcode == Opcode::kWhile) need(c, instruction.operands[0], 0);
}

// An op that reads all of its operands and gives all of its result.
void Liveness::follow_opaque(ComputationId c, InstructionId i) {
  const Instruction& instruction = module_.at(c).at(i);
  need_all(c, i);
  for (InstructionId operand : instruction.operands) need_all(c, operand);
  for (uint32_t which = 0; which < instruction.called.size(); ++which) {
    enter(instruction.called[which], {c, i, which});
    need_signature(instruction.called[which]);
  }
}

void Liveness::follow_element(ComputationId c, InstructionId i, size_t element) {
  const Instruction& instruction = module_.at(c).at(i);
  switch (instruction.opcode) {
    case Opcode::kTuple: return need_all(c, instruction.operands[element]);
    case Opcode::kParameter:
      return follow_parameter(
          c, static_cast<size_t>(instruction.attrs.get<hlo::ParameterAttrs>().number), 1 + element);
    case Opcode::kCall:
    case Opcode::kConditional:
      for (ComputationId callee : instruction.called) need_result(callee, 1 + element);
      return;
    case Opcode::kWhile:
    case Opcode::kScan: return follow_carry(c, i, element);
    default: return;  // follow_instruction() needed all
  }
}

void Liveness::follow_carry(ComputationId c, InstructionId i, size_t element) {
  const Instruction& instruction = module_.at(c).at(i);
  ComputationId body = instruction.called[0];
  need_result(body, 1 + element);
  if (instruction.opcode == Opcode::kWhile) {
    need(c, instruction.operands[0], 1 + element);
    for (ComputationId callee : instruction.called) {
      need(callee, module_.at(callee).parameters[0], 1 + element);
    }
    return;
  }
  ScanParts parts = scan_parts(module_.at(c), instruction, module_.at(body));
  if (element < parts.outputs) return;
  size_t operand = parts.inputs + (element - parts.outputs);
  need_all(c, instruction.operands[operand]);
  need_all(body, module_.at(body).parameters[operand]);
}

void Liveness::follow_parameter(ComputationId c, size_t number, size_t part) {
  for (size_t i = 0; i < live_callers_[c.value].size(); ++i) {
    caller_needs_parameter(live_callers_[c.value][i], number, part);
  }
}

// Notes a live caller. It must give what the callee needs so far.
void Liveness::enter(ComputationId callee, Caller caller) {
  const Computation& computation = module_.at(callee);
  if (caller.instruction.valid()) live_callers_[callee.value].push_back(caller);
  if (!entered_[callee.value]) {
    entered_[callee.value] = true;
    need_result(callee, 0);
    for (size_t i = 0; effects_.of(callee) && i < computation.instructions.size(); ++i) {
      if (effects_.of(computation.instructions[i])) need(callee, InstructionId(i), 0);
    }
  }
  if (!caller.instruction.valid()) return;
  for (size_t number = 0; number < computation.parameters.size(); ++number) {
    Node parameter = node(callee, computation.parameters[number]);
    for (size_t part = 0; part < part_count(parameter); ++part) {
      if (live(parameter, part)) caller_needs_parameter(caller, number, part);
    }
  }
  for (size_t part = 0; part < part_count(result_node(callee)); ++part) {
    if (live(result_node(callee), part)) caller_needs_result(caller, part);
  }
}

void Liveness::caller_needs_parameter(const Caller& caller, size_t number, size_t part) {
  const Instruction& instruction = at(caller);
  if (!shrinks_with_callee(module_, instruction)) return;  // it gives all
  if (instruction.opcode == Opcode::kWhile) {
    need(caller.computation, caller.instruction, part);
  } else if (instruction.opcode == Opcode::kConditional) {
    need(caller.computation, instruction.operands[1 + caller.which], part);
  } else if (instruction.opcode == Opcode::kCall) {
    need(caller.computation, instruction.operands[number], part);
  } else {
    ScanParts parts =
        scan_parts(module_.at(caller.computation), instruction, module_.at(instruction.called[0]));
    if (number < parts.inputs) return need_all(caller.computation, instruction.operands[number]);
    need(caller.computation, caller.instruction, 1 + parts.outputs + (number - parts.inputs));
  }
}

void Liveness::caller_needs_result(const Caller& caller, size_t part) {
  const Instruction& instruction = at(caller);
  bool is_condition = instruction.opcode == Opcode::kWhile && caller.which == 1;
  if (is_condition || !shrinks_with_callee(module_, instruction)) return;
  need(caller.computation, caller.instruction, part);
}

// A scan without inputs would not know its length, so its smallest input stays. Returns true if
// there was such a scan.
bool Liveness::keep_one_input_of_scans() {
  for (size_t c = 0; c < module_.computations.size(); ++c) {
    const Computation& caller = module_.computations[c];
    for (size_t i = 0; entered_[c] && i < caller.instructions.size(); ++i) {
      const Instruction& scan = caller.instructions[i];
      if (scan.opcode != Opcode::kScan || !is_live(ComputationId(c), InstructionId(i))) continue;
      const Computation& body = module_.at(scan.called[0]);
      ScanParts parts = scan_parts(caller, scan, body);
      size_t smallest = 0;
      bool any = parts.inputs == 0;
      for (size_t input = 0; input < parts.inputs; ++input) {
        any = any || is_live(scan.called[0], body.parameters[input]);
        if (body.parameter_shape(input).byte_size() < body.parameter_shape(smallest).byte_size()) {
          smallest = input;
        }
      }
      if (!any) need(scan.called[0], body.parameters[smallest], 0);
    }
  }
  return !queue_.empty();
}

}  // namespace heddle::transform
