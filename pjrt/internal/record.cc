#include "heddle/pjrt/internal/record.h"

#include <algorithm>

#include "heddle/base/strings.h"
#include "heddle/pjrt/internal/types.h"

namespace heddle::pjrt {
Status check_record(const DevicePlugin& plugin) {
  if (plugin.limits.launches < 1) {
    return invalid_argument("launches in flight are ", plugin.limits.launches,
                            "; there must be at least 1");
  }
  if (plugin.limits.bytes.value_or(1) < 1) {
    return invalid_argument("bytes in flight are ", *plugin.limits.bytes,
                            "; there must be at least 1");
  }
  for (const std::string& target : plugin.expansions.value_or(std::vector<std::string>())) {
    if (!transform::can_expand(target)) {
      return invalid_argument("expansion \"", target,
                              "\": Heddle has none for this custom call; take it out");
    }
  }
  return {};
}

Status check_dtype(DType dtype, const DevicePlugin& plugin) {
  if (plugin.dtypes.empty() || std::ranges::find(plugin.dtypes, dtype) != plugin.dtypes.end())
    return {};
  std::vector<std::string> names;
  for (const DType known : plugin.dtypes) names.push_back(cat(known));
  return unimplemented("arrays of ", dtype, " are none of the plugin's, whose record says ",
                       join(names, ", "), "; convert to one of them");
}

StatusOr<hlo::Module> fitted(hlo::Module module, const DevicePlugin& plugin) {
  HEDDLE_RETURN_IF_ERROR(
      check_arrays(module, [&](const Shape& array) { return check_dtype(array.dtype(), plugin); }));
  if (plugin.rng == hlo::RandomAlgorithm::kDefault) return module;
  for (hlo::Computation& computation : module.computations) {
    for (hlo::Instruction& instruction : computation.instructions) {
      if (instruction.opcode != hlo::Opcode::kRngBitGenerator) continue;
      auto attrs = instruction.attrs.get<hlo::RngBitGeneratorAttrs>();
      if (attrs.algorithm != hlo::RandomAlgorithm::kDefault) continue;
      attrs.algorithm = plugin.rng;
      instruction.attrs = attrs;
    }
  }
  return module;
}

transform::CallFilter expansions_of(const DevicePlugin& plugin) {
  if (!plugin.expansions.has_value()) return nullptr;
  return [targets = *plugin.expansions](std::string_view target) {
    return std::ranges::find(targets, target) != targets.end();
  };
}

}  // namespace heddle::pjrt
