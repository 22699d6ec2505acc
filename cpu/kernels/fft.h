// Plans of fast Fourier transforms, for the files that run them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::cpu {

inline constexpr int kFftVectorBytes = 64;  // of a part of the points that lanes stand for

// One step of a transform of n = groups * factor * stride points.
template <class T>
struct FftStage {
  int factor = 0;
  int64_t groups = 0, stride = 0;
  std::vector<T> roots;  // of unity, of the factor: real and imaginary parts in turn
  std::vector<T> turns;  // by group, of all results but the first
};

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

// Runs the stages on n points of vectors; the result lies in `data` after an even number of them.
// returns: false, where a part of a point is not finite
struct FftTable {
  bool (*f32)(const std::vector<FftStage<float>>& stages, int64_t n, void* data, void* scratch);
  bool (*f64)(const std::vector<FftStage<double>>& stages, int64_t n, void* data, void* scratch);
  const FftMoves<float>* moves_f32;
  const FftMoves<double>* moves_f64;
};

extern const FftTable kFftGeneric;
extern const FftTable kFftAvx2;    // where __x86_64__ is defined
extern const FftTable kFftAvx512;  // where __x86_64__ is defined

}  // namespace heddle::cpu
