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

const OpDef kShuffleDef = {Opcode::kShuffle, kForeignNames, kOpaque, infer_shuffle};

}  // namespace heddle::hlo
