// Plans of fast Fourier transforms, for the files that run them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace heddle::cpu {

inline constexpr int kFftVectorBytes = 64;  // of a part of the points that lanes stand for
inline constexpr int kMostFftFactor = 199;  // a larger prime costs more than a convolution

// One step of a transform of n = groups * factor * stride points.
template <class T>
struct FftStage {
  int factor = 0;
  int64_t groups = 0, stride = 0;
  std::vector<T> roots;  // of unity, of the factor: real and imaginary parts in turn
  std::vector<T> turns;  // by group, of all results but the first
};

// How `length` points are transformed: by stages for its factors, or, where those are large, by
// stages for the `size` points of a convolution with a chirp.
template <class T>
struct FftPlan {
  explicit FftPlan(int64_t length);
  [[nodiscard]] bool is_convolution() const { return !chirp.empty(); }

  int64_t length = 0, size = 0;
  std::vector<FftStage<T>> stages;
  std::vector<T> chirp, transform;  // fft_chirp(), fft_chirp_transform()
};

// What the plan of n points costs: about the stages of a factor of 8 that take as long.
double fft_cost(int64_t n);

// The size, of at least 2 n - 1, that costs least for a convolution of n points.
int64_t convolution_size(int64_t n, double (*cost)(int64_t));

// exp(-pi i k^2 / n) for k < n.
template <class T>
std::vector<T> fft_chirp(int64_t n);
// The transform of the chirp's conjugate about point 0, divided by its size.
template <class T>
std::vector<T> fft_chirp_transform(int64_t n, int64_t size);

// exp(-2 pi i k / n), real and imaginary part.
template <class T>
void append_root(std::vector<T>& to, int64_t k, int64_t n) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / n;
  to.push_back(static_cast<T>(std::cos(angle)));
  to.push_back(static_cast<T>(-std::sin(angle)));
}

// Between memory and points of vectors, for a full set of rows: a lane for each, or for two of real
// numbers. `swapped`: real and imaginary parts are exchanged. `factor`: times what is stored.
template <class T>
struct FftMoves {
  void (*load_complex)(const T* const* rows, int64_t n, bool swapped, T* data);
  void (*store_complex)(T* data, int64_t n, bool swapped, T factor, T* const* rows);
  // Rows side by side, `step` numbers from point to point.
  void (*load_columns)(const T* from, int64_t step, int64_t n, bool swapped, T* data);
  void (*store_columns)(T* data, int64_t n, bool swapped, T factor, T* to, int64_t step);
  void (*load_real)(const T* const* rows, int64_t n, T* data);
  void (*store_real)(T* data, int64_t n, bool swapped, T factor, T* const* rows);
  // The first n / 2 + 1 points of a transform of real numbers.
  void (*load_halves)(const T* const* rows, int64_t n, bool swapped, T* data);
  void (*store_halves)(T* data, int64_t n, T* const* rows);
};

// Runs a plan on points of vectors.
// returns: where the result lies, `data` or `scratch`; null, where a part of a point is not finite
struct FftTable {
  float* (*f32)(const FftPlan<float>& plan, float* data, float* scratch);
  double* (*f64)(const FftPlan<double>& plan, double* data, double* scratch);
  const FftMoves<float>* moves_f32;
  const FftMoves<double>* moves_f64;
};

extern const FftTable kFftGeneric;
extern const FftTable kFftAvx2;    // where __x86_64__ is defined
extern const FftTable kFftAvx512;  // where __x86_64__ is defined

}  // namespace heddle::cpu
