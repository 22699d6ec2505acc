// The backend's direct kernels (runtime/host/direct.h), one table for each instruction set.
#pragma once

#include "heddle/cpu/kernels/isa.h"
#include "heddle/runtime/host/direct.h"

namespace heddle::cpu {

extern const runtime::DirectKernels kDirectGeneric;
extern const runtime::DirectKernels kDirectAvx2;  // where __x86_64__ is defined

// Those of host_isa().
inline const runtime::DirectKernels& direct_kernels() {
#if defined(__x86_64__)
  if (host_isa() != Isa::kGeneric) return kDirectAvx2;
#endif
  return kDirectGeneric;
}

}  // namespace heddle::cpu
