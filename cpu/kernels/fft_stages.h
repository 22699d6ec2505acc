// The stages of fast Fourier transforms on vectors, a lane for each of several transforms. Included
// by one file for each instruction set.
#pragma once

#include "heddle/cpu/kernels/fft.h"

namespace heddle::cpu {
namespace {

template <class T>
struct FftLanes {
  static constexpr int kCount = kFftVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kFftVectorBytes), aligned(kFftVectorBytes)));
};

template <class T>
struct Point {
  typename FftLanes<T>::Vector re, im;
};

template <class T>
Point<T> operator+(const Point<T>& x, const Point<T>& y) {
  return {x.re + y.re, x.im + y.im};
}
template <class T>
Point<T> operator-(const Point<T>& x, const Point<T>& y) {
  return {x.re - y.re, x.im - y.im};
}
template <class T>
Point<T> times(const Point<T>& x, T re, T im) {
  return {x.re * re - x.im * im, x.re * im + x.im * re};
}
// Times -i, the forward transform's quarter turn.
template <class T>
Point<T> turned(const Point<T>& x) {
  return {x.im, -x.re};
}

// Of p points, in place; `roots` of p.
template <class T>
void transform_points(Point<T>* x, int p, const T* roots) {
  if (p == 2) {
    const Point<T> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if (p == 4) {
    const Point<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else {
    Point<T> out[kMaxFftFactor];
    for (int j = 0; j < p; ++j) {
      out[j] = x[0];
      for (int k = 1; k < p; ++k) {
        const T* root = roots + 2 * (j * k % p);
        out[j] = out[j] + times(x[k], root[0], root[1]);
      }
    }
    for (int j = 0; j < p; ++j) x[j] = out[j];
  }
}

// Stockham's step: of a list [p, m, s] of points, the transforms along p, turned, as [m, p, s].
template <class T, int kFactor>
void run_stage(const FftStage<T>& stage, const Point<T>* from, Point<T>* to) {
  const int p = kFactor > 0 ? kFactor : stage.factor;
  const int64_t m = stage.groups, s = stage.stride;
  for (int64_t g = 0; g < m; ++g) {
    const T* turn = stage.turns.data() + 2 * (p - 1) * g;
    for (int64_t q = 0; q < s; ++q) {
      Point<T> x[kFactor > 0 ? kFactor : kMaxFftFactor];
      for (int j = 0; j < p; ++j) x[j] = from[q + s * (g + m * j)];
      transform_points(x, p, stage.roots.data());
      to[q + s * p * g] = x[0];
      for (int j = 1; j < p; ++j)
        to[q + s * (p * g + j)] = times(x[j], turn[2 * j - 2], turn[2 * j - 1]);
    }
  }
}

template <class T>
bool are_finite(const Point<T>* x, int64_t n) {
  typename FftLanes<T>::Vector zeros = {};
  for (int64_t k = 0; k < n; ++k) zeros += x[k].re * T{0} + x[k].im * T{0};  // or NaN
  for (int lane = 0; lane < FftLanes<T>::kCount; ++lane)
    if (zeros[lane] != 0) return false;
  return true;
}

template <class T>
bool run_stages(const std::vector<FftStage<T>>& stages, int64_t n, void* data, void* scratch) {
  auto *from = static_cast<Point<T>*>(data), *to = static_cast<Point<T>*>(scratch);
  if (!are_finite(from, n)) return false;
  for (const FftStage<T>& stage : stages) {
    switch (stage.factor) {
      case 2: run_stage<T, 2>(stage, from, to); break;
      case 3: run_stage<T, 3>(stage, from, to); break;
      case 4: run_stage<T, 4>(stage, from, to); break;
      case 5: run_stage<T, 5>(stage, from, to); break;
      default: run_stage<T, 0>(stage, from, to);
    }
    std::swap(from, to);
  }
  return true;
}

}  // namespace
}  // namespace heddle::cpu
