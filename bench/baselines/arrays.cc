// Loops over large arrays.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "heddle/bench/baselines/loops.h"

namespace heddle::baselines {
namespace {

using Lanes = float __attribute__((vector_size(64), aligned(4)));
using Order = int32_t __attribute__((vector_size(64)));

// The sums of the first 1, 2, .. lanes: 16 + l takes lane l of the second operand.
Lanes running_sums(Lanes x) {
  const Lanes zero = {};
  x += __builtin_shuffle(
      zero, x, Order{0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30});
  x += __builtin_shuffle(
      zero, x, Order{0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29});
  x += __builtin_shuffle(
      zero, x, Order{0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27});
  x += __builtin_shuffle(
      zero, x, Order{0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23});
  return x;
}

void cumulative_sum(const float* x, float* out, int64_t size) {
  float before = 0;
  for (int64_t i = 0; i < size; i += 16) {
    const Lanes sums = running_sums(*reinterpret_cast<const Lanes*>(x + i));
    *reinterpret_cast<Lanes*>(out + i) = sums + before;
    before += sums[15];
  }
}

void cumsum_flat(const Call& call) { cumulative_sum(call.in(0), call.out(0), 1 << 20); }

void cumsum_rows(const Call& call) {
  for (int64_t row = 0; row < 4096; ++row)
    cumulative_sum(call.in(0) + 256 * row, call.out(0) + 256 * row, 256);
}

template <int64_t kSize>
void elementwise(const Call& call) {
  const float *xs = call.in(0), *ys = call.in(1);
  float* __restrict out = call.out(0);
  for (int64_t i = 0; i < kSize; ++i) {
    const float x = xs[i], y = ys[i];
    const float e = std::max(std::exp((std::tanh((x + y) * x) - y) * 0.1f), 0.5f);
    out[i] = std::sqrt(std::abs(e / (x * x + 1))) * y + x;
  }
}

// h = a_t h + b_t
void linear_recurrence(const Call& call) {
  constexpr int64_t kSteps = 4096, kWidth = 1024;
  const float *a = call.in(1), *b = call.in(2);
  float* __restrict out = call.out(0);
  float h[kWidth];
  std::copy_n(call.in(0), kWidth, h);
  for (int64_t t = 0; t < kSteps; ++t) {
    for (int64_t i = 0; i < kWidth; ++i)
      out[t * kWidth + i] = h[i] = a[t * kWidth + i] * h[i] + b[t * kWidth + i];
  }
}

// h = A h + x B', y = h C: 16 channels are the lanes; their states are in registers.
void state_space(const Call& call) {
  constexpr int64_t kSteps = 1024, kChannels = 256, kStates = 16;
  const float *a = call.in(0), *h0 = call.in(1), *x = call.in(2), *b = call.in(3), *c = call.in(4);
  for (int64_t d = 0; d < kChannels; d += 16) {
    Lanes h[kStates], decay[kStates];
    for (int64_t n = 0; n < kStates; ++n) {
      for (int64_t lane = 0; lane < 16; ++lane) {
        h[n][lane] = h0[(d + lane) * kStates + n];
        decay[n][lane] = a[(d + lane) * kStates + n];
      }
    }
    for (int64_t t = 0; t < kSteps; ++t) {
      const Lanes in = *reinterpret_cast<const Lanes*>(x + t * kChannels + d);
      Lanes y[2] = {};
      for (int64_t n = 0; n < kStates; ++n) {
        h[n] = decay[n] * h[n] + in * b[t * kStates + n];
        y[n % 2] += h[n] * c[t * kStates + n];
      }
      *reinterpret_cast<Lanes*>(call.out(1) + t * kChannels + d) = y[0] + y[1];
    }
    for (int64_t n = 0; n < kStates; ++n) {
      for (int64_t lane = 0; lane < 16; ++lane)
        call.out(0)[(d + lane) * kStates + n] = h[n][lane];
    }
  }
}

constexpr NamedLoop kLoops[] = {
    {"cumsum_1m", cumsum_flat},
    {"cumsum_4096x256_ax1", cumsum_rows},
    {"ew12_2e10", elementwise<1 << 10>},
    {"ew12_2e16", elementwise<1 << 16>},
    {"ew12_2e22", elementwise<1 << 22>},
    {"linrec_scan_t4096_d1024", linear_recurrence},
    {"ssm_diag_t1024_d256_n16", state_space},
};

}  // namespace

std::span<const NamedLoop> array_loops() { return kLoops; }

}  // namespace heddle::baselines
