// Sorts by integers that stand for the keys.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes sorts along other dimensions as transposed ones along the last, and those of up to 128
// narrow integers as those of s32: rows lie in memory as they are sorted, and fill vectors. Writes
// topk of such short rows as sorts.
[[nodiscard]] StatusOr<hlo::Module> sort_in_rows(const hlo::Module& module);

// Writes stable sorts along the last dimension as sorts by one operand more, of integers in the
// order of the keys (interpreter::encode() has it), for the kernel of sorts. Where only the first
// elements of rows are read, it writes topk. Sorts by several keys, or with comparators that
// interpreter::sort_keys() does not know, stay.
[[nodiscard]] StatusOr<hlo::Module> key_sorts(const hlo::Module& module);

}  // namespace heddle::cpu
