// reverse(x), dimensions={..}: x flipped along each listed dimension. Linear, and its own inverse.
#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/ops/strides.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, "dimensions", in.attrs<DimensionsAttrs>().dimensions, in[0].rank()));
  return settle(in, resized(in[0], in[0].dimensions()));
}

// Walks x from its last element backwards along each flipped dimension.
StatusOr<Literal> evaluate(EvalArgs& in) {
  const Shape& result = in.result();
  Literal out = Literal::uninitialised(result);
  if (result.element_count() == 0) return out;
  const int64_t width = storage_bytes(result.dtype());
  Strides from(in[0].shape());
  const std::byte* start = in[0].bytes();
  for (int64_t d : in.attrs<DimensionsAttrs>().dimensions) {
    start += (result.dimension(d) - 1) * from[d] * width;
    from[d] = -from[d];
  }
  copy_strided(out.mutable_bytes(), Strides(result), start, from, result.dimensions(), width);
  return out;
}

constexpr std::string_view kNames[] = {"x"};

}  // namespace

const OpDef kReverseDef = {
    .opcode = Opcode::kReverse,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
