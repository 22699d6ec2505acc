// JAX's calls of LAPACK on a CPU, custom-call targets such as lapack_spotrf_ffi, as programs write
// them (docs/custom_calls.md). The interpreter evaluates them, and transform/lapack/ writes some of
// them with older ops: what a call must be like stands here, once.
#pragma once

#include <optional>
#include <span>
#include <string_view>

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

// Checks a call as its evaluation does: number, types and sizes of the operands, the options in
// backend_config, and the declared result. Computes nothing.
//
// errors   NotFound where the interpreter has no routine of the call's target; InvalidArgument for
//          what is wrong
[[nodiscard]] Status check_lapack_call(const Instruction& call,
                                       std::span<const Shape* const> operands);

// Returns the value of an option in backend_config as text, "76" of {uplo = 76 : ui8}; empty where
// there is none.
[[nodiscard]] std::string_view lapack_option(std::string_view backend_config,
                                             std::string_view name);

}  // namespace heddle::hlo
