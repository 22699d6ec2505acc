// broadcast(x), dimensions={..}: dimension d of x becomes dimension dimensions[d] of the result; x
// repeats along the others.
#include <algorithm>

#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/ops/strides.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer(const InferArgs& in) {
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

StatusOr<Literal> evaluate(EvalArgs& in) {
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  const Shape& result = in.result();
  if (in[0].element_count() == result.element_count() && std::ranges::is_sorted(dims)) {
    return std::move(in.operands[0]).reshaped(result);  // only dimensions of size 1 are new
  }
  const Strides of_x(in[0].shape());
  int64_t from[Shape::kMaxRank];
  std::fill_n(from, result.rank(), 0);
  for (size_t d = 0; d < dims.size(); ++d) from[dims[d]] = of_x[static_cast<int64_t>(d)];
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes(), from, result.dimensions(),
               storage_bytes(result.dtype()));
  return out;
}

constexpr std::string_view kNames[] = {"x"};

}  // namespace

const OpDef kBroadcastDef = {
    .opcode = Opcode::kBroadcast,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
