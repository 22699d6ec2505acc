// Checks that many shape rules share. Each returns an error in the grammar of base/status.h, or OK.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "heddle/hlo/op.h"

namespace heddle::hlo {

// Name of operand i in messages: "x", "start_indices"; "operand 3" where the op gives no name or
// repeats its last.
std::string operand_name(const InferArgs& in, size_t i);

// Operand i is an array: of any type, and every operand.
Status check_array(const InferArgs& in, size_t i);
Status check_arrays(const InferArgs& in);

// Operand i is an array without `?` sizes, whose sizes can be calculated with.
Status check_sized(const InferArgs& in, size_t i);
// The declared type is such an array.
Status check_declared_array(const InferArgs& in);

// The op has `count` operands or more.
Status check_at_least(const InferArgs& in, size_t count);

// Operand i has rank `rank`.
Status check_rank(const InferArgs& in, size_t i, int64_t rank);

// Operand i has the element type `dtype`, which is that of `like`.
Status check_dtype(const InferArgs& in, size_t i, DType dtype, std::string_view like);

// `dim`, the value of attribute `what`, is in [0, rank).
Status check_dimension(const InferArgs& in, std::string_view what, int64_t dim, int64_t rank);

// Every one of `dims`, the values of attribute `what`, is in [0, rank), and none repeats.
Status check_dimensions(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                        int64_t rank);

// ... and they ascend.
Status check_ascending(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                       int64_t rank);

// None of `dims`, the values of attribute `what`, is one of those of attribute `other`.
Status check_apart(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                   std::string_view other, std::span<const int64_t> those);

// Attribute `what` has `size` entries, one for each `each`.
Status check_length(const InferArgs& in, std::string_view what, size_t size, int64_t expected,
                    std::string_view each);

// Attribute `what` has exactly one dimension, in [0, rank).
Status check_one_dimension(const InferArgs& in, std::span<const int64_t> dims, int64_t rank);

// Two sizes that must be equal: a `?` equals anything.
bool sizes_agree(int64_t a, int64_t b);

// `shape` with dimension d sized sizes[d] and still dynamic where it was.
Shape resized(const Shape& shape, std::vector<int64_t> sizes);

// True where dims has `dim`.
bool contains(std::span<const int64_t> dims, int64_t dim);

// Number of elements, saturating at INT64_MAX; a bound counts as the size. -1 where a size is `?`.
int64_t count_elements(const Shape& shape);

// The inferred type; or the declared one where they differ in dynamic flags alone, which XLA's
// producers set in ways of their own.
Shape settle(const InferArgs& in, Shape inferred);

// The declared type is `expected`, up to dynamic flags: the error says that it must be.
StatusOr<Shape> check_declared(const InferArgs& in, const Shape& expected);

// The declared type, for rules that have checked it or that believe it. infer_shape() has made sure
// that it is there.
StatusOr<Shape> believe(const InferArgs& in);

}  // namespace heddle::hlo
