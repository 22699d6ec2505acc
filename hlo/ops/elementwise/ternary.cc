// clamp(min, x, max) = minimum(maximum(x, min), max), NaN where any of them is: bounds of x's type,
// or two scalars for all elements.
// Complex numbers go by their real parts alone: min where x's is not above it, max where it is not
// within max's.
// select(pred, on_true, on_false): an element of the one or the other; pred[], or one pred an
// element.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kClampOperands[] = {"min", "x", "max"};
constexpr std::string_view kSelectOperands[] = {"pred", "on_true", "on_false"};

StatusOr<Shape> infer_clamp(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 1, kPreds | kIntegers | kFloats | kComplexes));
  const bool scalars = in[0].rank() == 0 && in[2].rank() == 0;
  for (size_t bound : {size_t{0}, size_t{2}}) {
    if (!scalars) HEDDLE_RETURN_IF_ERROR(check_same(in, bound, 1));
    if (in[bound].dtype() == in[1].dtype()) continue;
    return in.error(kClampOperands[bound], " is ", in[bound], "; must be ", in[1].dtype(),
                    "[], of the elements of x", "; convert it first");
  }
  return in[1];
}

StatusOr<Shape> infer_select(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kPreds));
  if (!in[1].is_array()) return in.error("on_true is ", in[1], "; must be an array");
  HEDDLE_RETURN_IF_ERROR(check_same(in, 2, 1));
  if (in[0].rank() != 0 && !same_dimensions(in[0], in[1])) {
    return in.error("pred is ", in[0], "; must be pred[] or ", in[1].with_dtype(pred),
                    ", with the dimensions of on_true");
  }
  return in[1];
}

}  // namespace

const OpDef kClampDef = {
    Opcode::kClamp, kClampOperands, {Work::kLittle, Rows::kKeptIfAlike, kPlain}, infer_clamp};
const OpDef kSelectDef = {
    Opcode::kSelect, kSelectOperands, {Work::kLittle, Rows::kKeptIfAlike, kJoins}, infer_select};

}  // namespace heddle::hlo
