// Rewritings that tell whether they found something.
#pragma once

#include <optional>
#include <utility>

#include "heddle/base/status.h"
#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/module.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

// As transform::with_rewritten(), where make(to, id) gives what writes the instructions of
// computation id. Returns nothing where all stay.
template <class Make>
StatusOr<std::optional<hlo::Module>> rewritten_if_any(const hlo::Module& module, const Make& make) {
  transform::ModuleRebuilder into(module);
  bool is_other = false;
  for (const ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    auto write = make(to, id);
    for (const InstructionId i : to.order()) {
      if (const hlo::Value now = write(i)) {
        to.replace(i, now);
        is_other = true;
      } else {
        to.copy(i);
      }
    }
    into.replace(id, std::move(to).finish());
  }
  if (!is_other) return std::optional<hlo::Module>();
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
