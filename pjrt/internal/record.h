// What a plugin's record says of its programs.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/transform/lapack/expand.h"

namespace heddle::pjrt {

// errors   InvalidArgument for limits that are none, and for expansions that Heddle has not
[[nodiscard]] Status check_record(const DevicePlugin& plugin);

// Arrays of the type go to the plugin, as far as its record says.
// errors   Unimplemented
[[nodiscard]] Status check_dtype(DType dtype, const DevicePlugin& plugin);

// Returns the module as the record has it: with its generator of random bits where the module
// leaves that open.
// errors   Unimplemented that names the op whose element type the record does not list, or whose
//          state the generator has not
[[nodiscard]] StatusOr<hlo::Module> fit_to_plugin(hlo::Module module, const DevicePlugin& plugin);

// The same types in what such a module became: its ops may be written with others.
// errors   Unimplemented that names the op, by the line of the one that it stands for
[[nodiscard]] Status check_written(const hlo::Module& module, const DevicePlugin& plugin);

// Calls that are written as HLO.
[[nodiscard]] transform::CallFilter expansions_of(const DevicePlugin& plugin);

}  // namespace heddle::pjrt
