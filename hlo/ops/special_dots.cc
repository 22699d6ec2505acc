// ragged-dot(x, y, group_sizes): a dot whose rows fall into groups, each with a matrix of its own. scaled-dot(x, y, x_scale, y_scale):
// a dot of narrow floats with scales for blocks of them.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Pairs of dimensions, one of x and one of y.
Status check_pairs(const InferArgs& in, std::string_view what, const Dims& of_x, const Dims& of_y) {
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, cat("lhs_", what, "_dims"), of_x, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, cat("rhs_", what, "_dims"), of_y, in[1].rank()));
  HEDDLE_RETURN_IF_ERROR(check_length(in, cat("rhs_", what, "_dims"), of_y.size(),
                                      static_cast<int64_t>(of_x.size()), cat("of lhs_", what, "_dims")));
  for (size_t i = 0; i < of_x.size(); ++i) {
    if (sizes_agree(in[0].dimension(of_x[i]), in[1].dimension(of_y[i]))) continue;
    return in.error("y is ", in[1], "; dimension ", of_y[i], " must be ", in[0].dimension(of_x[i]),
                    " as dimension ", of_x[i], " of x ", in[0]);
  }
  return {};
}

template <class DotLike>
Status check_dot(const InferArgs& in, const DotLike& attrs) {
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  HEDDLE_RETURN_IF_ERROR(check_pairs(in, "batch", attrs.lhs_batch_dims, attrs.rhs_batch_dims));
  HEDDLE_RETURN_IF_ERROR(
      check_pairs(in, "contracting", attrs.lhs_contracting_dims, attrs.rhs_contracting_dims));
  if (in.declared()->is_array()) return {};
  return in.error("result is declared as ", *in.declared(), "; must be an array");
}

StatusOr<Shape> infer_ragged(const InferArgs& in) {
  const auto& attrs = in.attrs<RaggedDotAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_dot(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "rhs_group_dims", attrs.rhs_group_dims, in[1].rank()));
  HEDDLE_RETURN_IF_ERROR(check_length(in, "lhs_ragged_dims", attrs.lhs_ragged_dims.size(), 1, "ragged-dot"));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "lhs_ragged_dims", attrs.lhs_ragged_dims, in[0].rank()));
  if (is_integer(in[2].dtype())) return *in.declared();
  return in.error("group_sizes is ", in[2], "; must be of integers");
}

StatusOr<Shape> infer_scaled(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_dot(in, in.attrs<DotAttrs>()));
  return *in.declared();
}

constexpr std::string_view kRagged[] = {"x", "y", "group_sizes"};
constexpr std::string_view kScaled[] = {"x", "y", "x_scale", "y_scale"};

}  // namespace

const OpDef kRaggedDotDef = unevaluated(Opcode::kRaggedDot, kRagged, infer_ragged,
                                        "is not evaluated by the interpreter yet");
const OpDef kScaledDotDef = unevaluated(Opcode::kScaledDot, kScaled, infer_scaled,
                                        "is not evaluated by the interpreter yet");

}  // namespace heddle::hlo
