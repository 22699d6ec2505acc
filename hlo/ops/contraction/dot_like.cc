#include "heddle/hlo/ops/contraction/dot_like.h"

namespace heddle::hlo {

Status check_paired_dims(const InferArgs& in, std::string_view what, const Dims& of_x,
                         const Dims& of_y) {
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, base::cat("lhs_", what, "_dims"), of_x, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, base::cat("rhs_", what, "_dims"), of_y, in[1].rank()));
  HEDDLE_RETURN_IF_ERROR(check_length(in, base::cat("rhs_", what, "_dims"), of_y.size(),
                                      static_cast<int64_t>(of_x.size()),
                                      base::cat("of lhs_", what, "_dims")));
  for (size_t i = 0; i < of_x.size(); ++i) {
    if (sizes_agree(in[0].dimension(of_x[i]), in[1].dimension(of_y[i]))) continue;
    return in.error("y is ", in[1], "; dimension ", of_y[i], " must be ", in[0].dimension(of_x[i]),
                    " as dimension ", of_x[i], " of x ", in[0]);
  }
  return {};
}

Status check_dot_result(const InferArgs& in) {
  if (is_array_element(in.declared()->dtype())) return {};
  return in.error("result is declared as ", *in.declared(),
                  "; must be an array of numbers, as operands are ", in[0], " and ", in[1]);
}

StatusOr<Shape> infer_dot(const InferArgs& in, const Shape& x, const Shape& y,
                          const DotAttrs& attrs) {
  HEDDLE_RETURN_IF_ERROR(check_dot_result(in));
  const Shape* operands[] = {&x, &y};
  const Attrs dense = attrs;
  return kDotDef.infer.rule()(InferArgs(in.opcode(), operands, dense, {}, in.declared()));
}

}  // namespace heddle::hlo
