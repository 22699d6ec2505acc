// Matrix products for the CPU backend: C[m,n] = A[m,k] B[k,n] for f32 and f64, one thread a call.
//
// Every operand has a row and a column stride, so a transposed operand is a pair of swapped strides
// and a broadcast operand has a stride of 0. One binary holds kernels for AVX-512, for AVX2 with
// FMA and for any other machine; the first call picks one by CPUID feature bits.
//
// Bits. The bits of an element of C depend on the instruction set and on the arguments: sizes,
// strides and `accumulate`. They do not depend on the part that a call computes. To use several
// threads, give each its own part of one and the same MatmulArgs. Parts may cut rows and columns
// anywhere; cuts at multiples of panel() columns are fastest. Most products sum each
// element in order of k with one accumulator. When A and B are both contiguous along k and few rows
// or columns are wanted, lanes sum k in an interleaved order that depends on k alone. A product
// with packed B always sums in order of k, so it can differ from product() in the last bits.
//
// Nothing here throws. A call allocates nothing after the first call of that size on its thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/cpu/kernels/isa.h"

namespace heddle::cpu {

// Strides are in elements and >= 0. `c` must not overlap `a` or `b`, nor its elements each other.
struct MatmulArgs {
  const void* a;
  const void* b;
  void* c;
  int64_t m, n, k;
  int64_t a_row, a_col;
  int64_t b_row, b_col;
  int64_t c_row, c_col;
  bool accumulate;  // C += A B
};

// The rows [row_begin, row_end) and columns [col_begin, col_end) of C.
struct MatmulPart {
  int64_t row_begin, row_end;
  int64_t col_begin, col_end;
};

// The products of T, which is float or double.
template <class T>
struct MatmulOf {
  static void product(const MatmulArgs& args) noexcept;
  static void part(const MatmulArgs& args, const MatmulPart& part) noexcept;

  // Packing copies B into panels of panel() columns, the last one padded with zeros. It pays when B
  // is used again, with n >= 16. A packed B belongs to the instruction set that packed it, so it
  // must not be stored outside the process. Align it to 64 bytes.
  static int64_t panel() noexcept;
  // returns: bytes
  static size_t packed_size(int64_t k, int64_t n) noexcept;
  // Reads b, k, n, b_row and b_col.
  static void pack_b(const MatmulArgs& args, void* packed) noexcept;

  // These read `packed` in place of b, b_row and b_col.
  static void packed_product(const MatmulArgs& args, const void* packed) noexcept;
  static void packed_part(const MatmulArgs& args, const void* packed,
                          const MatmulPart& part) noexcept;
};

// The instruction set that the calls use.
Isa matmul_isa() noexcept;

// For tests: makes later calls use `isa`. Not while another thread multiplies.
// returns: false, with no change, where the machine lacks it.
bool set_matmul_isa(Isa isa) noexcept;

}  // namespace heddle::cpu
