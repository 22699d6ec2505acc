#include "heddle/cpu/rewrites/sorts/sort_keys.h"

#include <cmath>
#include <limits>
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

hlo::Value as_ordered_integers(const hlo::Value& key) {
  const DType dtype = key.dtype();
  if (!is_floating(dtype))
    return dtype == pred || storage_bytes(dtype) < 4 ? convert(key, s32) : key;
  if (storage_bytes(dtype) < 4) return as_ordered_integers(convert(key, f32));
  // The bits of negative ones but for the sign turn around.
  const bool is_short = dtype == f32;
  const hlo::Value bits = bitcast_convert(key, is_short ? s32 : s64);
  const int64_t most =
      is_short ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  const hlo::Value all_but_sign = key.graph().constant(Literal::scalar(bits.dtype(), most));
  return bits ^ ((bits >> (is_short ? 31 : 63)) & all_but_sign);
}

}  // namespace heddle::cpu
