// Loops of LU and Cholesky factors and of triangular systems, for one block of a matrix: one table
// for each instruction set. Matrices are row-major, strides are in elements.
#pragma once

#include <cstdint>

#include "heddle/cpu/kernels/isa.h"

namespace heddle::cpu {

// Columns of a block. The loops write whole blocks, so rows of factors are padded to whole ones.
inline constexpr int64_t kFactorBlock = 16;

// Unknowns and coefficients a(i, k) of a lower triangular system. An upper one has negative strides
// and begins at its last unknown.
template <class T>
struct TriangularBlock {
  const T* a;
  int64_t a_row, a_column;
  T* x;
  int64_t x_row;
  int64_t n;  // unknowns
  bool unit_diagonal;
};

template <class T>
struct FactorLoops {
  // L and U of `columns` <= min(rows, kFactorBlock) columns. The ones on L's diagonal are not
  // stored. Row k was swapped with row pivots[k] >= k, in order, in these columns alone.
  // returns: 0, or 1 + the position of the first pivot of 0
  int (*lu)(T* a, int64_t stride, int64_t rows, int64_t columns, int32_t* pivots);
  // L of n <= kFactorBlock rows from the lower triangle; what is above it is overwritten.
  // returns: 0, or 1 + the position of the first pivot that is not positive, where it stops
  int (*cholesky)(T* a, int64_t stride, int64_t n);
  // For `columns` right sides, each row of them contiguous.
  void (*solve_rows)(const TriangularBlock<T>& system, int64_t columns);
  // For one right side. It is contiguous, upwards or downwards, and so are the rows of a, or its
  // columns.
  void (*solve_vector)(const TriangularBlock<T>& system);
};

struct FactorTable {
  FactorLoops<float> f32;
  FactorLoops<double> f64;
};

extern const FactorTable kFactorsGeneric;
extern const FactorTable kFactorsAvx2;  // where __x86_64__ is defined

// Those of host_isa().
template <class T>
const FactorLoops<T>& factor_loops() {
  const FactorTable* table = &kFactorsGeneric;
#if defined(__x86_64__)
  if (host_isa() != Isa::kGeneric) table = &kFactorsAvx2;
#endif
  if constexpr (sizeof(T) == sizeof(float)) return table->f32;
  if constexpr (sizeof(T) == sizeof(double)) return table->f64;
}

}  // namespace heddle::cpu
