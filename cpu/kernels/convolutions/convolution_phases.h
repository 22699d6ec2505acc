// Which taps of a window fall on elements of a dilated array.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

// Some places and taps of a window, along one dimension.
struct PhaseDimension {
  int64_t place = 0, place_step = 1;
  int64_t tap = 0, tap_step = 1;
};
using Phase = std::vector<PhaseDimension>;

struct Phases {
  // Each the places of which the same taps fall on elements or beyond the array, and those taps.
  std::vector<Phase> phases;
  bool have_all_places = true;  // false: no tap of the others falls on an element
};

// `places`: how many there are along each dimension.
Phases phases_of(const std::vector<hlo::WindowDimension>& window,
                 const std::vector<int64_t>& places);

}  // namespace heddle::cpu
