// ragged-dot as a dot. Source: the dense form that JAX's ragged_dot_general states: x is repeated
// for each group with zeros where other groups stand, and the groups become a contracting (or
// batch) dimension of a dot.
#pragma once

#include <cstdint>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/shape.h"

namespace heddle::hlo {

// What the ragged dimension of x is in the dot.
enum class RaggedKind : uint8_t { kFree, kContracting, kBatch };

RaggedKind kind_of_ragged(const RaggedDotAttrs& attrs);

// The dimensions of one side whose indices choose a vector of group sizes: batch, then those of the
// ragged one's kind before it.
Dims prefix_of(int64_t rank, const Dims& batch, const Dims& contracting, int64_t ragged,
               RaggedKind kind);
// The same of x, which has this rank.
Dims prefix_of_x(int64_t rank, const RaggedDotAttrs& attrs);

// The dot of the dense form, whose operands have the groups as dimension 0.
DotAttrs dense_form(const RaggedDotAttrs& attrs);

// The shape behind a dimension of `groups`.
Shape with_groups(const Shape& shape, int64_t groups);

}  // namespace heddle::hlo
