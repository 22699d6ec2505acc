// The Mandelbrot set: a while_loop for one point, and vmap of it for all points of a picture. Each
// point stops when it has escaped; the loop ends with the last one.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

struct Orbit {
  Tensor re, im;  // f64[]
  Tensor steps;   // s32[]
  static constexpr auto kFields =
      fields(field("re", &Orbit::re), field("im", &Orbit::im), field("steps", &Orbit::steps));
};

constexpr int kMaxSteps = 100;

// [escape]
// Steps of z -> z^2 + c that one point takes to leave the circle of radius 2.
Tensor escape_time(Tensor re, Tensor im) {
  auto inside = [](Orbit z) { return (z.re * z.re + z.im * z.im <= 4.0) & (z.steps < kMaxSteps); };
  auto step = [&](Orbit z) {
    return Orbit{z.re * z.re - z.im * z.im + re, 2.0 * z.re * z.im + im, z.steps + 1};
  };
  return while_loop(inside, step, Orbit{zeros({}, f64), zeros({}, f64), zeros({}, s32)}).steps;
}

// re: f64[w], im: f64[h] -> s32[h,w]
Tensor picture(Tensor re, Tensor im) {
  auto row = vmap(escape_time, {.in_axes = {0, kNoAxis}});  // of points with one im
  return vmap(row, {.in_axes = {kNoAxis, 0}})(re, im);
}
// [/escape]

// The same for one point in plain C++.
int escape_time_of(double re, double im) {
  double x = 0, y = 0;
  int steps = 0;
  for (; x * x + y * y <= 4.0 && steps < kMaxSteps; ++steps) {
    const double next = x * x - y * y + re;
    y = 2.0 * x * y + im;
    x = next;
  }
  return steps;
}

int main() {
  const Tensor re = linspace(-2.2, 0.8, 72, f64);
  const Tensor im = linspace(-1.2, 1.2, 25, f64);
  const std::vector<int> steps = picture(re, im).to_vector<int>();
  const std::vector<double> xs = re.to_vector<double>(), ys = im.to_vector<double>();
  size_t unlike = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != escape_time_of(xs[i % 72], ys[i / 72])) ++unlike;
    std::putchar(steps[i] == kMaxSteps ? '@' : " .:-=+*#"[steps[i] < 32 ? steps[i] / 4 : 7]);
    if (i % 72 == 71) std::putchar('\n');
  }
  // The last bit of a product may round otherwise, which matters for a chaotic orbit.
  std::printf("%zu points, %zu unlike a loop in C++\n", steps.size(), unlike);
  return unlike * 100 <= steps.size() ? 0 : 1;
}
