// Any machine, no flags.
#include "heddle/cpu/kernels/fourier/fft_stages.h"

namespace heddle::cpu {

const FftTable kFftGeneric = kStages;

}  // namespace heddle::cpu
