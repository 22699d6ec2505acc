// Types with dimensions taken out and put in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/hlo/shape.h"

namespace heddle {

// from, from + 1, .., so many of them.
std::vector<int64_t> consecutive_dimensions(int64_t count, int64_t from = 0);

// All dimensions 0 .. rank-1 that are not listed, ascending.
std::vector<int64_t> other_dimensions(int64_t rank, std::span<const int64_t> dimensions);

// The order that undoes one: inverse_permutation(order)[order[d]] is d.
std::vector<int64_t> inverse_permutation(std::span<const int64_t> order);

// f32[5,2,3] without dimension 0 is f32[2,3]; flags of dynamic dimensions move along, layouts are
// dropped.
Shape without_dimensions(const Shape& shape, std::span<const int64_t> dimensions);
Shape with_dimension_inserted(const Shape& shape, int64_t at, int64_t size);

}  // namespace heddle
