// Any machine, no flags.
#include "heddle/cpu/kernels/fft_stages.h"

namespace heddle::cpu {

const FftTable kFftGeneric = {.f32 = run_stages<float>,
                              .f64 = run_stages<double>,
                              .moves_f32 = &kMoves<float>,
                              .moves_f64 = &kMoves<double>};

}  // namespace heddle::cpu
