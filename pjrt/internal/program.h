// What a module becomes before a plugin compiles it.
#pragma once

#include <string>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"
#include "heddle/transform/lapack/expand.h"

namespace heddle::pjrt {

// Returns the module in the form that XLA reads through a plugin: no scan and no mulhi, parameters
// and results that are flat arrays in row-major layout, no aliasing between them but that of
// `donated`, whose numbers are of flat parameters; and no call of LAPACK that `expanded` says yes to
// (null: none that Heddle can write).
//
// errors   Unimplemented for a parameter or result that a plugin cannot pass, and for programs of
//          several devices
[[nodiscard]] StatusOr<hlo::Module> prepare(const hlo::Module& module, int plugin_minor,
                                            const std::vector<int>& donated = {},
                                            const transform::CallFilter& expanded = nullptr);

// Returns the error of a compile in the words of the program: a function that the plugin has not is
// Unimplemented, and names the instruction that calls it.
[[nodiscard]] Status explained(const Status& error, const hlo::Module& module);

// Returns serialised compile options for one run on the device with the plugin's number `device`.
[[nodiscard]] std::string compile_options(int device,
                                          const std::vector<runtime::BackendOption>& options);

}  // namespace heddle::pjrt
