// Products of matrices of narrow elements, C[m,n] = A[m,k] B[k,n]: bf16 summed in f32, s8 and u8
// in 32 bits, modulo 2^32. For processors that have units for them: AMX, or AVX-512 (with
// AVX512_BF16 for bf16; AVX512_VNNI multiplies bytes as they are, else they are widened).
//
// A sum of f32 takes its products in order of k, by two at a time. The bits of an element depend on
// the processor's unit and on k, and not on the part that a call computes. The units take subnormal
// elements for zeros, and a subnormal sum is zero.
#pragma once

#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/hlo/dtype.h"

namespace heddle::cpu {

enum class NarrowUnit { kNone, kAvx512, kVnni, kAmx };

// The unit that products of such elements use: the best that the processor has, and the system lets
// the process use. kNone for other element types too.
NarrowUnit narrow_unit(DType element) noexcept;

// For tests: makes later calls use `unit`, for all that it takes. Not while another thread
// multiplies.
// returns: false, with no change, where the machine lacks it.
bool set_narrow_unit(NarrowUnit unit) noexcept;

inline constexpr int64_t kNarrowPanel = 32;  // columns: cuts at multiples of it are fastest

// The part of C. `a` and `b` are of `element`, which has a unit, and `c` is of 32 bits.
void narrow_part(DType element, const MatmulArgs& args, const MatmulPart& part) noexcept;

}  // namespace heddle::cpu
