// Compiled with -O3 -mavx2 -mfma; products and sums may be fused.
#include "heddle/cpu/kernels/factors/factor_loops.h"

namespace heddle::cpu {

const FactorTable kFactorsAvx2 = {kLoops<float>, kLoops<double>};

}  // namespace heddle::cpu
