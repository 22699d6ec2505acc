// The stages of fast Fourier transforms on vectors, a lane for each of several transforms. Included
// by one file for each instruction set.
#pragma once

#include "heddle/cpu/kernels/fourier/fft.h"
#include "heddle/cpu/kernels/fourier/fft_moves.h"

namespace heddle::cpu {
namespace {

// What one instruction computes on: a compiler keeps wider vectors in memory.
#if defined(__AVX512F__)
constexpr int kNativeBytes = 64;
#elif defined(__AVX2__)
constexpr int kNativeBytes = 32;
#else
constexpr int kNativeBytes = 16;
#endif

// Some lanes of a point.
template <class T>
struct Point {
  typedef T Vector __attribute__((vector_size(kNativeBytes), may_alias));
  static constexpr int kLanes = kNativeBytes / static_cast<int>(sizeof(T));
  Vector re, im;
};

// Points in memory: those of all lanes, the real numbers before the imaginary ones.
template <class T>
Point<T> load_point(const T* points, int64_t k, int slice) {
  const T* at = points + 2 * k * Moves<T>::kLanes + slice * Point<T>::kLanes;
  using Vector = typename Point<T>::Vector;
  return {*reinterpret_cast<const Vector*>(at),
          *reinterpret_cast<const Vector*>(at + Moves<T>::kLanes)};
}
template <class T>
void store_point(T* points, int64_t k, int slice, const Point<T>& x) {
  T* at = points + 2 * k * Moves<T>::kLanes + slice * Point<T>::kLanes;
  using Vector = typename Point<T>::Vector;
  *reinterpret_cast<Vector*>(at) = x.re;
  *reinterpret_cast<Vector*>(at + Moves<T>::kLanes) = x.im;
}

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

template <class T>
[[gnu::always_inline]] inline void transform_four(Point<T>& x0, Point<T>& x1, Point<T>& x2,
                                                  Point<T>& x3) {
  const Point<T> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = turned(x1 - x3);
  x0 = a + c;
  x1 = b + d;
  x2 = a - c;
  x3 = b - d;
}

template <class T>
[[gnu::always_inline]] inline void transform_eight(Point<T> (&x)[8]) {
  constexpr T kRoot = static_cast<T>(0.70710678118654752440L);
  transform_four(x[0], x[2], x[4], x[6]);
  transform_four(x[1], x[3], x[5], x[7]);
  const Point<T> y0 = x[0], y1 = x[2], y2 = x[4], y3 = x[6], z0 = x[1];
  const Point<T> z1 = {(x[3].re + x[3].im) * kRoot, (x[3].im - x[3].re) * kRoot};
  const Point<T> z2 = turned(x[5]);
  const Point<T> z3 = {(x[7].im - x[7].re) * kRoot, (x[7].re + x[7].im) * -kRoot};
  x[0] = y0 + z0;
  x[1] = y1 + z1;
  x[2] = y2 + z2;
  x[3] = y3 + z3;
  x[4] = y0 - z0;
  x[5] = y1 - z1;
  x[6] = y2 - z2;
  x[7] = y3 - z3;
}

// An odd number: points in pairs, whose sums meet cosines and whose differences meet sines.
template <class T, int p>
[[gnu::always_inline]] inline void transform_odd(Point<T> (&x)[p], const T* roots) {
  constexpr int kPairs = p / 2;
  Point<T> sum[kPairs], difference[kPairs], all = x[0];
  HEDDLE_UNROLL
  for (int k = 0; k < kPairs; ++k) {
    sum[k] = x[k + 1] + x[p - 1 - k];
    difference[k] = x[k + 1] - x[p - 1 - k];
    all = all + sum[k];
  }
  const Point<T> first = x[0];
  x[0] = all;
  HEDDLE_UNROLL
  for (int j = 1; j <= kPairs; ++j) {
    Point<T> even = first, odd = {};
    HEDDLE_UNROLL
    for (int k = 0; k < kPairs; ++k) {
      const T* root = roots + 2 * (j * (k + 1) % p);
      even = {even.re + sum[k].re * root[0], even.im + sum[k].im * root[0]};
      odd = {odd.re - difference[k].im * root[1], odd.im + difference[k].re * root[1]};
    }
    x[j] = even + odd;
    x[p - j] = even - odd;
  }
}

// Of p points, in place; `roots` of p.
template <class T, int p>
[[gnu::always_inline]] inline void transform_points(Point<T> (&x)[p], const T* roots) {
  if constexpr (p == 2) {
    const Point<T> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if constexpr (p == 4) {
    transform_four(x[0], x[1], x[2], x[3]);
  } else if constexpr (p == 8) {
    transform_eight(x);
  } else {
    transform_odd(x, roots);
  }
}

// Stockham's step: of a list [p, m, s] of points, the transforms along p, turned, as [m, p, s].
template <class T, int p>
void run_stage(const FftStage<T>& stage, int slices, const T* from, T* to) {
  const int64_t m = stage.groups, s = stage.stride;
  for (int64_t g = 0; g < m; ++g) {
    const T* turn = stage.turns.data() + 2 * (p - 1) * g;
    for (int64_t q = 0; q < s; ++q) {
      for (int slice = 0; slice < slices; ++slice) {
        Point<T> x[p];
        HEDDLE_UNROLL
        for (int j = 0; j < p; ++j) x[j] = load_point(from, q + s * (g + m * j), slice);
        transform_points(x, stage.roots.data());
        const int64_t out = q + s * p * g;
        store_point(to, out, slice, x[0]);
        if (g == 0) {  // its turns are 1
          HEDDLE_UNROLL
          for (int j = 1; j < p; ++j) store_point(to, out + s * j, slice, x[j]);
          continue;
        }
        HEDDLE_UNROLL
        for (int j = 1; j < p; ++j) {
          const Point<T> y = times(x[j], turn[2 * j - 2], turn[2 * j - 1]);
          store_point(to, out + s * j, slice, y);
        }
      }
    }
  }
}

// A factor of any odd size, as transform_odd() does.
template <class T>
void run_prime_stage(const FftStage<T>& stage, int slices, const T* from, T* to) {
  const int64_t m = stage.groups, s = stage.stride;
  const int p = stage.factor, pairs = p / 2;
  Point<T> sum[kMostFftFactor / 2], difference[kMostFftFactor / 2];
  for (int64_t g = 0; g < m; ++g) {
    const T* turn = stage.turns.data() + 2 * (p - 1) * g;
    for (int64_t q = 0; q < s; ++q) {
      for (int slice = 0; slice < slices; ++slice) {
        const auto x = [&](int j) { return load_point(from, q + s * (g + m * j), slice); };
        const auto put = [&](int j, const Point<T>& y) {
          store_point(to, q + s * (p * g + j), slice, times(y, turn[2 * j - 2], turn[2 * j - 1]));
        };
        const Point<T> first = x(0);
        Point<T> all = first;
        for (int k = 0; k < pairs; ++k) {
          const Point<T> low = x(k + 1), high = x(p - 1 - k);
          sum[k] = low + high;
          difference[k] = low - high;
          all = all + sum[k];
        }
        store_point(to, q + s * p * g, slice, all);
        for (int j = 1; j <= pairs; ++j) {
          Point<T> even = first, odd = {};
          for (int k = 0, at = j; k < pairs; ++k) {
            const T* root = stage.roots.data() + 2 * at;
            even = {even.re + sum[k].re * root[0], even.im + sum[k].im * root[0]};
            odd = {odd.re - difference[k].im * root[1], odd.im + difference[k].re * root[1]};
            at += at + j < p ? j : j - p;
          }
          put(j, even + odd);
          put(p - j, even - odd);
        }
      }
    }
  }
}

template <class T>
bool are_finite(const T* points, int64_t n, int slices) {
  typename Point<T>::Vector zeros = {};
  for (int64_t k = 0; k < n; ++k) {
    for (int slice = 0; slice < slices; ++slice) {
      const Point<T> x = load_point(points, k, slice);
      zeros += x.re * T{0} + x.im * T{0};  // or NaN
    }
  }
  for (int lane = 0; lane < Point<T>::kLanes; ++lane)
    if (zeros[lane] != 0) return false;
  return true;
}

template <class T>
T* run_stages(const std::vector<FftStage<T>>& stages, int slices, T* from, T* to) {
  for (const FftStage<T>& stage : stages) {
    switch (stage.factor) {
      case 2: run_stage<T, 2>(stage, slices, from, to); break;
      case 3: run_stage<T, 3>(stage, slices, from, to); break;
      case 4: run_stage<T, 4>(stage, slices, from, to); break;
      case 5: run_stage<T, 5>(stage, slices, from, to); break;
      case 7: run_stage<T, 7>(stage, slices, from, to); break;
      case 8: run_stage<T, 8>(stage, slices, from, to); break;
      case 11: run_stage<T, 11>(stage, slices, from, to); break;
      case 13: run_stage<T, 13>(stage, slices, from, to); break;
      default: run_prime_stage(stage, slices, from, to);
    }
    std::swap(from, to);
  }
  return from;
}

// Points times factors. Real and imaginary parts are exchanged before it, after it, or not.
template <class T>
void scale_points(T* points, const std::vector<T>& factors, int slices, bool swap_before,
                  bool swap_after) {
  for (size_t k = 0; 2 * k < factors.size(); ++k) {
    for (int slice = 0; slice < slices; ++slice) {
      Point<T> x = load_point(points, static_cast<int64_t>(k), slice);
      if (swap_before) std::swap(x.re, x.im);
      x = times(x, factors[2 * k], factors[2 * k + 1]);
      if (swap_after) std::swap(x.re, x.im);
      store_point(points, static_cast<int64_t>(k), slice, x);
    }
  }
}

// jk = (j^2 + k^2 - (k - j)^2) / 2 makes a transform a convolution with a chirp (Bluestein, 1970).
// The inverse transform in it is the forward one with real and imaginary parts exchanged.
template <class T>
T* run_convolution(const FftPlan<T>& plan, int slices, T* data, T* scratch) {
  scale_points(data, plan.chirp, slices, false, false);
  std::fill(data + 2 * plan.length * Moves<T>::kLanes, data + 2 * plan.size * Moves<T>::kLanes,
            T{0});
  T* const between = run_stages(plan.stages, slices, data, scratch);
  scale_points(between, plan.transform, slices, false, true);
  T* const out = run_stages(plan.stages, slices, between, between == data ? scratch : data);
  scale_points(out, plan.chirp, slices, true, false);
  return are_finite(out, plan.length, slices) ? out : nullptr;
}

template <class T>
T* run_plan(const FftPlan<T>& plan, int lanes, T* data, T* scratch) {
  const int slices = (lanes + Point<T>::kLanes - 1) / Point<T>::kLanes;
  if (!are_finite(data, plan.length, slices)) return nullptr;
  if (plan.is_convolution()) return run_convolution(plan, slices, data, scratch);
  return run_stages(plan.stages, slices, data, scratch);
}

constexpr FftTable kStages = {.native_bytes = kNativeBytes,
                              .f32 = run_plan<float>,
                              .f64 = run_plan<double>,
                              .moves_f32 = &kMoves<float>,
                              .moves_f64 = &kMoves<double>};

}  // namespace
}  // namespace heddle::cpu
