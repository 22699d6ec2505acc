// expand-checks: debug_check as a part of the program. Each check writes into one record, which
// goes through all loops as a carry, and the program ends with one call of the host that reads it.
// So a loop does not call the host, and the record has the step of each loop around the check.
//
//   h = tanh(..)               bad = !all(is_finite(h))
//   heddle.check(h)     =>     record = record[0] == 0 && bad ? {7, kind, steps..} : record
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// The first check of a traced module that finds NaN or an infinity, in the order in which it runs,
// is the error of the run: OutOfRange with the name of the check and the steps. A `while` ends
// where a check has failed.
//
// `all`: also checks every float that an instruction gives for NaN, by the instruction's name and
// line. It leaves out values that select only chooses from, and the computations of reductions and
// the like.
[[nodiscard]] StatusOr<hlo::Module> expand_checks(const hlo::Module& module, bool all);

// The module with a check for NaN behind each instruction that expand_checks(module, true) checks.
// The checks are calls of heddle.check, which stay when the module is called, batched and
// differentiated.
[[nodiscard]] StatusOr<hlo::Module> with_nan_checks(const hlo::Module& module);

// Whether expand_checks(module, false) has anything to do.
[[nodiscard]] bool has_checks(const hlo::Module& module);

}  // namespace heddle::transform
