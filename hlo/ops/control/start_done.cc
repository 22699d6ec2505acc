#include "heddle/hlo/ops/control/start_done.h"

namespace heddle::hlo {

StatusOr<Shape> infer_start(const InferArgs& in) {
  if (in.declared()->is_tuple()) return *in.declared();
  return in.error("result is declared as ", *in.declared(),
                  "; must be a tuple of operands and results");
}

StatusOr<Shape> infer_done(const InferArgs& in) {
  if (in[0].is_tuple() && in[0].element_shapes() >= 2) return check_declared(in, in[0].element(1));
  return in.error("operand 0 is ", in[0], "; must be what a start gives");
}

}  // namespace heddle::hlo
