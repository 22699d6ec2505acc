// LAPACK's routines as custom-call targets, under the names that JAX gives them on a CPU:
// lapack_spotrf_ffi, lapack_zgeev_ffi, ..; and calls beside those: Qr, Eigh, ..
#pragma once

#include <span>
#include <string_view>

#include "heddle/interpreter/custom_call.h"

namespace heddle::interpreter::linalg {

using LapackFunction = StatusOr<Literal> (*)(CustomCall&);

// A routine in each of LAPACK's types, without its letter: "potrf"; or a call of XLA's, by its
// whole name. Not all are there for real and complex types: orgqr and ungqr, syevd and heevd.
struct LapackRoutine {
  std::string_view name;
  LapackFunction s = nullptr, d = nullptr, c = nullptr, z = nullptr;
  bool is_ours = false;  // calls nothing of LAPACK's library
};
// A routine that computes f32 in f64, and c64 in c128, and rounds once: an f32 result is nearer to
// the true one than LAPACK's own.
constexpr LapackRoutine in_double(std::string_view name, LapackFunction real,
                                  LapackFunction complex) {
  return {name, real, real, complex, complex};
}

// Factors and solutions (lapack_factors.cc), eigenvalues and singular values (lapack_values.cc),
// calls beside LAPACK's (xla_calls.cc). The calls are right: check_lapack_call() has passed them.
std::span<const LapackRoutine> lapack_factors();
std::span<const LapackRoutine> lapack_values();
std::span<const LapackRoutine> xla_calls();

// The function of a target of hlo::lapack_targets(); empty for others.
CustomCallFunction find_lapack(std::string_view target);

}  // namespace heddle::interpreter::linalg
