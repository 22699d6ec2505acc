// Compiled with -O2, for any processor of the architecture.
#include "heddle/cpu/kernels/spectra/spectra_loops.h"

namespace heddle::cpu {

const SpectrumTable kSpectraGeneric = {kSpectrumLoops<float>, kSpectrumLoops<double>};

}  // namespace heddle::cpu
