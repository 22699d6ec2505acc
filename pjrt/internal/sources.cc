#include "heddle/pjrt/internal/sources.h"

#include <utility>

#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/trip_count.h"

namespace heddle::pjrt {
namespace {

// XLA finds the trips of a loop itself, so a loop that states none may have one.
bool is_entered(const Instruction& loop, Sources::Loops loops) {
  if (loops == Sources::Loops::kAny) return true;
  return transform::known_trip_count(loop).value_or(1) <= 1;
}

}  // namespace

Sources::Sources(const hlo::Module& module)
    : module_(module), callers_(module.computations.size()) {
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const hlo::Computation& computation = module.computations[c];
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      const auto& called = computation.instructions[i].called;
      for (size_t number = 0; number < called.size(); ++number) {
        callers_[called[number].value].push_back(
            {hlo::ComputationId(c), hlo::InstructionId(i), number});
      }
    }
  }
}

bool Sources::collect(std::vector<Source> from, Loops loops, const Through& through,
                      std::set<Source>& found) const {
  while (!from.empty()) {
    const Source now = std::move(from.back());
    from.pop_back();
    if (!found.insert(now).second) continue;
    if (found.size() > kMost) return false;
    add_next(now, loops, through, from);
  }
  return true;
}

void Sources::add_next(const Source& now, Loops loops, const Through& through,
                       std::vector<Source>& next) const {
  const Instruction& instruction = at(now);
  const auto add_operand = [&](size_t operand, std::vector<int64_t> element) {
    next.push_back({now.computation, instruction.operands[operand], std::move(element)});
  };
  const auto add_root = [&](hlo::ComputationId called) {
    next.push_back({called, module_.at(called).root, now.element});
  };
  switch (instruction.opcode) {
    case Opcode::kParameter: return add_callers(now, loops, next);
    case Opcode::kGetTupleElement: {
      std::vector<int64_t> element = now.element;
      element.insert(element.begin(), instruction.attrs.get<hlo::TupleIndexAttrs>().index);
      return add_operand(0, std::move(element));
    }
    case Opcode::kTuple:
      if (!now.element.empty()) {
        return add_operand(static_cast<size_t>(now.element[0]),
                           {now.element.begin() + 1, now.element.end()});
      }
      for (size_t i = 0; i < instruction.operands.size(); ++i) add_operand(i, {});
      return;
    case Opcode::kOptBarrier:
    case Opcode::kAddDependency: return add_operand(0, now.element);
    case Opcode::kCall: return add_root(instruction.called[0]);
    case Opcode::kConditional:
      for (const hlo::ComputationId branch : instruction.called) add_root(branch);
      return;
    case Opcode::kWhile:
      if (!is_entered(instruction, loops)) return;
      add_operand(0, now.element);
      return add_root(instruction.called[0]);
    default:
      for (size_t i = 0; i < instruction.operands.size(); ++i)
        if (through(now, i)) add_operand(i, {});
  }
}

void Sources::add_callers(const Source& parameter, Loops loops, std::vector<Source>& next) const {
  const int64_t number = at(parameter).attrs.get<hlo::ParameterAttrs>().number;
  for (const Caller& caller : callers_[parameter.computation.value]) {
    const Instruction& calls = module_.at(caller.computation).at(caller.instruction);
    const auto add = [&](size_t operand) {
      next.push_back({caller.computation, calls.operands[operand], parameter.element});
    };
    switch (calls.opcode) {
      case Opcode::kCall: add(static_cast<size_t>(number)); break;
      case Opcode::kConditional: add(1 + caller.number); break;
      case Opcode::kWhile:
        if (!is_entered(calls, loops)) break;
        add(0);
        next.push_back({calls.called[0], module_.at(calls.called[0]).root, parameter.element});
        break;
      default: break;
    }
  }
}

}  // namespace heddle::pjrt
