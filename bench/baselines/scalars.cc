// Loops whose carry is a few scalars, or an array that is updated in place.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "heddle/bench/baselines/loops.h"

namespace heddle::baselines {
namespace {

constexpr int64_t kLong = 1 << 20;

void recur(const Call& call) {
  const float* x = call.in(1);
  float* ys = call.out(1);
  float y = *call.in(0);
  for (int64_t t = 0; t < kLong; ++t) ys[t] = y = 0.99f * y + x[t];
  *call.out(0) = y;
}

void rewards_to_go(const Call& call) {
  const float* r = call.in(1);
  float* out = call.out(0);
  float g = *call.in(0);
  for (int64_t t = kLong; t-- > 0;) out[t] = g = r[t] + 0.99f * g;
}

void rewards_to_go_64(const Call& call) {
  constexpr int64_t kSteps = 2000, kWidth = 64;
  const float* r = call.in(1);
  float* out = call.out(0);
  float g[kWidth];
  std::copy_n(call.in(0), kWidth, g);
  for (int64_t t = kSteps; t-- > 0;) {
    for (int64_t i = 0; i < kWidth; ++i)
      out[t * kWidth + i] = g[i] = r[t * kWidth + i] + 0.99f * g[i];
  }
}

void logistic(const Call& call) {
  float x = *call.in(0);
  const float r = *call.in(1);
  for (int32_t i = 0; i < 10'000'000; ++i) x = r * x * (1 - x);
  *call.out(0) = x;
}

template <class T>
struct Point {
  T x, y, z;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Point operator*(T s, Point a) { return {s * a.x, s * a.y, s * a.z}; }
};

template <class T>
Point<T> lorenz_slope(Point<T> p) {
  return {T(10) * (p.y - p.x), p.x * (T(28) - p.z) - p.y, p.x * p.y - T(8.0 / 3) * p.z};
}

template <class T>
void lorenz(const Call& call) {
  constexpr int64_t kSteps = 100'000;
  constexpr T kStep = T(0.01);
  const T* start = call.in<T>(0);
  T* path = call.out<T>(1);
  Point<T> p = {start[0], start[1], start[2]};
  for (int64_t t = 0; t < kSteps; ++t) {
    const auto k1 = lorenz_slope(p);
    const auto k2 = lorenz_slope(p + kStep / 2 * k1);
    const auto k3 = lorenz_slope(p + kStep / 2 * k2);
    const auto k4 = lorenz_slope(p + kStep * k3);
    p = p + kStep / 6 * (k1 + T(2) * (k2 + k3) + k4);
    path[3 * t] = p.x;
    path[3 * t + 1] = p.y;
    path[3 * t + 2] = p.z;
  }
  std::copy_n(path + 3 * (kSteps - 1), 3, call.out<T>(0));
}

constexpr int64_t kUpdates = 25'000, kBuffer = 1 << 18, kRow = 16;

using Four = float __attribute__((vector_size(16), aligned(4)));

enum class When { kAlways, kThirds };

template <When when, bool reads>
void update(const Call& call) {
  float* buffer = call.out(0);
  std::memcpy(buffer, call.in(0), kBuffer * sizeof(float));
  const auto* index = call.in<int32_t>(1);
  const float* rows = call.in(2);
  for (int64_t t = 0; t < kUpdates; ++t) {
    float* at = buffer + std::clamp<int64_t>(index[t], 0, kBuffer - kRow);
    if (when == When::kAlways || index[t] % 3 == 0)
      std::memcpy(at, rows + t * kRow, kRow * sizeof(float));
    if constexpr (reads) {
      const auto* row = reinterpret_cast<const Four*>(at);
      const Four sums = (row[0] + row[1]) + (row[2] + row[3]);
      call.out(1)[t] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
}

constexpr NamedLoop kLoops[] = {
    {"recur_1m", recur},
    {"rtg_b1_t1m", rewards_to_go},
    {"rtg_b64_t2000", rewards_to_go_64},
    {"logistic_while_10m", logistic},
    {"lorenz_f32", lorenz<float>},
    {"lorenz_f64", lorenz<double>},
    {"dus_nocond_1mb", update<When::kAlways, false>},
    {"dus_cond_1mb", update<When::kThirds, false>},
    {"dus_cond_read_1mb", update<When::kThirds, true>},
};

}  // namespace

std::span<const NamedLoop> scalar_loops() { return kLoops; }

}  // namespace heddle::baselines
