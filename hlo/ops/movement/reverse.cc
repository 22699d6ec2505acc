// reverse(x), dimensions={..}: x flipped along each listed dimension. Linear, and its own inverse.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_reverse(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, "dimensions", in.attrs<DimensionsAttrs>().dimensions, in[0].rank()));
  return settle(in, resized(in[0], in[0].dimensions()));
}

constexpr std::string_view kReverseNames[] = {"x"};

}  // namespace

const OpDef kReverseDef = {
    Opcode::kReverse, kReverseNames, {Work::kNone, Rows::kKeptBeside, kPicks}, infer_reverse};

}  // namespace heddle::hlo
