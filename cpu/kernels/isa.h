// The instruction sets that kernels and machine code are made for.
#pragma once

#include <cstdint>

namespace heddle::cpu {

enum class Isa { kGeneric, kAvx2, kAvx512 };

// The processor has it: AVX2 with FMA, AVX-512 with F, DQ, VL and BW.
bool has_isa(Isa isa) noexcept;

// The best one that the processor has and HEDDLE_CPU_VECTOR_BYTES allows.
Isa host_isa() noexcept;

// The bytes of its vectors: 64 with AVX-512, 32 with AVX2, else 16.
int64_t host_vector_bytes() noexcept;

}  // namespace heddle::cpu
