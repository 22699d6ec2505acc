// Searching sorted arrays, and arrays as sets of their elements. Names are those of jax.numpy.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/base/containers/fields.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Where each value would be inserted into `sorted` (ascending, rank 1) to keep it sorted, before
// (kLeft) or after (kRight) equal elements: s32 in the values' shape, from 0 to the size. A NaN
// sorts after every number. errors: Error where sorted is not of rank 1, or the dtypes differ.
// cost: a loop of log2(size) gathers
enum class SearchSide : uint8_t { kLeft, kRight };
// s32: where each value would be inserted into `sorted` to keep it sorted.
Tensor searchsorted(Operand sorted, Operand values, SearchSide side = SearchSide::kLeft);

// The different elements of x, ascending. Shapes cannot depend on values, so `size` places are
// filled: greater elements that have no place are dropped, and places left over get `fill` (with
// none: the least element). All NaN are equal.
struct UniqueResult {
  Tensor values;   // [size], of x's dtype
  Tensor indices;  // s32[size]: where each is first in x, flattened; of places left over: where the
                   // least element is
  Tensor inverse;  // s32, x's shape: the place of each element, which may lie past the last
  Tensor counts;   // s32[size]: how often each is in x; 0 of places left over
  Tensor number;   // s32[]: of different elements, which may be more than size
  static constexpr auto kFields =
      fields(field("values", &UniqueResult::values), field("indices", &UniqueResult::indices),
             field("inverse", &UniqueResult::inverse), field("counts", &UniqueResult::counts),
             field("number", &UniqueResult::number));
};
// The different elements of x, ascending, in `size` places.
UniqueResult unique(Operand x, base::Int size, std::optional<Operand> fill = {});
template <class None = trace_internal::Refused>
auto unique(trace_internal::RefusedTensor /*x*/) {  // auto: this error comes first
  static_assert(!sizeof(std::type_identity<None>),
                "the number of results is part of a shape: write unique(x, size).values");
  return trace_internal::Refused();
}

// Sets. Results have `size` places too: the elements, different ones and ascending, and `fill` in
// the places left over; greater elements that have no place are dropped. NaN belong to no set.
// errors: also where operands have other dtypes or none with an order

// pred, x's shape: whether each element of x is one of `elements`. cost: a sort of these, and a
// loop of log2 of their number
Tensor isin(Operand x, Operand elements);

struct SetResult {
  Tensor values;  // [size], of x's dtype
  Tensor number;  // s32[]: of elements, which may be more than size
  static constexpr auto kFields =
      fields(field("values", &SetResult::values), field("number", &SetResult::number));
};
SetResult union1d(Operand x, Operand y, base::Int size, Operand fill = 0);      // those of either
SetResult intersect1d(Operand x, Operand y, base::Int size, Operand fill = 0);  // those of both
SetResult setdiff1d(Operand x, Operand y, base::Int size, Operand fill = 0);    // those of x, not y
SetResult setxor1d(Operand x, Operand y, base::Int size,
                   Operand fill = 0);  // those of one, not of both

}  // namespace heddle
