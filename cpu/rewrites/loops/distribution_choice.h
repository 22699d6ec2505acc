// Which values of a loop's turns are computed for all turns at once.
#pragma once

#include <optional>
#include <vector>

#include "heddle/cpu/rewrites/loops/turns.h"

namespace heddle::cpu {

// The values that are computed before the loop: what the loop reads of them. Empty: there are none.
std::vector<LeafId> values_before(const Turns& turns);

struct StackedRow {
  LeafId leaf;
  std::optional<size_t> carry;  // of the stack that has it already
};
// The stacks, by number of Turns::stacks(), whose parts are computed after the loop, and the rows
// that the loop stacks for it. It moves what is worth it, or all that may move: the choice that
// stacks fewer bytes.
struct RowsAfter {
  std::vector<StackedRow> stacked;
  std::vector<size_t> replaced;
};
std::optional<RowsAfter> rows_after(const Turns& turns);

}  // namespace heddle::cpu
