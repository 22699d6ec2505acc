#include "heddle/pjrt/internal/record.h"

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/pjrt/internal/types.h"

namespace heddle::pjrt {
namespace {

bool has_dtype(const DevicePlugin& plugin, DType dtype) {
  return plugin.dtypes.empty() || std::ranges::find(plugin.dtypes, dtype) != plugin.dtypes.end();
}

std::string names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType known : dtypes) names.push_back(base::cat(known));
  return base::join(names, ", ");
}

// ThreeFry has a state of two words; Philox of two or three.
Status check_state(const hlo::Module& module, const hlo::Computation& computation,
                   const hlo::Instruction& bits, hlo::RandomAlgorithm algorithm) {
  const bool is_threefry = algorithm == hlo::RandomAlgorithm::kThreeFry;
  const Shape& state = computation.at(bits.operands[0]).shape;
  if (same_type(state, Shape(u64, {2})) || (!is_threefry && same_type(state, Shape(u64, {3}))))
    return {};
  return base::unimplemented(
      "compile ", module.name, ": ", to_string(bits.opcode), " ", bits.name, ": state is ", state,
      "; it must be u64[2]", is_threefry ? " for rng_three_fry" : " or u64[3] for rng_philox",
      ", which the plugin's record says", bits.at.known() ? base::cat(" [", bits.at, "]") : "");
}

}  // namespace

Status check_record(const DevicePlugin& plugin) {
  if (plugin.limits.launches < 1) {
    return base::invalid_argument("launches in flight are ", plugin.limits.launches,
                                  "; there must be at least 1");
  }
  if (plugin.limits.bytes.value_or(1) < 1) {
    return base::invalid_argument("bytes in flight are ", *plugin.limits.bytes,
                                  "; there must be at least 1");
  }
  for (const std::string& target : plugin.expansions.value_or(std::vector<std::string>())) {
    if (!transform::can_expand(target)) {
      return base::invalid_argument("expansion \"", target,
                                    "\": Heddle has none for this custom call; take it out");
    }
  }
  return {};
}

Status check_dtype(DType dtype, const DevicePlugin& plugin) {
  if (has_dtype(plugin, dtype)) return {};
  return base::unimplemented("arrays of ", dtype, " are none of the plugin's, whose record says ",
                             names_of(plugin.dtypes), "; convert to one of them");
}

StatusOr<hlo::Module> fit_to_plugin(hlo::Module module, const DevicePlugin& plugin) {
  HEDDLE_RETURN_IF_ERROR(
      check_arrays(module, [&](const Shape& array) { return check_dtype(array.dtype(), plugin); }));
  if (plugin.rng == hlo::RandomAlgorithm::kDefault) return module;
  for (hlo::Computation& computation : module.computations) {
    for (hlo::Instruction& instruction : computation.instructions) {
      if (instruction.opcode != hlo::Opcode::kRngBitGenerator) continue;
      auto attrs = instruction.attrs.get<hlo::RngBitGeneratorAttrs>();
      if (attrs.algorithm != hlo::RandomAlgorithm::kDefault) continue;
      HEDDLE_RETURN_IF_ERROR(check_state(module, computation, instruction, plugin.rng));
      attrs.algorithm = plugin.rng;
      instruction.attrs = attrs;
    }
  }
  return module;
}

Status check_written(const hlo::Module& module, const DevicePlugin& plugin) {
  return check_arrays(module, [&](const Shape& array) {
    if (has_dtype(plugin, array.dtype())) return Status();
    return base::unimplemented("arrays of ", array.dtype(),
                               ", which an op of the program is written "
                               "with, are none of the plugin's, whose record says ",
                               names_of(plugin.dtypes), "; write the op with these");
  });
}

transform::CallFilter expansions_of(const DevicePlugin& plugin) {
  if (!plugin.expansions.has_value()) return nullptr;
  return [targets = *plugin.expansions](std::string_view target) {
    return std::ranges::find(targets, target) != targets.end();
  };
}

}  // namespace heddle::pjrt
