// A carry of L scalars that drive their neighbours, and the gradient of its sum after all steps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/bench/baselines/loops.h"

namespace heddle::baselines {
namespace {

constexpr int kSteps = 614;
constexpr float kStep = 0.01f;

// x with its last value in front and its first value at the end.
template <int kLeaves>
struct Ring {
  float values[kLeaves + 2];
  float* x = values + 1;
  void close() {
    values[0] = x[kLeaves - 1];
    x[kLeaves] = x[0];
  }
};

template <int kLeaves>
void forward(const Call& call) {
  Ring<kLeaves> ring;
  float* x = ring.x;
  for (int i = 0; i < kLeaves; ++i) x[i] = *call.in(i);
  for (int t = 0; t < kSteps; ++t) {
    ring.close();
    float sines[kLeaves], next[kLeaves];
    for (int i = 0; i < kLeaves; ++i) sines[i] = std::sin(x[i - 1]);
    for (int i = 0; i < kLeaves; ++i) next[i] = x[i] + kStep * (sines[i] - x[i] * x[i + 1]);
    std::copy_n(next, kLeaves, x);
  }
  for (int i = 0; i < kLeaves; ++i) *call.out(i) = x[i];
}

template <int kLeaves>
void gradient(const Call& call) {
  std::vector<Ring<kLeaves>> rings(kSteps + 1);  // all states
  for (int i = 0; i < kLeaves; ++i) rings[0].x[i] = *call.in(i);
  for (int t = 0; t < kSteps; ++t) {
    rings[static_cast<size_t>(t)].close();
    const float* x = rings[static_cast<size_t>(t)].x;
    float* next = rings[static_cast<size_t>(t) + 1].x;
    float sines[kLeaves];
    for (int i = 0; i < kLeaves; ++i) sines[i] = std::sin(x[i - 1]);
    for (int i = 0; i < kLeaves; ++i) next[i] = x[i] + kStep * (sines[i] - x[i] * x[i + 1]);
  }
  Ring<kLeaves> ring;
  float* g = ring.x;
  std::fill_n(g, kLeaves, 1.0f);
  for (int t = kSteps; t-- > 0;) {
    ring.close();
    const float* x = rings[static_cast<size_t>(t)].x;
    float cosines[kLeaves], next[kLeaves];
    for (int i = 0; i < kLeaves; ++i) cosines[i] = std::cos(x[i]);
    for (int i = 0; i < kLeaves; ++i)
      next[i] = g[i] + kStep * (g[i + 1] * cosines[i] - g[i] * x[i + 1] - g[i - 1] * x[i - 1]);
    std::copy_n(next, kLeaves, g);
  }
  for (int i = 0; i < kLeaves; ++i) *call.out(i) = g[i];
}

constexpr NamedLoop kLoops[] = {
    {"leaffwd_60", forward<60>},
    {"leafgrad_60", gradient<60>},
    {"leafgrad_80", gradient<80>},
};

}  // namespace

std::span<const NamedLoop> leaf_loops() { return kLoops; }

}  // namespace heddle::baselines
