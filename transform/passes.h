// The passes: functions from module to module. Each keeps every value of the result and every
// effect, bit for bit, and is idempotent. They are listed by name in transform/pass.h.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// remove-unused: removes what the result and the effects do not need: instructions; computations;
// elements of the state of while; inputs, outputs and carries of scan; parameters and result
// elements of called computations, calls and conditionals. A carry that only feeds itself is unused
// (see liveness.h). Entry parameters stay.
StatusOr<hlo::Module> remove_unused(const hlo::Module& module);

// inline: puts the instructions of called computations in place of `call`. Composite calls stay, as
// does a call that would make the module larger than 2^20 instructions.
StatusOr<hlo::Module> inline_calls(const hlo::Module& module);

// lower-scan: writes scan as the while that XLA of any age reads (see lower_scan.cc), then removes
// unused values.
StatusOr<hlo::Module> lower_scan(const hlo::Module& module);

// simplify: rewrites by rules that are exact under IEEE, to a fixed point. tests/golden/simplify
// shows each.
StatusOr<hlo::Module> simplify(const hlo::Module& module);
// The names of its rules.
std::vector<std::string_view> simplify_rules();

// merge-equal: computes equal values once (common subexpressions) and calls equal computations as
// one. It does not merge instructions with effects, nor values behind an opt-barrier with values
// before it.
StatusOr<hlo::Module> merge_equal(const hlo::Module& module);

// hoist-invariants: moves values that are the same in all turns of a while before it, where that
// saves more than a load (see hoist_invariants.cc). They are computed once even if there is no
// turn.
StatusOr<hlo::Module> hoist_invariants(const hlo::Module& module);

// sink-iotas: moves an iota, and integers that are made of one, into the while whose turns read
// slices of it alone (see sink_iotas.cc).
StatusOr<hlo::Module> sink_iotas(const hlo::Module& module);

}  // namespace heddle::transform
