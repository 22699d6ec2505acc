// What the shape rules of region ops (while, reduce, sort, scan, ...) share: checks of the
// computations that they call.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/op.h"

namespace heddle::hlo {

// Called computation number `which` takes parameters of these types; `role` is its name in
// messages, "body" or "comparator".
// errors: "while: body takes f32[2] as parameter 0; must take f32[3]"
Status check_takes(const InferArgs& in, size_t which, std::string_view role,
                   std::span<const Shape> parameters);

// Called computation number `which` returns this type.
// errors: "sort: comparator returns f32[]; must return pred[]"
Status check_returns(const InferArgs& in, size_t which, std::string_view role, const Shape& result);

// A computation with its parameters 0 .. n-1 and its root in place, whatever its maker did.
Status check_callee(const InferArgs& in, size_t which, std::string_view role);

// A reducer of n values takes n accumulators and then n values, all scalars, and returns the
// accumulators: bare, or a tuple of n.
// `values` are the operands' element types and `accumulators` those of the initial values. Floats
// may differ in precision.
// Returns the element types that the reducer returns, one an operand.
// errors: "reduce: reducer returns s32[]; must return f32[]"
StatusOr<std::vector<DType>> check_reducer(const InferArgs& in, size_t which, std::string_view role,
                                           std::span<const DType> values,
                                           std::span<const DType> accumulators);

// Dimensions are distinct and each in [0, rank). `operand` is put before "dimension": "lhs ", or
// nothing.
// errors: "dot: lhs dimension 3 is not in f32[2,3]", "reduce: dimensions {1,1} repeat"
Status check_dimensions(const InferArgs& in, std::span<const int64_t> dimensions,
                        const Shape& shape, std::string_view operand = "");

}  // namespace heddle::hlo
