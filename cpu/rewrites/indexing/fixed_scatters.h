// Scatters of one window at a place that is known.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {

// The sizes of the one window of a scatter of one array, by dimension of the array. Nothing where
// there are several windows.
std::optional<hlo::Dims> one_window(const hlo::Computation& computation,
                                    const hlo::Instruction& scatter);

// How an old element and a new one are combined: by one operation, or the new one stays (kCopy).
struct Combiner {
  hlo::Opcode opcode = hlo::Opcode::kCopy;
  bool is_turned = false;  // opcode(new, old)

  [[nodiscard]] hlo::Value of(const hlo::Value& old, const hlo::Value& part) const;
};
// Nothing where it is another function.
std::optional<Combiner> combiner_of(const hlo::Computation& by);

// Writes a scatter of one window, whose indices are constants, as a dynamic-update-slice of what
// the window's elements become. JAX's x.at[1:-1].set(y) and .add(y) are such. A window that does
// not fit stays a scatter.
[[nodiscard]] StatusOr<hlo::Module> update_fixed_scatters(const hlo::Module& module);

}  // namespace heddle::cpu
