// reshape(x): the elements of x in row-major order, under other dimensions.
// bitcast(x): the bytes of x as they lie in memory, under another type; with plain layouts, a
// reshape.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

Status check_counts(const InferArgs& in) {
  const Shape& result = *in.declared();
  int64_t from = count_elements(in[0]);
  int64_t to = count_elements(result);
  if (from == to || from < 0 || to < 0) return {};
  return in.error("x is ", in[0], " of ", from, " elements; the result ", result, " has ", to,
                  "; must be equal");
}

StatusOr<Shape> infer_reshape(const InferArgs& in) {
  const Shape& result = *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!result.is_array() || result.dtype() != in[0].dtype()) {
    return in.error("result is declared as ", result, "; its type must be ", in[0].dtype(),
                    " as of x");
  }
  int64_t inferred = in.attrs<ReshapeAttrs>().inferred_dimension;
  if (inferred != -1) {
    HEDDLE_RETURN_IF_ERROR(check_dimension(in, "inferred_dimension", inferred, result.rank()));
  }
  HEDDLE_RETURN_IF_ERROR(check_counts(in));
  return result;
}

StatusOr<Shape> infer_bitcast(const InferArgs& in) {
  const Shape& result = *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!result.is_array() || storage_bytes(result.dtype()) != storage_bytes(in[0].dtype())) {
    return in.error("result is declared as ", result,
                    "; its elements must be as wide as those of x, ", in[0],
                    "; use bitcast-convert to change the width");
  }
  HEDDLE_RETURN_IF_ERROR(check_counts(in));
  return result;
}

constexpr std::string_view kReshapeNames[] = {"x"};

}  // namespace

const OpDef kReshapeDef = {Opcode::kReshape,
                           kReshapeNames,
                           {Work::kNone, Rows::kByRule, kPicks | kStrided},
                           infer_reshape};
const OpDef kBitcastDef = {
    Opcode::kBitcast, kReshapeNames, {Work::kNone, Rows::kMixed, kPlain}, infer_bitcast};

}  // namespace heddle::hlo
