// Products of matrices for the rules of dot: all of Eigen that dot needs, in one file, for three
// element types.
#pragma once

#include <complex>
#include <cstdint>

namespace heddle::interpreter {

// c = a b, where c is [rows, columns], a [rows, depth] and b [depth, columns], each dense and
// row-major, or stored transposed.
struct MatmulSizes {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  bool lhs_transposed = false;  // stored as [depth, rows]
  bool rhs_transposed = false;  // stored as [columns, depth]
};

void matmul(const MatmulSizes& sizes, const double* a, const double* b, double* c);
// Not transposed.
void matmul(const MatmulSizes& sizes, const std::complex<double>* a, const std::complex<double>* b,
            std::complex<double>* c);
// The same with the operands, every product and every sum rounded to f32, terms in order. Not
// transposed.
void matmul_in_f32(const MatmulSizes& sizes, const double* a, const double* b, double* c);
void matmul_in_f32(const MatmulSizes& sizes, const std::complex<double>* a,
                   const std::complex<double>* b, std::complex<double>* c);
// Modulo 2^64. Not transposed.
void matmul(const MatmulSizes& sizes, const int64_t* a, const int64_t* b, int64_t* c);

}  // namespace heddle::interpreter
