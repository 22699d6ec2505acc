// Compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512.
#include "heddle/cpu/kernels/fourier/fft_stages.h"

namespace heddle::cpu {

const FftTable kFftAvx512 = kStages;

}  // namespace heddle::cpu
