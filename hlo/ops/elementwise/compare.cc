// compare(x, y), direction, type: pred. Any NaN makes every comparison of floats false but NE;
// complex numbers have EQ and NE alone.
// TOTALORDER orders the patterns of floats: -NaN < -inf < .. < -0 < +0 < .. < +inf < +NaN.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

int elements_of(ComparisonType type) {
  switch (type) {
    case ComparisonType::kDefault: return kPreds | kIntegers | kFloats | kComplexes;
    case ComparisonType::kFloat: return kFloats | kComplexes;
    case ComparisonType::kTotalOrder: return kFloats;
    case ComparisonType::kSigned: return kSigned;
    case ComparisonType::kUnsigned: return kUnsigned | kPreds;
  }
  return 0;
}

bool orders(ComparisonDirection direction) {
  return direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe;
}

StatusOr<Shape> infer_compare(const InferArgs& in) {
  const auto& attrs = in.attrs<CompareAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, elements_of(attrs.type)));
  HEDDLE_RETURN_IF_ERROR(check_same(in, 1, 0));
  if (is_complex(in[0].dtype()) && orders(attrs.direction)) {
    return in.error("direction is ", enum_text(attrs.direction), "; must be EQ or NE, since x is ",
                    in[0], "; to order complex numbers, compare their real parts or their abs");
  }
  return result_dimensions(in).with_dtype(pred);
}

}  // namespace

const OpDef kCompareDef = {
    Opcode::kCompare, kBinaryOperands, {Work::kLittle, Rows::kKeptIfAlike, kPlain}, infer_compare};

}  // namespace heddle::hlo
