// What a run of a module offers to the rules that it calls.
#pragma once

#include <utility>

#include "heddle/interpreter/ops/control/random_bits.h"

namespace heddle::interpreter {

struct Seat;  // interpreter/ops/device/rendezvous.h

struct RunContext {
  // What rng and rng-get-and-update-state draw from. The counter is 0 at the start of a run.
  uint64_t seed = 0;
  WideCounter counter;
  // Which device the run is, of those that run together; null: one device, alone.
  const Seat* seat = nullptr;

  // The counter, which afterwards is `by` further.
  WideCounter advance(uint64_t by) { return std::exchange(counter, advanced(counter, by)); }
};

}  // namespace heddle::interpreter
