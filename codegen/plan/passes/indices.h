// Indices of elements that differ by constants.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Writes indices of one block that differ by constants alone as one number and a constant, which
// machines add for free: a[(i + 1) * 16] and a[(i + 2) * 16] are i * 16 + 16 and i * 16 + 32.
void share_indices(Plan& plan);

}  // namespace heddle::cpu
