#include "heddle/hlo/calls/custom_derivative.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace heddle::hlo {

bool is_custom(const Instruction& instruction, std::string_view target) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attrs.get<CustomCallAttrs>().custom_call_target == target;
}

bool has_own_derivative(const Instruction& instruction) {
  constexpr std::string_view kTargets[] = {kCustomJvp, kWithTangent, kElementwiseCall,
                                           kCustomVjp, kLinearSolve, kRoot};
  return std::ranges::any_of(
      kTargets, [&](std::string_view target) { return is_custom(instruction, target); });
}

std::optional<std::vector<size_t>> operand_counts(std::string_view config, size_t operands,
                                                  size_t numbers) {
  const char* at = config.data();
  const char* const end = at + config.size();
  std::vector<size_t> counts;
  size_t sum = 0;
  while (at < end && counts.size() < numbers) {
    size_t count = 0;
    const auto [next, error] = std::from_chars(at, end, count);
    if (error != std::errc() || (next != end && *next != ',') || count > operands)
      return std::nullopt;
    counts.push_back(count);
    sum += count;
    at = next == end ? end : next + 1;
  }
  if (at != end || counts.size() != numbers || sum != operands) return std::nullopt;
  return counts;
}
std::optional<std::vector<size_t>> operand_counts(const Instruction& instruction, size_t numbers) {
  return operand_counts(instruction.extras->backend_config, instruction.operands.size(), numbers);
}

bool takes(const Computation& computation, const std::vector<Shape>& parameters, size_t results) {
  if (computation.parameters.size() != parameters.size()) return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!same_type(computation.parameter_shape(i), parameters[i])) return false;
  }
  const Shape& result = computation.result_shape();
  return result.is_tuple() && static_cast<size_t>(result.element_shapes()) == results;
}

std::optional<Instruction> without_custom_derivative(const Instruction& instruction) {
  if (!has_own_derivative(instruction) || instruction.called.empty()) return std::nullopt;
  const auto counts = operand_counts(instruction, 1 + instruction.called.size());
  if (!counts) return std::nullopt;
  Instruction call = instruction;
  call.opcode = Opcode::kCall;
  call.attrs = CallAttrs();
  call.operands.resize((*counts)[0] + (*counts)[1]);
  call.called.resize(1);
  call.extras.mutate().backend_config.clear();
  return call;
}

bool has_custom_pullback(const Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const Instruction& instruction) {
      return is_custom(instruction, kCustomPullback);
    });
  });
}

}  // namespace heddle::hlo
