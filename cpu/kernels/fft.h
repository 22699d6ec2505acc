// Plans of fast Fourier transforms, for the files that run them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::cpu {

inline constexpr int kFftVectorBytes = 64;  // of a part of the points that lanes stand for
inline constexpr int kMaxFftFactor = 13;

// One step of a transform of n = groups * factor * stride points.
template <class T>
struct FftStage {
  int factor = 0;
  int64_t groups = 0, stride = 0;
  std::vector<T> roots;  // of unity, of the factor: real and imaginary parts in turn
  std::vector<T> turns;  // by group, of all results but the first
};

// Runs the stages on n points of vectors; the result lies in `data` after an even number of them.
// returns: false, where a part of a point is not finite
struct FftTable {
  bool (*f32)(const std::vector<FftStage<float>>& stages, int64_t n, void* data, void* scratch);
  bool (*f64)(const std::vector<FftStage<double>>& stages, int64_t n, void* data, void* scratch);
};

extern const FftTable kFftGeneric;
extern const FftTable kFftAvx2;    // where __x86_64__ is defined
extern const FftTable kFftAvx512;  // where __x86_64__ is defined

}  // namespace heddle::cpu
