// convert: each number as the nearest of another type. To integers: toward zero, saturated, NaN is
// 0; integers to integers wrap; to pred: not zero; complex to real drops the imaginary part.
// stochastic-convert(x, random): to an integer, away from zero where the fraction of x exceeds
// random / 2^bits.
// copy: the operand, which may be a tuple.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kStochasticOperands[] = {"x", "random"};

Status check_result(const InferArgs& in) {
  if (in.declared()->is_array()) return {};
  return in.error("result is declared as ", *in.declared(), "; must be an array");
}

StatusOr<Shape> infer_convert(const InferArgs& in) {
  if (!in[0].is_array()) return in.error("x is ", in[0], "; must be an array");
  HEDDLE_RETURN_IF_ERROR(check_result(in));
  return in[0].with_dtype(in.declared()->dtype());
}

StatusOr<Shape> infer_stochastic(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kFloats));
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 1, kUnsigned));
  HEDDLE_RETURN_IF_ERROR(check_result(in));
  if (bit_width(in[1].dtype()) != bit_width(in[0].dtype())) {
    return in.error("random is ", in[1], "; its elements must have ", bit_width(in[0].dtype()),
                    " bits, as x, ", in[0]);
  }
  if (!same_dimensions(in[0], in[1])) {
    return in.error("random is ", in[1], "; must have the dimensions of x, ", in[0]);
  }
  return result_dimensions(in).with_dtype(in.declared()->dtype());
}

StatusOr<Shape> infer_copy(const InferArgs& in) { return in[0]; }

}  // namespace

const OpDef kConvertDef = {
    Opcode::kConvert, kUnaryOperands, {Work::kLittle, Rows::kKeptIfAlike, kPlain}, infer_convert};
const OpDef kStochasticConvertDef = {Opcode::kStochasticConvert,
                                     kStochasticOperands,
                                     {Work::kMuch, Rows::kKeptIfAlike, kPlain},
                                     infer_stochastic};
const OpDef kCopyDef = {
    Opcode::kCopy, kUnaryOperands, {Work::kNone, Rows::kKeptIfAlike, kPlain}, infer_copy};

}  // namespace heddle::hlo
