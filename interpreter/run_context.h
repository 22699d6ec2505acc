// What a run of a module offers to the rules that it calls.
#pragma once

#include <cstdint>
#include <utility>

namespace heddle::interpreter {

// 128 bits that count.
struct WideCounter {
  uint64_t low = 0;
  uint64_t high = 0;
};
WideCounter advanced(WideCounter counter, uint64_t by);

struct Seat;  // interpreter/rendezvous.h

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
