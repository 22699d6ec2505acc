// What an instruction set offers to matmul.cc: one table of functions for each element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/hlo/dtype.h"

namespace heddle::cpu {

struct MatmulTable {
  int64_t panel;  // columns in a panel of packed B
  void (*part)(const MatmulArgs& args, const MatmulPart& part);
  void (*pack_b)(const MatmulArgs& args, void* packed);
  void (*packed_part)(const MatmulArgs& args, const void* packed, const MatmulPart& part);
};

struct MatmulTables {
  Isa isa;
  MatmulTable f32;
  MatmulTable f64;
};

extern const MatmulTables kMatmulGeneric;
extern const MatmulTables kMatmulAvx2;    // where __x86_64__ is defined
extern const MatmulTables kMatmulAvx512;  // where __x86_64__ is defined

// The units for narrow elements (matmul_narrow.h), where __x86_64__ is defined.
void narrow_part_amx(DType element, const MatmulArgs& args, const MatmulPart& part);
void narrow_part_avx512(DType element, const MatmulArgs& args, const MatmulPart& part);  // s8, u8
void narrow_part_vnni(DType element, const MatmulArgs& args, const MatmulPart& part);    // s8, u8
void bf16_part_avx512(const MatmulArgs& args, const MatmulPart& part);

// This thread's scratch memory: at least `bytes`, aligned to 64. The next call invalidates it.
void* matmul_scratch(size_t bytes);
inline constexpr size_t kMostKept = size_t{1} << 22;  // bytes that kernels ask of it

}  // namespace heddle::cpu
