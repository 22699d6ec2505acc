// gather(x, start_indices): slices of x of slice_sizes, one for each vector of starts, put together
// as one array.
//
// start_indices holds its vectors along index_vector_dim (or scalars, where that is its rank); its
// other dimensions, the batch, become the dimensions of the result that offset_dims does not name.
// A vector's component k is the start in dimension start_index_map[k] of x, clamped so that the
// slice lies in x. Dimensions of x in operand_batching_dims go one to one with
// start_indices_batching_dims. The slice's dimensions become offset_dims, less those collapsed (of
// size 1) and batching ones.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// The attributes name dimensions of x in range, and each at most once where they exclude each
// other.
Status check_operand_dims_of_gather(const InferArgs& in, const GatherAttrs& attrs) {
  int64_t rank = in[0].rank();
  HEDDLE_RETURN_IF_ERROR(
      check_ascending(in, "collapsed_slice_dims", attrs.collapsed_slice_dims, rank));
  HEDDLE_RETURN_IF_ERROR(
      check_ascending(in, "operand_batching_dims", attrs.operand_batching_dims, rank));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "start_index_map", attrs.start_index_map, rank));
  HEDDLE_RETURN_IF_ERROR(check_apart(in, "collapsed_slice_dims", attrs.collapsed_slice_dims,
                                     "operand_batching_dims", attrs.operand_batching_dims));
  return check_apart(in, "start_index_map", attrs.start_index_map, "operand_batching_dims",
                     attrs.operand_batching_dims);
}

Status check_batching_of_gather(const InferArgs& in, const GatherAttrs& attrs) {
  const Dims& from = attrs.start_indices_batching_dims;
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "start_indices_batching_dims", from, in[1].rank()));
  HEDDLE_RETURN_IF_ERROR(check_length(in, "start_indices_batching_dims", from.size(),
                                      static_cast<int64_t>(attrs.operand_batching_dims.size()),
                                      "operand batching dimension"));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t of_x = attrs.operand_batching_dims[i];
    if (from[i] == attrs.index_vector_dim) {
      return in.error("start_indices_batching_dims has ", from[i],
                      ", which is index_vector_dim; must be another dimension");
    }
    if (in[1].dimension(from[i]) == in[0].dimension(of_x)) continue;
    return in.error("start_indices is ", in[1], "; its batching dimension ", from[i], " must be ",
                    in[0].dimension(of_x), " as dimension ", of_x, " of x");
  }
  return {};
}

Status check_slice_sizes(const InferArgs& in, const GatherAttrs& attrs) {
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "slice_sizes", attrs.slice_sizes.size(), in[0].rank(), "dimension of x"));
  for (int64_t d = 0; d < in[0].rank(); ++d) {
    int64_t size = attrs.slice_sizes[static_cast<size_t>(d)];
    if (size < 0 || size > in[0].dimension(d)) {
      return in.error("x is ", in[0], "; slice size ", size, " of dimension ", d,
                      " must be in [0, ", in[0].dimension(d), "]");
    }
    bool dropped =
        contains(attrs.collapsed_slice_dims, d) || contains(attrs.operand_batching_dims, d);
    if (dropped && size > 1) {
      return in.error("slice size of dimension ", d, " is ", size,
                      "; must be 1, as the result has no such dimension");
    }
  }
  return {};
}

Status check_index_vector_of_gather(const InferArgs& in, const GatherAttrs& attrs) {
  if (!is_integer(in[1].dtype())) {
    return in.error("start_indices is ", in[1], "; must be of integers");
  }
  HEDDLE_RETURN_IF_ERROR(
      check_dimension(in, "index_vector_dim", attrs.index_vector_dim, in[1].rank() + 1));
  int64_t length =
      attrs.index_vector_dim < in[1].rank() ? in[1].dimension(attrs.index_vector_dim) : 1;
  return check_length(in, "start_index_map", attrs.start_index_map.size(), length,
                      "component of an index vector");
}

// Sizes of the slice's dimensions that the result keeps.
Dims kept_sizes(const GatherAttrs& attrs) {
  Dims kept;
  for (int64_t d = 0; d < static_cast<int64_t>(attrs.slice_sizes.size()); ++d) {
    bool dropped =
        contains(attrs.collapsed_slice_dims, d) || contains(attrs.operand_batching_dims, d);
    if (!dropped) kept.push_back(attrs.slice_sizes[static_cast<size_t>(d)]);
  }
  return kept;
}

Shape result_of(const InferArgs& in, const GatherAttrs& attrs, const Dims& kept, int64_t rank) {
  Shape result(in[0].dtype(), Dims(static_cast<size_t>(rank)));
  Dims sizes(static_cast<size_t>(rank));
  size_t offset = 0;
  int64_t batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    size_t at = static_cast<size_t>(d);
    if (contains(attrs.offset_dims, d)) {
      sizes[at] = kept[offset++];
      continue;
    }
    if (batch == attrs.index_vector_dim) ++batch;
    result.set_dynamic_dimension(d, in[1].is_dynamic_dimension(batch));
    sizes[at] = in[1].dimension(batch++);
  }
  return resized(result, std::move(sizes));
}

StatusOr<Shape> infer_gather(const InferArgs& in) {
  const auto& attrs = in.attrs<GatherAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_operand_dims_of_gather(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_index_vector_of_gather(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_batching_of_gather(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_slice_sizes(in, attrs));
  Dims kept = kept_sizes(attrs);
  HEDDLE_RETURN_IF_ERROR(check_length(in, "offset_dims", attrs.offset_dims.size(),
                                      static_cast<int64_t>(kept.size()),
                                      "slice dimension that is kept"));
  int64_t batch_rank = in[1].rank() - (attrs.index_vector_dim < in[1].rank() ? 1 : 0);
  int64_t rank = batch_rank + static_cast<int64_t>(kept.size());
  if (rank > Shape::kMaxRank)
    return in.error("result has rank ", rank, "; must be at most ", Shape::kMaxRank);
  HEDDLE_RETURN_IF_ERROR(check_ascending(in, "offset_dims", attrs.offset_dims, rank));
  return settle(in, result_of(in, attrs, kept, rank));
}

constexpr std::string_view kGatherNames[] = {"x", "start_indices"};

}  // namespace

const OpDef kGatherDef = {
    Opcode::kGather, kGatherNames, {Work::kMost, Rows::kByRule, kPicks}, infer_gather};

}  // namespace heddle::hlo
