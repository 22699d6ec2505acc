// dot(lhs, rhs): sums of products over the contracting dimensions, for each batch position. The
// result's dimensions are: batch, what is left of lhs, what is left of rhs. Its element type is the
// instruction's own.
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/ops/contraction/dot_like.h"
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kDotOperands[] = {"lhs", "rhs"};

Status check_side(const InferArgs& in, size_t side, const Dims& batch, const Dims& contracting) {
  const Shape& shape = in[side];
  if (!shape.is_array())
    return in.error(kDotOperands[side], " is ", to_string(shape), "; must be an array");
  Dims used = batch;
  used.insert(used.end(), contracting.begin(), contracting.end());
  return check_dimensions(in, used, shape, side == 0 ? "lhs " : "rhs ");
}

Status check_pairs(const InferArgs& in, std::string_view kind, const Dims& lhs, const Dims& rhs) {
  if (lhs.size() != rhs.size()) {
    return in.error("lhs has ", lhs.size(), " ", kind, " dimensions and rhs ", rhs.size(),
                    "; both must have as many");
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t left = in[0].dimension(lhs[i]);
    const int64_t right = in[1].dimension(rhs[i]);
    if (left == right) continue;
    return in.error("rhs is ", to_string(in[1]), "; ", kind, " dimension ", rhs[i], " must be ",
                    left, " as dimension ", lhs[i], " of lhs, ", to_string(in[0]));
  }
  return {};
}

// Puts the dimensions of `more` behind those of `shape`.
Shape joined(const Shape& shape, const Shape& more) {
  Shape out = shape;
  for (int64_t i = 0; i < more.rank(); ++i) {
    out = with_dimension_inserted(out, out.rank(), more.dimension(i));
    out.set_dynamic_dimension(out.rank() - 1, more.is_dynamic_dimension(i));
  }
  return out;
}

Shape free_part(const Shape& shape, const Dims& batch, const Dims& contracting) {
  Dims used = batch;
  used.insert(used.end(), contracting.begin(), contracting.end());
  return without_dimensions(shape, used);
}

// The batch dimensions of lhs, in the order of the list.
Shape batch_part(const Shape& lhs, const Dims& batch) {
  Shape out = Shape::scalar(lhs.dtype());
  for (int64_t d : batch) {
    out = with_dimension_inserted(out, out.rank(), lhs.dimension(d));
    out.set_dynamic_dimension(out.rank() - 1, lhs.is_dynamic_dimension(d));
  }
  return out;
}

StatusOr<Shape> infer_dot(const InferArgs& in) {
  const auto& attrs = in.attrs<DotAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_side(in, 0, attrs.lhs_batch_dims, attrs.lhs_contracting_dims));
  HEDDLE_RETURN_IF_ERROR(check_side(in, 1, attrs.rhs_batch_dims, attrs.rhs_contracting_dims));
  HEDDLE_RETURN_IF_ERROR(check_pairs(in, "batch", attrs.lhs_batch_dims, attrs.rhs_batch_dims));
  HEDDLE_RETURN_IF_ERROR(
      check_pairs(in, "contracting", attrs.lhs_contracting_dims, attrs.rhs_contracting_dims));
  HEDDLE_RETURN_IF_ERROR(check_dot_result(in));
  const int64_t rank =
      in[0].rank() + in[1].rank() -
      static_cast<int64_t>(attrs.lhs_batch_dims.size() + 2 * attrs.lhs_contracting_dims.size());
  if (rank > Shape::kMaxRank)
    return in.error("result has rank ", rank, "; must be at most ", Shape::kMaxRank);
  Shape out = batch_part(in[0], attrs.lhs_batch_dims);
  out = joined(out, free_part(in[0], attrs.lhs_batch_dims, attrs.lhs_contracting_dims));
  out = joined(out, free_part(in[1], attrs.rhs_batch_dims, attrs.rhs_contracting_dims));
  return out.with_dtype(in.declared()->dtype());
}

}  // namespace

const OpDef kDotDef = {Opcode::kDot, kDotOperands, {Work::kMost, Rows::kByRule, kPlain}, infer_dot};

}  // namespace heddle::hlo
