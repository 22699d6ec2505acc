// Compiled with -O3, for any processor of the architecture.
#include "heddle/cpu/kernels/factors/factor_loops.h"

namespace heddle::cpu {

const FactorTable kFactorsGeneric = {kLoops<float>, kLoops<double>};

}  // namespace heddle::cpu
