// LAPACK's routines as custom-call targets, under the names that JAX gives them on a CPU:
// lapack_spotrf_ffi, lapack_zgeev_ffi, ..
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/interpreter/custom_call.h"

namespace heddle::interpreter::linalg {

using LapackFunction = StatusOr<Literal> (*)(CustomCall&, DType);

// A routine without its type: "potrf". Not all are there for real and complex types: orgqr and
// ungqr, syevd and heevd.
struct LapackRoutine {
  std::string_view name;
  LapackFunction s = nullptr, d = nullptr, c = nullptr, z = nullptr;
};

// Factors and solutions (lapack_factors.cc), eigenvalues and singular values (lapack_values.cc).
std::span<const LapackRoutine> lapack_factors();
std::span<const LapackRoutine> lapack_values();

// The function of a target of the form lapack_[sdcz]NAME_ffi; empty where there is none.
CustomCallFunction find_lapack(std::string_view target);
std::vector<std::string> lapack_targets();

// The same of calls beside LAPACK's (xla_calls.cc): Qr, Eigh, ..
CustomCallFunction find_xla_call(std::string_view target);
std::vector<std::string> xla_call_targets();

}  // namespace heddle::interpreter::linalg
