// cond and switch_case: branches taken on the device, here inside a scan. A ball falls and bounces.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

struct Ball {
  Tensor height;    // f64[], m
  Tensor velocity;  // f64[], m/s, up
  Tensor bounces;   // s32[]
  static constexpr auto kFields =
      fields(field("height", &Ball::height), field("velocity", &Ball::velocity),
             field("bounces", &Ball::bounces));
};

int main() {
  const double dt = 0.001;  // s
  auto step = [&](Ball ball, None) {
    Ball moved{ball.height + dt * ball.velocity, ball.velocity - dt * 9.81, ball.bounces};
    auto bounce = [](Ball b) { return Ball{-b.height, -0.8 * b.velocity, b.bounces + 1}; };
    auto fly = [](Ball b) { return b; };
    Ball next = cond(moved.height < 0.0, bounce, fly, moved);
    return std::pair(next, next.height);
  };
  Ball start{scalar<double>(1.0), scalar<double>(0.0), scalar<int>(0)};
  auto [end, heights] = scan(step, start, None{}, {.length = 3000});

  auto names = std::tuple([](Tensor h) { return h * 0.0; }, [](Tensor h) { return h; },
                          [](Tensor h) { return h * 2.0; });
  Tensor scaled = switch_case(end.bounces, names, end.height);
  std::printf("after 3 s: height %.3f m, %d bounces, highest since the start %.3f m, scaled %.3f\n",
              end.height.item<double>(), end.bounces.item<int>(), max(heights).item<double>(),
              scaled.item<double>());
  return end.bounces.item<int>() >= 3 ? 0 : 1;
}
