// topk's value, for the op and for the custom-calls of the same meaning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

// (values, positions as s32): the k largest elements (or smallest) of each row along the last
// dimension, sorted; ties go to the lower position. Floats by TOTALORDER: -NaN < -inf < .. < -0 <
// +0 < .. < inf < NaN. Not for complex elements.
Literal top_k(const Literal& x, int64_t k, bool largest);
// The same of the elements of an array of this shape, which are not complex.
void top_k(const Shape& shape, const std::byte* x, int64_t k, bool largest, std::byte* values,
           int32_t* positions);

}  // namespace heddle::interpreter
