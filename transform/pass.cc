#include "heddle/transform/pass.h"

#include <algorithm>

namespace heddle::transform {
namespace {

std::span<const Pass> find_passes(std::string_view name) {
  if (name == "lower") return kLowerPipeline;
  if (name == "flatten") return kFlattenPipeline;
  const Pass* found = std::ranges::find(kPasses, name, &Pass::name);
  if (found == std::end(kPasses)) return {};
  return {found, 1};
}

std::string known_names() {
  std::string names = "lower, flatten";
  for (const Pass& pass : kPasses) append(names, ", ", pass.name);
  return names;
}

// A module that was legal and is not any more is the pass's fault, never the user's.
Status verify_after(const Pass& pass, const hlo::Module& module, hlo::Stage stage) {
  Status status = hlo::verify(module, stage);
  if (status.ok()) return status;
  return internal_error("after ", pass.name, ": ", message_of(status));
}

}  // namespace

StatusOr<hlo::Module> run_pipeline(hlo::Module module, std::span<const Pass> passes,
                                   const PipelineOptions& options) {
  int step = 0;
  hlo::Stage stage = options.stage;
  if (options.verify_each) HEDDLE_RETURN_IF_ERROR(hlo::verify(module, stage));
  if (options.dump) options.dump(step, "input", module);
  for (const Pass& pass : passes) {
    auto now = pass.run(module);
    if (!now.ok()) return annotate(now.status(), pass.name, ": ");
    module = *std::move(now);
    stage = std::max(stage, pass.leaves);
    if (options.verify_each) HEDDLE_RETURN_IF_ERROR(verify_after(pass, module, stage));
    if (options.dump) options.dump(++step, pass.name, module);
  }
  return module;
}

StatusOr<std::vector<Pass>> parse_pipeline(std::string_view names) {
  std::vector<Pass> passes;
  while (!names.empty()) {
    size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    std::span<const Pass> found = find_passes(name);
    if (found.empty())
      return not_found("pass ", name, ": there is none; there are ", known_names());
    passes.insert(passes.end(), found.begin(), found.end());
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return passes;
}

}  // namespace heddle::transform
