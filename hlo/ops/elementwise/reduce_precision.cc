// reduce-precision(x), exponent_bits, mantissa_bits: x rounded to a narrower float and back. Ties
// go to the even mantissa, what is too large becomes infinite, what is too small for a normal
// number becomes a zero of its sign. NaN stays, but without mantissa bits there is no NaN, and it
// becomes infinite. The floats of 8 bits and less are f16 numbers for it: what is too large for the
// bits asked for is infinite before it is rounded to their own format.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_reduce_precision(const InferArgs& in) {
  const auto& attrs = in.attrs<ReducePrecisionAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kFloats));
  if (attrs.exponent_bits < 1)
    return in.error("exponent_bits is ", attrs.exponent_bits, "; must be 1 or more");
  if (attrs.mantissa_bits < 0)
    return in.error("mantissa_bits is ", attrs.mantissa_bits, "; must be 0 or more");
  return in[0];
}

}  // namespace

const OpDef kReducePrecisionDef = {Opcode::kReducePrecision,
                                   kUnaryOperands,
                                   {Work::kLittle, Rows::kKeptIfAlike, kPlain},
                                   infer_reduce_precision};

}  // namespace heddle::hlo
