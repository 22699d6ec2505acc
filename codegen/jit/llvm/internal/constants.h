// Where loops have more constants than the machine has registers.
#pragma once

#include <cstdint>

#include "llvm/IR/Module.h"

namespace heddle::cpu {

// Gives instructions of such loops their constants as operands in memory. Else AVX2, which has 16
// registers and no operands of one element that stand for all, has a broadcast for each.
void keep_constants_in_memory(llvm::Module& module, int64_t vector_bytes);

}  // namespace heddle::cpu
