// What a module becomes before a plugin compiles it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"
#include "heddle/transform/lapack/expand.h"

namespace heddle::pjrt {

// Whether a flat result may stand in the memory of a flat parameter of its type.
using MayAlias = std::function<bool(int parameter, size_t result)>;

// Returns the module in the form that XLA reads through a plugin: no scan and nothing of
// pjrt/internal/expand/expand.h, parameters and results that are flat arrays in row-major layout,
// no aliasing between them but that of `donated`, whose numbers are of flat parameters, as far as
// `may_alias` (null: everywhere) allows; and no call of LAPACK that `expanded` says yes to (null:
// none that Heddle can write).
//
// errors   Unimplemented for a parameter or result that a plugin cannot pass, and for programs of
//          several devices
[[nodiscard]] StatusOr<hlo::Module> prepare(hlo::Module module, int plugin_minor,
                                            const std::vector<int>& donated = {},
                                            const transform::CallFilter& expanded = nullptr,
                                            const MayAlias& may_alias = nullptr);

// Sets the precision of dots and convolutions of f32 and c64 that name neither a precision nor an
// algorithm.
void set_matmul_precision(hlo::Precision precision, hlo::Module& module);

// Clears the backend_config of loops, which has their trip count. XLA counts trips itself, and
// warns on standard error of each loop that comes with a count.
void drop_trip_counts(hlo::Module& module);

// Returns the error of a compile in the words of the program: a function that the plugin has not is
// Unimplemented, and names the instruction that calls it.
[[nodiscard]] Status explained(const Status& error, const hlo::Module& module);

// Options of a program that are fields of their own. Any other name is one of XLA's debug options.
inline constexpr std::string_view kPortableOption = "compile_portable_executable";
inline constexpr std::string_view kDebugOption = "debug_options";
inline constexpr std::string_view kExtraOption = "xla_backend_extra_options";
// Heddle's own: the precision of products of f32 and c64 that name none.
inline constexpr std::string_view kPrecisionOption = "matmul_precision";

// Who reads the options.
struct OptionsReader {
  bool is_xla = false;
  std::string library = {};  // of XLA's CPU; empty: another plugin
};

// No two options have one name.
// errors   InvalidArgument for values that these cannot have, for programs of several devices that
//          are to be portable, and for names in kExtraOption and kDebugOption that XLA would end
//          the process over, or that its CPU plugin does not have
[[nodiscard]] Status check_options(const std::vector<runtime::BackendOption>& options,
                                   size_t devices, const OptionsReader& reader);
[[nodiscard]] bool is_portable(const std::vector<runtime::BackendOption>& options);
// What kPrecisionOption says; kDefault, the plugin's choice, where the options have none.
[[nodiscard]] hlo::Precision matmul_precision(const std::vector<runtime::BackendOption>& options);

// Puts "name=value,name=value" of kExtraOption, which check_options() has seen, into XLA's debug
// options, which are given as `defaults()` where the options have none.
// errors   of defaults()
[[nodiscard]] Status resolve_extra_options(const std::function<StatusOr<std::string>()>& defaults,
                                           std::vector<runtime::BackendOption>& options);

// The debug options in what Loaded::optimized_program() gave.
// errors   Internal where there are none
[[nodiscard]] StatusOr<std::string> debug_options_of(std::string_view optimized_program);

// Returns serialised compile options for one run on the device with the plugin's number `device`.
[[nodiscard]] std::string compile_options(int device,
                                          const std::vector<runtime::BackendOption>& options);

// The module, in which what shard_map computes reads no constant that is read outside of it too:
// XLA's propagation of shardings dies of such.
// errors: Unimplemented where a loop, a branch or a call gives a part of it
[[nodiscard]] StatusOr<hlo::Module> with_own_constants(const hlo::Module& module);

}  // namespace heddle::pjrt
