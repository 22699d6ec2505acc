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
<<<<<<< HEAD:hlo/ops/movement/reverse.cc
    .opcode = Opcode::kReverse, .operand_names = kReverseNames, .infer = infer_reverse};
=======
    Opcode::kReverse, kNames, {Work::kNone, Rows::kKeptBeside, kPicks}, infer};
>>>>>>> g16house:hlo/ops/movement/reverse.cc

}  // namespace heddle::hlo
