#include "heddle/hlo/ops/rules.h"

#include <algorithm>

namespace heddle::hlo {

std::string operand_name(const InferArgs& in, size_t i) {
  std::span<const std::string_view> names = definition(in.opcode()).operand_names;
  bool repeats = !names.empty() && i + 1 >= names.size() && in.size() > names.size();
  if (i >= names.size() || repeats) return base::cat("operand ", i);
  return std::string(names[i]);
}

Status check_array(const InferArgs& in, size_t i) {
  if (in[i].is_array()) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; must be an array");
}

Status check_arrays(const InferArgs& in) {
  for (size_t i = 0; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  return {};
}

Status check_sized(const InferArgs& in, size_t i) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  if (!contains(in[i].dimensions(), Shape::kUnbounded)) return {};
  return in.error(operand_name(in, i), " is ", in[i],
                  "; every dimension must have a size or a bound");
}

Status check_declared_array(const InferArgs& in) {
  const Shape& declared = *in.declared();
  if (!declared.is_array())
    return in.error("result is declared as ", declared, "; must be an array");
  if (!contains(declared.dimensions(), Shape::kUnbounded)) return {};
  return in.error("result is declared as ", declared,
                  "; every dimension must have a size or a bound");
}

Status check_at_least(const InferArgs& in, size_t count) {
  if (in.size() >= count) return {};
  return in.error("has ", in.size(), " operands; takes at least ", count);
}

Status check_rank(const InferArgs& in, size_t i, int64_t rank) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  if (in[i].rank() == rank) return {};
  if (rank == 0) return in.error(operand_name(in, i), " is ", in[i], "; must be a scalar");
  return in.error(operand_name(in, i), " is ", in[i], "; its rank must be ", rank);
}

Status check_dtype(const InferArgs& in, size_t i, DType dtype, std::string_view like) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  if (in[i].dtype() == dtype) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; its type must be ", dtype, " as of ",
                  like);
}

Status check_dimension(const InferArgs& in, std::string_view what, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank) return {};
  return in.error(what, " has ", dim, "; must be in [0, ", rank, ")");
}

Status check_dimensions(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                        int64_t rank) {
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    HEDDLE_RETURN_IF_ERROR(check_dimension(in, what, dim, std::min(rank, Shape::kMaxRank)));
    if ((seen >> dim) & 1)
      return in.error(what, " has ", dim, " twice; each dimension may stand once");
    seen |= uint64_t{1} << dim;
  }
  return {};
}

Status check_apart(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                   std::string_view other, std::span<const int64_t> those) {
  for (int64_t d : those) {
    if (contains(dims, d))
      return in.error(what, " has ", d, ", which ", other, " has too; must be in one of them");
  }
  return {};
}

Status check_ascending(const InferArgs& in, std::string_view what, std::span<const int64_t> dims,
                       int64_t rank) {
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, what, dims, rank));
  if (std::ranges::is_sorted(dims)) return {};
  return in.error(what, " is {", base::join(dims, ","), "}; must ascend");
}

Status check_length(const InferArgs& in, std::string_view what, size_t size, int64_t expected,
                    std::string_view each) {
  if (static_cast<int64_t>(size) == expected) return {};
  return in.error(what, " has ", size, " entries; must have ", expected, ", one for each ", each);
}

Status check_one_dimension(const InferArgs& in, std::span<const int64_t> dims, int64_t rank) {
  if (dims.size() != 1) {
    return in.error("dimensions is {", base::join(dims, ","), "}; must name exactly one dimension");
  }
  return check_dimension(in, "dimensions", dims[0], rank);
}

bool sizes_agree(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}

namespace {

bool same_but_for_dynamic_flags(const Shape& a, const Shape& b) {
  return a.dtype() == b.dtype() && a.dimensions() == b.dimensions() &&
         std::ranges::equal(a.elements(), b.elements(), same_but_for_dynamic_flags);
}

// A `?` of the first agrees with every size.
bool same_where_known(const Shape& a, const Shape& b) {
  return a.dtype() == b.dtype() &&
         std::ranges::equal(
             a.dimensions(), b.dimensions(),
             [](int64_t x, int64_t y) { return x == y || x == Shape::kUnbounded; }) &&
         std::ranges::equal(a.elements(), b.elements(), same_where_known);
}

}  // namespace

Shape settle(const InferArgs& in, Shape inferred) {
  if (in.declared() == nullptr || same_type(*in.declared(), inferred)) return inferred;
  return same_but_for_dynamic_flags(*in.declared(), inferred) ? *in.declared() : inferred;
}

StatusOr<Shape> check_declared(const InferArgs& in, const Shape& expected) {
  if (same_but_for_dynamic_flags(*in.declared(), expected)) return *in.declared();
  if (same_where_known(*in.declared(), expected)) return expected;
  return in.error("result is declared as ", *in.declared(), "; must be ", expected);
}

Shape resized(const Shape& shape, std::vector<int64_t> sizes) {
  Shape out = shape.with_dimensions(std::move(sizes));
  for (int64_t d = 0; d < shape.rank() && d < out.rank(); ++d) {
    if (shape.is_dynamic_dimension(d)) out.set_dynamic_dimension(d, true);
  }
  return out;
}

bool contains(std::span<const int64_t> dims, int64_t dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

int64_t count_elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape.dimensions()) {
    if (size == Shape::kUnbounded) return -1;
    if (size == 0) return 0;
    if (__builtin_mul_overflow(count, size, &count)) count = INT64_MAX;
  }
  return count;
}

StatusOr<Shape> believe(const InferArgs& in) { return *in.declared(); }

}  // namespace heddle::hlo
