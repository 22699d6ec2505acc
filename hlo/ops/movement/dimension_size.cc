// get-dimension-size(x), dimensions={d}: the size of a dimension as s32. set-dimension-size(x,
// size): x with dimension d dynamic, of this size. dynamic-reshape(x, size..): x under dimensions
// whose sizes are operands; the declared type bounds them.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_get(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  HEDDLE_RETURN_IF_ERROR(
      check_one_dimension(in, in.attrs<DimensionsAttrs>().dimensions, in[0].rank()));
  return Shape::scalar(s32);
}

Status check_size(const InferArgs& in, size_t i) {
  if (in[i].is_scalar(s32)) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; must be s32[]");
}

StatusOr<Shape> infer_set(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  HEDDLE_RETURN_IF_ERROR(
      check_one_dimension(in, in.attrs<DimensionsAttrs>().dimensions, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(check_size(in, 1));
  return check_declared(in, in[0]);
}

StatusOr<Shape> infer_dynamic_reshape(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  const Shape& result = *in.declared();
  if (!result.is_array() || result.dtype() != in[0].dtype()) {
    return in.error("result is declared as ", result, "; its type must be ", in[0].dtype(),
                    " as of x");
  }
  if (in.size() != 1 + static_cast<size_t>(result.rank())) {
    return in.error("has ", in.size() - 1, " sizes; must have ", result.rank(),
                    ", one for each dimension of the result ", result);
  }
  for (size_t i = 1; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_size(in, i));
  int64_t from = count_elements(in[0]);
  int64_t to = count_elements(result);
  if (from == to || from < 0 || to < 0) return result;
  return in.error("x is ", in[0], " of ", from, " elements; the result ", result, " has ", to,
                  "; must be equal");
}

constexpr std::string_view kDimensionSizeNames[] = {"x", "size"};

}  // namespace

const OpDef kGetDimensionSizeDef = {Opcode::kGetDimensionSize, kDimensionSizeNames, kOpaque,
                                    infer_get};
const OpDef kSetDimensionSizeDef = {Opcode::kSetDimensionSize, kDimensionSizeNames, kOpaque,
                                    infer_set};
const OpDef kDynamicReshapeDef = {Opcode::kDynamicReshape, kDimensionSizeNames, kOpaque,
                                  infer_dynamic_reshape};

}  // namespace heddle::hlo
