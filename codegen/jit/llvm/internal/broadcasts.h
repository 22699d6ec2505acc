// Where many lanes of one vector are broadcast.
#pragma once

#include <cstdint>

#include "llvm/IR/Module.h"

namespace heddle::cpu {

// Stores such vectors once, so that each product has its lane as an operand in memory that stands
// for all. A shuffle of a vector of 64 bytes takes a port that multiplications take too.
void broadcast_from_memory(llvm::Module& module, int64_t vector_bytes);

}  // namespace heddle::cpu
