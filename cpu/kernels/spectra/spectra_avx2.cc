// Compiled with -O2 -mavx2 -mfma; products and sums may be fused.
#include "heddle/cpu/kernels/spectra/spectra_loops.h"

namespace heddle::cpu {

const SpectrumTable kSpectraAvx2 = {kSpectrumLoops<float>, kSpectrumLoops<double>};

}  // namespace heddle::cpu
