// Compiled with -O2 for AVX-512 F, DQ, VL and BW; products and sums may be fused.
#include "heddle/cpu/kernels/spectra/spectra_loops.h"

namespace heddle::cpu {

const SpectrumTable kSpectraAvx512 = {kSpectrumLoops<float>, kSpectrumLoops<double>};

}  // namespace heddle::cpu
