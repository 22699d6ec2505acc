// What the kernels of small decompositions share: LAPACK's rotations, and batches over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heddle/cpu/kernels/pool.h"

namespace heddle::cpu {

// LAPACK's eps: the largest relative error of one rounding.
template <class T>
inline constexpr T kUnitRoundoff = std::numeric_limits<T>::epsilon() / 2;

// sqrt(x^2 + y^2), as lapy2.
template <class T>
T hypotenuse(T x, T y) {
  const T most = std::max(std::abs(x), std::abs(y)), least = std::min(std::abs(x), std::abs(y));
  if (least == 0) return most;
  const T ratio = least / most;
  return most * std::sqrt(1 + ratio * ratio);
}

template <class T>
struct Rotation {
  T c = 1, s = 0, r = 0;
};

// [c s; -s c] (f, g) = (r, 0), as lartg. Elements are far from the ends of the range.
template <class T>
Rotation<T> rotation_to_zero(T f, T g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, std::copysign(T(1), g), std::abs(g)};
  const T least = std::sqrt(std::numeric_limits<T>::min());
  const T scale =
      std::min(std::abs(f), std::abs(g)) > least ? T(1) : std::max(std::abs(f), std::abs(g));
  const T fs = f / scale, gs = g / scale;
  const T r = std::copysign(std::sqrt(fs * fs + gs * gs), f);
  return {std::abs(fs) / std::abs(r), gs / r, r * scale};
}

// Whether LAPACK takes numbers as they are, the largest of which is `most`: it scales those below
// `least` and beyond its inverse.
template <class T>
bool is_usual_size(T most, T least) {
  return most == 0 || (most >= least && most <= 1 / least);
}

// fn(first, count) of all matrices of a batch, some at a time: whether all gave true.
template <class Fn>
bool for_matrices(int64_t batch, const Fn& fn) {
  constexpr int64_t kTogether = 64;
  std::atomic<bool> all = true;
  parallel((batch + kTogether - 1) / kTogether, [&](int64_t part) {
    const int64_t first = part * kTogether;
    if (!fn(first, std::min(kTogether, batch - first))) all = false;
  });
  return all;
}

}  // namespace heddle::cpu
