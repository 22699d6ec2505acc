// shuffle(x): XLA's newest; its attributes are not known here.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_shuffle(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  return *in.declared();
}

constexpr std::string_view kForeignNames[] = {"x"};

}  // namespace

<<<<<<< HEAD:hlo/ops/control/foreign.cc
const OpDef kShuffleDef = {
    .opcode = Opcode::kShuffle, .operand_names = kForeignNames, .infer = infer_shuffle};
=======
const OpDef kShuffleDef = {Opcode::kShuffle, kNames, kOpaque, infer_shuffle};
>>>>>>> g16house:hlo/ops/control/foreign.cc

}  // namespace heddle::hlo
