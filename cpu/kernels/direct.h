// The backend's direct kernels (runtime/host/direct.h), one table for each instruction set.
#pragma once

#include "heddle/runtime/host/direct.h"

namespace heddle::cpu {

extern const runtime::DirectKernels kDirectGeneric;
extern const runtime::DirectKernels kDirectAvx2;  // where __x86_64__ is defined

// The best that this processor has.
inline const runtime::DirectKernels& direct_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return kDirectAvx2;
#endif
  return kDirectGeneric;
}

}  // namespace heddle::cpu
