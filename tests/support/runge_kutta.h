// An ODE solver for samples.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/heddle.h"

namespace heddle {

// Steps of Runge and Kutta's method of order 4; all states.
template <class Slope>
Tensor runge_kutta(Slope slope, Tensor x, double dt, int64_t steps) {
  auto step = [&](Tensor x, None) {
    const Tensor k1 = slope(x), k2 = slope(x + (dt / 2) * k1), k3 = slope(x + (dt / 2) * k2);
    const Tensor k4 = slope(x + dt * k3);
    x = x + (dt / 6) * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    return std::pair(x, x);
  };
  return scan(step, x, None{}, {.length = steps}).second;
}

}  // namespace heddle
