// Compiled with -O3 -mavx2.
#include "heddle/cpu/kernels/direct/direct.h"
#include "heddle/cpu/kernels/direct/direct_loops.h"

namespace heddle::cpu {

const DirectKernels kDirectAvx2 = kKernels;

}  // namespace heddle::cpu
