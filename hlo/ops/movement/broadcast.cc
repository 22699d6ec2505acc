// broadcast(x), dimensions={..}: dimension d of x becomes dimension dimensions[d] of the result; x
// repeats along the others.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_broadcast(const InferArgs& in) {
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  const Shape& result = *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!result.is_array() || result.dtype() != in[0].dtype()) {
    return in.error("result is declared as ", result, "; its type must be ", in[0].dtype(),
                    " as of x");
  }
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "dimensions", dims.size(), in[0].rank(), "dimension of x"));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "dimensions", dims, result.rank()));
  for (int64_t d = 0; d < in[0].rank(); ++d) {
    int64_t to = dims[static_cast<size_t>(d)];
    if (sizes_agree(in[0].dimension(d), result.dimension(to))) continue;
    return in.error("x is ", in[0], "; its dimension ", d, " must be ", result.dimension(to),
                    " as dimension ", to, " of the result ", result);
  }
  return result;
}

constexpr std::string_view kBroadcastNames[] = {"x"};

}  // namespace

const OpDef kBroadcastDef = {Opcode::kBroadcast,
                             kBroadcastNames,
                             {Work::kNone, Rows::kKeptIfAlike, kPicks | kStrided},
                             infer_broadcast};

}  // namespace heddle::hlo
