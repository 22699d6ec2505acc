// lower(): a traced module as a backend compiles it.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// Returns the module as plain HLO (hlo::Stage::kHlo): scans are whiles, unused carries, xs and ys
// are gone. errors: of a pass, or if the result does not verify
StatusOr<hlo::Module> lower(const hlo::Module& traced);

}  // namespace heddle::transform
