#include "heddle/transform/derivatives/internal/dependence.h"

#include <algorithm>

#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/effects.h"
#include "heddle/transform/internal/leaves.h"

namespace heddle::transform {
namespace {

using Flags = std::vector<bool>;

bool any_of(const Flags& flags) { return std::ranges::find(flags, true) != flags.end(); }

void add(Flags& to, const Flags& more) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = to[i] || more[i];
}

// Marks leaves: those that depend on marked ones, or those that are perhaps not 0.
class Marks {
 public:
  enum class Of : uint8_t { kDependent, kNotZero };

  Marks(const Writer& writer, Of of) : writer_(writer), of_(of) {}

  // By instruction.
  [[nodiscard]] std::vector<Flags> values(const Computation& computation, const Flags& on) const {
    std::vector<Flags> values = values_of_parameters(computation, on);
    for (size_t i = 0; i < values.size(); ++i) {
      if (computation.instructions[i].opcode == Opcode::kParameter) continue;
      values[i] = marked(computation, InstructionId(i), values);
    }
    return values;
  }
  [[nodiscard]] Flags results(const Computation& computation, const Flags& on) const {
    return values(computation, on)[computation.root.value];
  }

 private:
  [[nodiscard]] Flags marked(const Computation& computation, InstructionId id,
                             const std::vector<Flags>& values) const {
    const Instruction& instruction = computation.at(id);
    const Flags operands = leaves_of_operands(instruction, values);
    switch (instruction.opcode) {
      case Opcode::kTuple:
      case Opcode::kOptBarrier: return operands;
      case Opcode::kGetTupleElement: return leaves_of_element(computation, instruction, operands);
      case Opcode::kCall: return results(callee(instruction, 0), operands);
      case Opcode::kScan: return of_scan(instruction, operands);
      case Opcode::kWhile: return of_while(instruction, operands);
      case Opcode::kConditional: return of_branches(computation, instruction, operands);
      default: {
        const bool is_marked =
            of_ == Of::kDependent
                ? any_of(operands)
                : !is_zero(computation, id) && !keeps_zero(computation, instruction, values);
        return Flags(leaf_count(instruction.shape), is_marked);
      }
    }
  }

  [[nodiscard]] Computation callee(const Instruction& instruction, size_t i) const {
    return writer_.module().at(instruction.called[i]);
  }

  [[nodiscard]] Flags of_scan(const Instruction& scan, Flags operands) const {
    const auto carries = static_cast<size_t>(scan.attrs.get<hlo::ScanAttrs>().num_carries);
    const size_t inputs = operands.size() - carries;
    while (true) {
      Flags results = this->results(callee(scan, 0), operands);
      const size_t outputs = results.size() - carries;
      const Flags before = operands;
      for (size_t i = 0; i < carries; ++i)
        operands[inputs + i] = operands[inputs + i] || results[outputs + i];
      if (operands != before) continue;
      for (size_t i = 0; i < carries; ++i) results[outputs + i] = operands[inputs + i];
      return results;
    }
  }

  [[nodiscard]] Flags of_while(const Instruction& loop, Flags state) const {
    while (true) {
      const Flags before = state;
      add(state, results(callee(loop, 0), before));
      const bool is_led = of_ == Of::kDependent && results(callee(loop, 1), before)[0];
      if (is_led) state.assign(state.size(), true);
      if (state == before) return state;
    }
  }

  [[nodiscard]] Flags of_branches(const Computation& caller, const Instruction& conditional,
                                  const Flags& operands) const {
    Flags out(leaf_count(conditional.shape), of_ == Of::kDependent && operands[0]);
    size_t next = 1;
    for (size_t i = 0; i < conditional.called.size(); ++i) {
      const size_t count = leaf_count(caller.at(conditional.operands[i + 1]).shape);
      add(out, results(callee(conditional, i), part_of(operands, next, count)));
      next += count;
    }
    return out;
  }

  // Whether an op that is linear in those of its operands that are 0 gives 0: a sum of such, or a
  // product with one.
  static bool keeps_zero(const Computation& computation, const Instruction& instruction,
                         const std::vector<Flags>& values) {
    if (!hlo::derivative_of(instruction).transpose) return false;
    const bool is_sum = hlo::does(instruction.opcode, hlo::kJoins);
    for (InstructionId id : instruction.operands) {
      const Instruction& operand = computation.at(id);
      if (!operand.shape.is_array() || !hlo::has_tangent(operand.shape)) continue;
      // A constant that is divided by is no factor.
      const bool is_constant = is_zero(computation, id);
      if (!values[id.value][0] && !is_constant && !is_sum) return true;
      if (values[id.value][0] && is_sum) return false;
    }
    return is_sum;
  }

  const Writer& writer_;
  Of of_;
};

class WithoutCallsOn {
 public:
  explicit WithoutCallsOn(Writer& writer)
      : writer_(writer), effects_(writer.module()), marks_(writer, Marks::Of::kDependent) {}

  // Whether it could.
  bool clean(Computation& computation, const Flags& on) {
    const std::vector<Flags> values = marks_.values(computation, on);
    for (size_t i = 0; i < values.size(); ++i) {
      Instruction& instruction = computation.instructions[i];
      if (!effects_.of(instruction)) continue;
      const Flags operands = leaves_of_operands(instruction, values);
      if (!any_of(operands)) continue;
      if (hlo::is_debug_call(instruction))
        instruction = zeros_for(instruction);
      else if (!clean_regions(computation, instruction, operands, values[i]))
        return false;
    }
    return true;
  }

 private:
  bool clean_regions(const Computation& caller, Instruction& instruction, const Flags& operands,
                     const Flags& results) {
    const auto clean_region = [&](size_t which, const Flags& on) {
      Computation region = writer_.module().at(instruction.called[which]);
      if (!clean(region, on)) return false;
      instruction.called[which] = writer_.add(std::move(region));
      return true;
    };
    switch (instruction.opcode) {
      case Opcode::kCall: return clean_region(0, operands);
      case Opcode::kWhile: return clean_region(0, results) && clean_region(1, results);
      case Opcode::kScan: {
        const auto carries = instruction.attrs.get<hlo::ScanAttrs>().num_carries;
        Flags on(operands.begin(), operands.end() - carries);
        on.insert(on.end(), results.end() - carries, results.end());
        return clean_region(0, on);
      }
      case Opcode::kConditional: {
        size_t next = 1;
        for (size_t i = 0; i < instruction.called.size(); ++i) {
          const size_t count = leaf_count(caller.at(instruction.operands[i + 1]).shape);
          if (!clean_region(i, part_of(operands, next, count))) return false;
          next += count;
        }
        return true;
      }
      default: return false;
    }
  }

  Writer& writer_;
  const Effects effects_;
  const Marks marks_;
};

}  // namespace

Flags dependent_results(const Writer& writer, const Computation& computation, const Flags& on) {
  return Marks(writer, Marks::Of::kDependent).results(computation, on);
}

Flags vanishing_results(const Writer& writer, const Computation& computation, const Flags& at) {
  Flags others = at;
  others.flip();
  Flags out = Marks(writer, Marks::Of::kNotZero).results(computation, others);
  out.flip();
  return out;
}

std::optional<Computation> without_debug_calls_on(Writer& writer, Computation computation,
                                                  const Flags& on) {
  if (!WithoutCallsOn(writer).clean(computation, on)) return std::nullopt;
  return computation;
}

}  // namespace heddle::transform
