// ragged-dot(x, y, group_sizes): a dot of which one dimension of x, lhs_ragged_dims={d}, falls into
// groups of neighbours. What d is in the dot says what groups mean (b: batch, k: contracting, g:
// groups):
//   free         x [b,m,k], y [b,g,k,n] -> [b,m,n]: rows of group i meet matrix i of y; rows past
//   the groups give 0 contracting  x [b,m,k], y [b,k,n] -> [g,b,m,n]: sums over each group of k by
//   itself batch        x [b,m,k], y [b,k,n] -> [b,m,n]: a dot
// group_sizes is [g], or has one vector of sizes for each index of the batch dimensions of x and of
// those of d's kind before d.
#include "heddle/hlo/ragged_dot.h"

#include <algorithm>

#include "heddle/hlo/ops/contraction/dot_like.h"

namespace heddle::hlo {
namespace {

Status check_group_sizes(const InferArgs& in, const RaggedDotAttrs& attrs) {
  if (!is_integer(in[2].dtype()))
    return in.error("group_sizes is ", in[2], "; must be of integers");
  if (in[2].rank() == 0)
    return in.error("group_sizes is ", in[2],
                    "; must have a dimension, of one size for each group");
  if (in[2].rank() == 1) return {};
  Dims sizes;
  for (int64_t d : prefix_of_x(in[0].rank(), attrs)) sizes.push_back(in[0].dimension(d));
  sizes.push_back(in[2].dimensions().back());
  if (in[2].dimensions() == sizes) return {};
  return in.error("group_sizes is ", in[2], "; must be ", in[2].with_dimensions(std::move(sizes)),
                  ", or have one dimension");
}

Status check_group_dims(const InferArgs& in, const RaggedDotAttrs& attrs) {
  const Dims& group = attrs.rhs_group_dims;
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "rhs_group_dims", group, in[1].rank()));
  const size_t want = kind_of_ragged(attrs) == RaggedKind::kFree ? 1 : 0;
  if (group.size() != want) {
    return in.error("rhs_group_dims is {", base::join(group, ","), "}; must have ", want,
                    " dimensions where the ragged dimension of x is ",
                    want == 1 ? "free" : "contracting or batch");
  }
  if (want == 0 || in[1].dimension(group[0]) == in[2].dimensions().back()) return {};
  return in.error("y is ", in[1], "; its group dimension ", group[0], " must be ",
                  in[2].dimensions().back(), ", the number of groups of group_sizes ", in[2]);
}

StatusOr<Shape> infer_ragged_dot(const InferArgs& in) {
  const auto& attrs = in.attrs<RaggedDotAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  for (size_t i = 0; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
  HEDDLE_RETURN_IF_ERROR(
      check_paired_dims(in, "batch", attrs.lhs_batch_dims, attrs.rhs_batch_dims));
  HEDDLE_RETURN_IF_ERROR(
      check_paired_dims(in, "contracting", attrs.lhs_contracting_dims, attrs.rhs_contracting_dims));
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "lhs_ragged_dims", attrs.lhs_ragged_dims.size(), 1, "ragged-dot"));
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, "lhs_ragged_dims", attrs.lhs_ragged_dims, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(check_group_sizes(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_group_dims(in, attrs));
  const RaggedKind kind = kind_of_ragged(attrs);
  const int64_t groups = in[2].dimensions().back();
  if (std::max(in[0].rank(), in[1].rank()) == Shape::kMaxRank)
    return in.error("has operands of rank ", Shape::kMaxRank, "; must be less");
  const Shape x = kind == RaggedKind::kBatch ? in[0] : with_groups(in[0], groups);
  const Shape y = kind == RaggedKind::kContracting ? with_groups(in[1], groups) : in[1];
  return infer_dot(in, x, y, dense_form(attrs));
}

constexpr std::string_view kRaggedDotNames[] = {"x", "y", "group_sizes"};

}  // namespace

const OpDef kRaggedDotDef = {Opcode::kRaggedDot, kRaggedDotNames, kOpaque, infer_ragged_dot};

}  // namespace heddle::hlo
