// expand-checks: debug_check as a part of the program. Each check writes into one record, which
// goes through all loops as a carry, and the program ends with one call of the host that reads it.
// So nothing goes to the host in a loop, and what is found is known with the step of each loop
// around it.
//
//   h = tanh(..)               bad = !all(is_finite(h))
//   heddle.check(h)     =>     record = record[0] == 0 && bad ? {7, kind, steps..} : record
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// The first of the checks of a traced module, in the order in which it runs, that finds NaN or an
// infinity is its run's error: OutOfRange with the name of the check and the steps. A `while` ends
// where a check has failed.
//
// `all`: every float that an instruction gives is checked for NaN too, by the instruction's name
// and line. Not what elements are merely chosen from, by select, nor what is computed in the
// computations of reductions and the like.
[[nodiscard]] StatusOr<hlo::Module> expand_checks(const hlo::Module& module, bool all);

// The module with a check for NaN behind each instruction that expand_checks(module, true) looks
// at: as calls of heddle.check, which go where the module is called, batched and differentiated.
[[nodiscard]] StatusOr<hlo::Module> with_nan_checks(const hlo::Module& module);

// Whether expand_checks(module, false) has anything to do.
[[nodiscard]] bool has_checks(const hlo::Module& module);

}  // namespace heddle::transform
