// dynamic-slice(x, start..): the block of dynamic_slice_sizes that begins at start.
// dynamic-update-slice(x, update, start..): x with the block that begins at start replaced by
// update.
//
// Each start is clamped to [0, size of x - size of the block], so that the block lies in x;
// unsigned starts are compared unsigned.
// The starts are one integer scalar a dimension; an older form has one vector of them.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// The operands from `first` on give one start for each dimension of operand 0.
Status check_starts(const InferArgs& in, size_t first) {
  int64_t rank = in[0].rank();
  bool is_vector = in.size() == first + 1 && in[first].is_array() && in[first].rank() == 1;
  if (is_vector) {
    if (is_integer(in[first].dtype()) && in[first].dimension(0) == rank) return {};
    return in.error("start_indices is ", in[first], "; must be ", rank,
                    " integers, one for each dimension of x: in s32[", rank, "], or each a scalar");
  }
  if (in.size() != first + static_cast<size_t>(rank)) {
    return in.error("has ", in.size() - first, " start indices; must have ", rank,
                    ", one for each dimension of x ", in[0]);
  }
  for (size_t i = first; i < in.size(); ++i) {
    if (in[i].is_scalar() && is_integer(in[i].dtype())) continue;
    return in.error("the start of dimension ", i - first, " is ", in[i],
                    "; must be an integer scalar, such as s32[]");
  }
  return {};
}

StatusOr<Shape> infer_dynamic_slice(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_starts(in, 1));
  const Dims& sizes = in.attrs<DynamicSliceAttrs>().dynamic_slice_sizes;
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "dynamic_slice_sizes", sizes.size(), in[0].rank(), "dimension of x"));
  for (int64_t d = 0; d < in[0].rank(); ++d) {
    int64_t size = sizes[static_cast<size_t>(d)];
    if (size >= 0 && size <= in[0].dimension(d)) continue;
    return in.error("x is ", in[0], "; slice size ", size, " of dimension ", d, " must be in [0, ",
                    in[0].dimension(d), "]");
  }
  return settle(in, Shape(in[0].dtype(), sizes));
}

StatusOr<Shape> infer_update(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 2));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 1));
  const DType dtype = in[0].dtype();
  if (in[1].dtype() != dtype) {
    return in.error("update is ", in[1], "; its type must be ", dtype,
                    " as of x, cast it with astype(", dtype, ")");
  }
  if (in[1].rank() != in[0].rank()) {
    return in.error("update is ", in[1], "; its rank must be ", in[0].rank(),
                    " as of x; give it axes of size 1, as expand_dims does");
  }
  for (int64_t d = 0; d < in[0].rank(); ++d) {
    if (in[1].dimension(d) <= in[0].dimension(d)) continue;
    return in.error("update is ", in[1], "; its dimension ", d, " must be at most ",
                    in[0].dimension(d), " as of x");
  }
  HEDDLE_RETURN_IF_ERROR(check_starts(in, 2));
  return settle(in, resized(in[0], in[0].dimensions()));
}

constexpr std::string_view kDynamicSliceNames[] = {"x", "start_indices"};
constexpr std::string_view kUpdateNames[] = {"x", "update", "start_indices"};

}  // namespace

const OpDef kDynamicSliceDef = {Opcode::kDynamicSlice,
                                kDynamicSliceNames,
                                {Work::kNone, Rows::kByRule, kPicks | kStrided},
                                infer_dynamic_slice};
const OpDef kDynamicUpdateSliceDef = {
    Opcode::kDynamicUpdateSlice, kUpdateNames, {Work::kMost, Rows::kByRule, kJoins}, infer_update};

}  // namespace heddle::hlo
