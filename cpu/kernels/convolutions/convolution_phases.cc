#include "heddle/cpu/kernels/convolutions/convolution_phases.h"

#include <algorithm>
#include <numeric>

namespace heddle::cpu {
namespace {

// `tap` is -1 where none of the places' taps falls on an element.
PhaseDimension phase_at(const hlo::WindowDimension& window, int64_t place) {
  const int64_t dilation = window.base_dilation;
  const int64_t place_step = dilation / std::gcd(window.stride, dilation);
  const int64_t tap_step = dilation / std::gcd(window.window_dilation, dilation);
  for (int64_t tap = 0; tap < std::min(tap_step, window.size); ++tap) {
    const int64_t spread =
        place * window.stride + tap * window.window_dilation - window.padding_low;
    if (spread % dilation == 0) return {place, place_step, tap, tap_step};
  }
  return {place, place_step, -1, tap_step};
}

}  // namespace

Phases phases_of(const std::vector<hlo::WindowDimension>& window,
                 const std::vector<int64_t>& places) {
  Phases out{.phases = {{}}};
  for (size_t d = 0; d < window.size(); ++d) {
    std::vector<Phase> longer;
    const int64_t step = phase_at(window[d], 0).place_step;
    for (int64_t place = 0; place < std::min(step, places[d]); ++place) {
      const PhaseDimension next = phase_at(window[d], place);
      if (next.tap < 0) {
        out.have_all_places = false;
        continue;
      }
      for (const Phase& phase : out.phases) {
        longer.push_back(phase);
        longer.back().push_back(next);
      }
    }
    out.phases = std::move(longer);
  }
  return out;
}

}  // namespace heddle::cpu
