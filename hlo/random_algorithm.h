// How rng-bit-generator makes its bits; kDefault leaves it to the backend.
#pragma once

#include <cstdint>

namespace heddle::hlo {

enum class RandomAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };

}  // namespace heddle::hlo
