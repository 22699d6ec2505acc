// Eigenvalues and singular values of batches of small matrices, without vectors: one table for each
// instruction set. Matrices are row-major and lie one after the other.
#pragma once

#include <cstdint>

#include "heddle/cpu/kernels/isa.h"

namespace heddle::cpu {

inline constexpr int64_t kMostSpectrumRows = 8;

// Both return whether all numbers are finite, and none is so large or small that its square is not;
// else what is written means nothing. The values of a matrix do not depend on the others.
template <class T>
struct SpectrumLoops {
  // Of symmetric matrices of `rows` <= kMostSpectrumRows, of which one triangle is read: ascending.
  bool (*eigenvalues)(const T* a, int64_t count, int64_t rows, bool lower, T* values);
  // Of matrices of rows, columns <= kMostSpectrumRows: descending, as many as the smaller of them.
  bool (*singular_values)(const T* a, int64_t count, int64_t rows, int64_t columns, T* values);
};

struct SpectrumTable {
  SpectrumLoops<float> f32;
  SpectrumLoops<double> f64;
};

extern const SpectrumTable kSpectraGeneric;
extern const SpectrumTable kSpectraAvx2;    // where __x86_64__ is defined
extern const SpectrumTable kSpectraAvx512;  // there too

// Those of host_isa().
template <class T>
const SpectrumLoops<T>& spectrum_loops() {
  const SpectrumTable* table = &kSpectraGeneric;
#if defined(__x86_64__)
  if (host_isa() == Isa::kAvx2) table = &kSpectraAvx2;
  if (host_isa() == Isa::kAvx512) table = &kSpectraAvx512;
#endif
  if constexpr (sizeof(T) == sizeof(float)) return table->f32;
  if constexpr (sizeof(T) == sizeof(double)) return table->f64;
}

}  // namespace heddle::cpu
