// Derivatives of modules: each gives a new module, in which scan is one instruction as before.
//
//   jvp        (x.., dx..) -> (y.., dy..)      forward: one pass beside the values
//   linearize  x.. -> (y.., residuals..)       and what is linear, to be applied later; a
//                                              residual that is one of x is not given again:
//              (residuals.., dx..) -> dy..     pushforward
//              (residuals.., ct..) -> dx..     pullback
//   vjp        (x.., ct..) -> (y.., ct of x..) both at once, for gradients
//
// The rules of ops are in hlo/derivative.h. Reverse mode is the transpose of what jvp
// writes. In reverse mode a loop becomes two: one that keeps what its tangents read (residuals),
// and one that goes the other way. Each residual is kept once: inputs of the loop and values that
// do not change in it are not stacked.
//
// Parameters and results are counted by leaves: if the parameters of an entry are arrays, its
// leaves are the parameters themselves. Integers and pred have no tangents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// The frontend attribute of a checkpoint call. Reverse mode keeps its operands, and what its policy
// saves beside them; the way back computes the other residuals again.
inline constexpr std::string_view kCheckpointAttribute = "heddle.checkpoint";
// The frontend attribute of a call of a program for one device: the device's name. No other device
// may run the call or its derivatives.
inline constexpr std::string_view kDeviceAttribute = "heddle.device";
// Policies. Names follow the last two: "names:a,b".
inline constexpr std::string_view kSaveNothing = "nothing";
inline constexpr std::string_view kSaveDots = "dots";  // results of dots and convolutions
inline constexpr std::string_view kSaveDotsWithoutBatch = "dots_without_batch";  // dimensions
inline constexpr std::string_view kSaveNames = "names:";
inline constexpr std::string_view kSaveNamesBut = "but:";  // values with another name
// The frontend attribute of a copy that gives its value a name, for policies.
inline constexpr std::string_view kNameAttribute = "heddle.name";
// The frontend attribute of a scan with checkpoints: reverse mode keeps the carries where blocks of
// steps begin. "100,10" has blocks of 100 steps, and blocks of 10 in each while that is computed
// again.
inline constexpr std::string_view kBlockLengths = "heddle.checkpoint_every";
// The frontend attribute of a scan whose reverse derivative takes all steps at once.
inline constexpr std::string_view kParallelBackward = "heddle.parallel_backward";

// (parameters.., tangents of those in `of`) -> (results.., a tangent of each result). Tangents of
// results that have none are zeros.
// errors: Unimplemented that names the op without a derivative and its line
StatusOr<hlo::Module> jvp(const hlo::Module& module, const std::vector<bool>& of);

// (parameters.., cotangents of the results in `from`) -> (results.., cotangents of the parameters
// in `to`).
// errors: as jvp(); Unimplemented for a while without a known bound of its steps
StatusOr<hlo::Module> vjp(const hlo::Module& module, const std::vector<bool>& to,
                          const std::vector<bool>& from);

// parameters.. -> (results.., gradient of the first result, a scalar, by each parameter in `of`).
// Other results need no derivative.
StatusOr<hlo::Module> gradient(const hlo::Module& module, const std::vector<bool>& of);

struct Linearized {
  hlo::Module forward;      // parameters.. -> (results.., residuals.. that are no parameters)
  hlo::Module pushforward;  // (residuals.., tangents of those in `of`) -> tangents of the wanted
  std::vector<std::optional<size_t>> residuals;  // the parameter that each one is
};

inline constexpr size_t kAllResults = SIZE_MAX;
// wanted: how many of the first results have tangents; the others need no derivative
StatusOr<Linearized> linearize(const hlo::Module& module, const std::vector<bool>& of,
                               size_t wanted = kAllResults);

// The transpose of a module that is linear in the chosen parameters: (the other parameters.., a
// cotangent of each result) -> a cotangent of each chosen parameter.
// errors: InvalidArgument that names the op that is not linear, or adds or puts beside what does
// not depend on these parameters and is not 0, and its line; Unimplemented for ops without a
// transpose
StatusOr<hlo::Module> transpose(const hlo::Module& module, const std::vector<bool>& linear);
// The same, linear from parameter `known` on. It is for the pushforward of linearize(), which is
// linear for certain.
StatusOr<hlo::Module> transpose(const hlo::Module& module, size_t known);

}  // namespace heddle::transform
