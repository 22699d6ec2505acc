// Compiled with -mavx2 -mfma.
#include "heddle/cpu/kernels/fourier/fft_stages.h"

namespace heddle::cpu {

const FftTable kFftAvx2 = kStages;

}  // namespace heddle::cpu
