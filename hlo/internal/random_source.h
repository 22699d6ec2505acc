// Random numbers of a run: what rng and rng-get-and-update-state draw from. The Caller of an
// evaluator's run is one.
#pragma once

#include "heddle/hlo/ops/random_bits.h"

namespace heddle::hlo {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // The seed that the run was given.
  [[nodiscard]] virtual uint64_t seed() const = 0;
  // The run's counter, 0 at its start; afterwards it is `by` further.
  virtual WideCounter advance(uint64_t by) = 0;
};

}  // namespace heddle::hlo
