// What an instruction set offers to matmul.cc: one table of functions for each element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/cpu/kernels/matmul.h"

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

// This thread's scratch memory: at least `bytes`, aligned to 64. The next call invalidates it.
void* matmul_scratch(size_t bytes);

}  // namespace heddle::cpu
