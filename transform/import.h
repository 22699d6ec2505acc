// import(): one module's computations inside another, to be called from there.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Appends all computations of `from` to `into` and returns the new id of its entry. It ignores the
// header of `from`. cost: linear in `from`; constants share their bytes
hlo::ComputationId import(hlo::Module& into, const hlo::Module& from);
hlo::ComputationId import(hlo::Module& into, hlo::Module&& from);

}  // namespace heddle::transform
