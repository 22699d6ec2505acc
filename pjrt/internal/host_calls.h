// Custom calls of functions in this process, for plugins that compute in host memory or on CUDA and
// have XLA's foreign function interface: what interpreter::register_custom_call() gave the
// evaluator, programs of a plugin call too.
//
// A handler of that interface is told nothing of whose call it is. So there is one for a platform,
// and each call carries as an attribute a module of its own instruction alone, which the evaluator
// runs.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/internal/client.h"

namespace heddle::pjrt {

// Whether with_host_calls() would change the module: it calls a function that Heddle's registry has
// and XLA has not.
[[nodiscard]] bool has_host_calls(const hlo::Module& module);

// Returns the module with those calls made for the plugin, which is given the handler at the first
// of them; debug calls (hlo/calls/debug_calls.h) are made in their order. Unchanged where the
// plugin cannot call into this process.
// errors   FailedPrecondition where the plugin took the handler and does not know it afterwards;
//          Unimplemented for debug calls where the plugin cannot call into this process
[[nodiscard]] StatusOr<hlo::Module> with_host_calls(const hlo::Module& module,
                                                    const std::shared_ptr<const Client>& client);

}  // namespace heddle::pjrt
