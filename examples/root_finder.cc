// Newton's method for x^2 = a as a while_loop: the number of steps is decided on the device.
#include <cmath>
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

struct Search {
  Tensor x;      // f64[], the estimate
  Tensor steps;  // s32[]
  static constexpr auto kFields = fields(field("x", &Search::x), field("steps", &Search::steps));
};

// [root]
Search square_root(Tensor a) {
  auto far = [&](Search s) { return abs(s.x * s.x - a) > 1e-12 * a; };
  auto step = [&](Search s) { return Search{0.5 * (s.x + a / s.x), s.steps + 1}; };
  return while_loop(far, step, Search{a, zeros({}, s32)});
}
// [/root]

int main() {
  Search found = square_root(scalar<double>(2.0));
  std::printf("sqrt(2) = %.15f after %d steps\n", found.x.item<double>(), found.steps.item<int>());
  return std::abs(found.x.item<double>() - std::sqrt(2.0)) < 1e-12 ? 0 : 1;
}
