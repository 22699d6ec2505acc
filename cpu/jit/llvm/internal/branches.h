// Selects of vectors whose first operand takes long become branches.
#pragma once

#include <span>

#include "llvm/IR/Instructions.h"

namespace heddle::cpu {

// What only the first operand of a select needs is computed where any lane takes it.
void skip_unneeded_operands(std::span<llvm::SelectInst* const> selects);

}  // namespace heddle::cpu
