#include "heddle/cpu/kernels/isa.h"

#include "heddle/base/settings.h"

namespace heddle::cpu {
namespace {

constexpr int64_t vector_bytes(Isa isa) {
  return isa == Isa::kAvx512 ? 64 : isa == Isa::kAvx2 ? 32 : 16;
}

Isa best_allowed() {
  const int64_t most = setting<Setting::kCpuVectorBytes>();
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (vector_bytes(isa) <= most && has_isa(isa)) return isa;
  }
  return Isa::kGeneric;
}

}  // namespace

bool has_isa(Isa isa) noexcept {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kGeneric: return true;
    case Isa::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::kAvx512:
      return has_isa(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw");
  }
#endif
  return isa == Isa::kGeneric;
}

Isa host_isa() noexcept {
  static const Isa isa = best_allowed();
  return isa;
}

int64_t host_vector_bytes() noexcept { return vector_bytes(host_isa()); }

}  // namespace heddle::cpu
