// Compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512.
#include "heddle/cpu/kernels/fft_stages.h"

namespace heddle::cpu {

const FftTable kFftAvx512 = {.f32 = run_stages<float>,
                             .f64 = run_stages<double>,
                             .moves_f32 = &kMoves<float>,
                             .moves_f64 = &kMoves<double>};

}  // namespace heddle::cpu
