// Which C++ numbers of what runs at once are others from call to call, as learning rates are. All
// threads learn it together, by the place in the program and not by the types there, so that a line
// that many shapes come to, or many threads, has a second program once and not at each call.
// Private to Heddle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "heddle/hlo/module.h"

namespace heddle::trace_internal {

// A number of a trace: the trace's place_of(), the instruction that the number is there, and a hash
// of the types before it. A number that differs from type to type alone, as the count in a mean,
// does not vary.
struct NumberPlace {
  uint64_t place = 0;
  uint64_t instruction = 0;
  uint64_t types = 0;
};

// The one that is recorded next, behind the instructions of a trace.
[[nodiscard]] NumberPlace next_number(const hlo::Computation& trace, uint64_t place);

// Whether a number is known to vary, with whatever types: with these it is not what stood there the
// last time that someone asked, or that was so before. What is known may be forgotten, where two
// places meet.
[[nodiscard]] bool varies(const NumberPlace& at, std::span<const std::byte> bytes);
// It varies, whatever it is and with whatever types.
void note_that_varies(const NumberPlace& at);

void forget_varying_numbers();

}  // namespace heddle::trace_internal
