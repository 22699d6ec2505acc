// JAX's calls of LAPACK on a CPU, custom-call targets such as lapack_spotrf_ffi, as programs write
// them (docs/custom_calls.md), and XLA's own that do the same: Qr, Eigh, .. The interpreter
// evaluates them, and transform/lapack/ writes some of them with older ops: what a call must be
// like stands here, once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

struct LapackName {
  std::string_view routine;  // "potrf"
  DType dtype = DType::kInvalid;
};

// Returns what a target of the form lapack_[sdcz]ROUTINE_ffi names, whether there is such a routine
// or not; nothing for other targets.
[[nodiscard]] std::optional<LapackName> lapack_name(std::string_view target);

// Whether check_lapack_call() knows calls of this target, and all such targets.
[[nodiscard]] bool is_lapack_target(std::string_view target);
[[nodiscard]] std::vector<std::string> lapack_targets();

// Checks a call before its evaluation: number, types and sizes of the operands, the options in
// backend_config, and the declared result. Computes nothing. Operand 0 of a call that it lets pass
// is of the type that the call computes in.
//
// errors   NotFound where there is no routine of the call's target; InvalidArgument for what is
//          wrong; Unimplemented for a sorted Schur form
[[nodiscard]] Status check_lapack_call(const Instruction& call,
                                       std::span<const Shape* const> operands);

// The routine that a custom-call names, where check_lapack_call() lets it pass; empty: other calls.
[[nodiscard]] std::string_view lapack_routine(const Instruction& call,
                                              std::span<const Shape* const> operands);

// What Eigh's backend_config says: "lower,sort,sweeps,tolerance", as in 1,1,100,0.000001.
struct EighOptions {
  int64_t lower = 0;
  int64_t is_sorted = 0;
  int64_t most_sweeps = 0;
  float tolerance = 0;  // of the norm off the diagonal, in parts of the matrix's own
};
// errors: InvalidArgument for other text
[[nodiscard]] StatusOr<EighOptions> eigh_options(const Instruction& call);

// Returns the value of an option in backend_config as text, "76" of {uplo = 76 : ui8}; empty where
// there is none.
[[nodiscard]] std::string_view lapack_option(std::string_view backend_config,
                                             std::string_view name);

}  // namespace heddle::hlo
