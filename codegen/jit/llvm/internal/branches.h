// Selects of vectors whose first operand takes long become branches.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Instructions.h"

namespace heddle::cpu {

// What only the first operand of a select needs, or those of neighbours of one condition, is
// computed where any lane takes it. The selects are in the order of their blocks.
void skip_unneeded_operands(llvm::ArrayRef<llvm::SelectInst*> selects);

}  // namespace heddle::cpu
