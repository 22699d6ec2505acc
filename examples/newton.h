// Newton's method for the examples: a minimum of a function of a few parameters, by its gradient
// and second derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "heddle/compile/compile.h"
#include "heddle/grad/grad.h"
#include "heddle/grad/jacobian.h"
#include "heddle/linalg/solving.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"

struct Minimum {
  heddle::Tensor point;
  double value;
  int evaluations;
};

// loss: f64[n] -> f64[]. The step solves (curvature + damping) step = slope; damping goes down if
// the loss does, else up (K. Levenberg 1944, D. Marquardt 1963).
inline Minimum minimize(const std::function<heddle::Tensor(heddle::Tensor)>& loss,
                        heddle::Tensor start) {
  using namespace heddle;
  const auto look = compile(
      [loss](Tensor point) {
        auto [value, slope] = value_and_grad(loss)(point);
        return std::tuple(value, slope, hessian(loss)(point));
      },
      {.name = "value_slope_and_curvature"});
  const auto step_from = compile(
      [](Tensor slope, Tensor curvature, Tensor damping) {
        return linalg::solve(curvature + damping * eye(slope.size(), f64), slope);
      },
      {.name = "newton_step"});
  Minimum best{std::move(start), 0, 1};
  auto [value, slope, curvature] = look(best.point);
  best.value = value.item<double>();
  for (double damping = 1e-3; damping < 1e12;) {
    Tensor next = best.point - step_from(slope, curvature, scalar(damping));
    const auto [next_value, next_slope, next_curvature] = look(next);
    ++best.evaluations;
    const double gain = best.value - next_value.item<double>();
    if (!(gain >= 0)) {  // worse, or NaN
      damping = std::max(10 * damping, 1e-3);
      continue;
    }
    best.point = next, best.value -= gain;
    slope = next_slope, curvature = next_curvature;
    if (gain <= 1e-12 * std::abs(best.value)) break;
    damping /= 100;
  }
  return best;
}
