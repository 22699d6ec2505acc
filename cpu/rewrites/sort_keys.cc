#include "heddle/cpu/rewrites/sort_keys.h"

#include <cmath>
#include <utility>

#include "heddle/cpu/rewrites/inlined_scalars.h"

namespace heddle::cpu {
hlo::Value key_of(const interpreter::SortKey& key, const hlo::Computation& comparator,
                  const hlo::Values& values) {
  hlo::Values both;  // the comparator has a left and a right element of each operand
  for (const hlo::Value& value : values) both.insert(both.end(), {value, value});
  const hlo::Value x = InlinedScalars(comparator, std::move(both)).of(key.left);
  if (!is_floating(x.dtype()) || key.is_total_order) return x;
  return select(x != x, std::nan(""), select(x == 0, 0, x));
}

}  // namespace heddle::cpu
