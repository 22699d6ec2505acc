// The Ornstein-Uhlenbeck process dX = -theta X dt + sigma dW over many paths at once:
// Euler-Maruyama steps with Gaussian increments, in one scan that carries the random key. Its mean
// x0 e^(-theta t) and variance sigma^2 (1 - e^(-2 theta t)) / (2 theta) are known (G. Uhlenbeck and
// L. Ornstein, Phys. Rev. 36, 1930), and so are those of the scheme itself, with which the paths
// are compared.
#include <cmath>
#include <cstdio>
#include <vector>

#include "heddle/heddle.h"

using namespace heddle;

namespace {

constexpr int64_t kPaths = 4000;
constexpr int64_t kSteps = 200;
constexpr double kTheta = 1.5, kSigma = 0.8, kStart = 2.0, kDt = 0.01;

// [sde]
struct Walk {
  Tensor key;  // u32[2]
  Tensor x;    // f32[paths]
  static constexpr auto kFields = fields(field("key", &Walk::key), field("x", &Walk::x));
};

struct Moments {
  Tensor mean, variance;  // f32[], of the paths; stacked by the scan: f32[steps]
  static constexpr auto kFields =
      fields(field("mean", &Moments::mean), field("variance", &Moments::variance));
};

// Moments of the paths after each step.
Moments simulate(Tensor seed) {
  auto step = [](Walk w, None) {
    auto [next, now] = random::split<2>(w.key);
    Tensor dw = std::sqrt(kDt) * random::normal(now, {kPaths});
    Tensor x = w.x - kTheta * kDt * w.x + kSigma * dw;
    return std::pair(Walk{next, x}, Moments{mean(x), var(x)});
  };
  Walk start{random::key(seed), full({kPaths}, kStart)};
  return scan(step, start, None{}, {.length = kSteps}).second;
}
// [/sde]

// The greatest deviation from the scheme's own moments, in standard errors of 4000 paths.
double worst_deviation(const std::vector<float>& mean, const std::vector<float>& variance) {
  double worst = 0;
  double m = kStart, v = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    m *= 1 - kTheta * kDt;
    v = v * (1 - kTheta * kDt) * (1 - kTheta * kDt) + kSigma * kSigma * kDt;
    worst = std::max(worst, std::abs(mean[i] - m) / std::sqrt(v / kPaths));
    worst = std::max(worst, std::abs(variance[i] - v) / (v * std::sqrt(2.0 / kPaths)));
  }
  return worst;
}

}  // namespace

int main() {
  Program program = trace(simulate, placeholder({}, s32));
  Moments moments = program.call<Moments>(scalar(7));
  std::vector<float> mean = moments.mean.to_vector<float>();
  std::vector<float> variance = moments.variance.to_vector<float>();

  double t = kSteps * kDt;
  double exact_mean = kStart * std::exp(-kTheta * t);
  double exact_variance = kSigma * kSigma * (1 - std::exp(-2 * kTheta * t)) / (2 * kTheta);
  std::printf("mean     %.4f  (process %.4f)\n", mean.back(), exact_mean);
  std::printf("variance %.4f  (process %.4f)\n", variance.back(), exact_variance);
  double worst = worst_deviation(mean, variance);
  std::printf("greatest deviation from the scheme's moments: %.2f standard errors\n", worst);

  // The scheme is of first order in dt: its variance at rest is 1 / (1 - theta dt / 2) of the
  // process's.
  bool near = std::abs(mean.back() - exact_mean) < 0.05 &&
              std::abs(variance.back() - exact_variance) < 0.02;
  return near && worst < 4.5 ? 0 : 1;
}
