// verify(): is this module legal? The op's own shape rules, plus what holds between instructions
// and computations.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

// What is legal. kTraced: everything. kHlo: what real XLA of any age reads (no scan). kFused is
// private to cpu/.
enum class Stage : uint8_t { kTraced, kHlo, kFused };

// Checks ids (operands before users, callees before callers, root and parameters in place), every
// instruction's type against its op's shape rule, the stage's opcodes, and the module's aliasing.
// errors: InvalidArgument that names computation, instruction and op. Hostile tables are safe:
// every index is checked first.
// cost: linear in the module
Status verify(const Module& module, Stage stage = Stage::kTraced);

// The last of these checks, for who has made all others: input_output_alias names parts that the
// entry has.
Status check_aliases(const Module& module);

}  // namespace heddle::hlo
