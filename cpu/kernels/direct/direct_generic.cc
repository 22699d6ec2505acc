// Compiled with -O3, for any processor of the architecture.
#include "heddle/cpu/kernels/direct/direct.h"
#include "heddle/cpu/kernels/direct/direct_loops.h"

namespace heddle::cpu {

const DirectKernels kDirectGeneric = kKernels;

}  // namespace heddle::cpu
