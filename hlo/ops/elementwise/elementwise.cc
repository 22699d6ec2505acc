#include "heddle/hlo/ops/elementwise/elementwise.h"

#include <algorithm>
#include <vector>

#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

int set_of(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kPredicate: return kPreds;
    case DTypeKind::kSigned: return kSigned;
    case DTypeKind::kUnsigned: return kUnsigned;
    case DTypeKind::kFloat: return kFloats;
    case DTypeKind::kComplex: return kComplexes;
    case DTypeKind::kNone: break;
  }
  return 0;
}

// "pred, integers or floats"
std::string describe(int accepts) {
  std::vector<std::string_view> names;
  if (accepts & kPreds) names.push_back("pred");
  if ((accepts & kIntegers) == kSigned) names.push_back("signed integers");
  if ((accepts & kIntegers) == kUnsigned) names.push_back("unsigned integers");
  if ((accepts & kIntegers) == kIntegers) names.push_back("integers");
  if (accepts & kFloats) names.push_back("floats");
  if (accepts & kComplexes) names.push_back("complex numbers");
  std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : base::cat(base::join(names, ", "), " or ", last);
}

// The cast that mends an element type which is not in the set. HLO has no function for it.
std::string_view cast_to(int accepts, DType dtype) {
  const bool is_whole = dtype == DType::kPred || is_integer(dtype);
  const bool takes_floats = (accepts & (kFloats | kComplexes)) != 0;
  if ((accepts & kIntegers) && (dtype == DType::kPred || (!is_whole && !takes_floats)))
    return accepts & kSigned ? ", cast it with astype(s32)" : ", cast it with astype(u32)";
  return is_whole && (accepts & kFloats) ? ", cast it with astype(f32)" : "";
}

// A `?` agrees with every size.
bool dimensions_agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dimensions(), b.dimensions(), sizes_agree);
}

}  // namespace

Status check_elements(const InferArgs& in, size_t i, int accepts) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  if (set_of(in[i].dtype()) & accepts) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; its elements must be ", describe(accepts),
                  in.function().empty() ? "" : cast_to(accepts, in[i].dtype()));
}

Status check_same(const InferArgs& in, size_t i, size_t like) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  const bool agree = dimensions_agree(in[i], in[like]);
  if (agree && in[i].dtype() == in[like].dtype()) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; must be ", in[like], " as ",
                  operand_name(in, like), "; ", agree ? "convert" : "broadcast", " it first");
}

Shape result_dimensions(const InferArgs& in) {
  Shape out = in[0];
  for (const Shape* operand : in.operands()) {
    if (!operand->is_dynamic() && !out.is_dynamic()) continue;
    const Shape before = out;
    std::vector<int64_t> sizes = before.dimensions();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == Shape::kUnbounded) sizes[d] = operand->dimensions()[d];
    }
    out = before.with_dimensions(sizes);
    for (int64_t d = 0; d < out.rank(); ++d) {
      const bool unknown = before.dimension(d) == Shape::kUnbounded;
      const bool other =
          operand->dimension(d) != Shape::kUnbounded && operand->is_dynamic_dimension(d);
      out.set_dynamic_dimension(
          d, unknown ? operand->is_dynamic_dimension(d) : before.is_dynamic_dimension(d) || other);
    }
  }
  return out;
}

StatusOr<Shape> infer_elementwise(const InferArgs& in, int accepts, DType (*result)(DType)) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, accepts));
  for (size_t i = 1; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_same(in, i, 0));
  return result_dimensions(in).with_dtype(result(in[0].dtype()));
}

}  // namespace heddle::hlo
