// scatter(x.., indices, updates..): x with slices combined with updates, one slice for each vector
// of indices; the inverse of gather.
//
// indices holds its vectors along index_vector_dim (or scalars, where that is its rank); component
// k is the start in dimension scatter_dims_to_operand_dims[k] of x. The dimensions of updates that
// update_window_dims names are the slice; the others are the batch of indices. Dimensions of x that
// the window lacks are inserted_window_dims (of size 1) and input_batching_dims, which go one to
// one with scatter_indices_batching_dims. The computation gets the current elements, then the
// updates. A window of which any part lies outside of x is dropped whole. Windows are applied in
// row-major order of the batch.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Operands are n inputs, the indices, n updates.
size_t input_count(size_t operands) { return operands / 2; }

Status check_operands_of_scatter(const InferArgs& in) {
  if (in.size() < 3 || in.size() % 2 == 0) {
    return in.error("has ", in.size(), " operands; takes n inputs, the indices and n updates");
  }
  size_t n = input_count(in.size());
  for (size_t i = 0; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
  if (!is_integer(in[n].dtype())) {
    return in.error("operand ", n, ", the indices, is ", in[n], "; must be of integers");
  }
  for (size_t i = 0; i < n; ++i) {
    if (!same_dimensions(in[i], in[0])) {
      return in.error("operand ", i, " is ", in[i], "; its dimensions must be those of operand 0, ",
                      in[0]);
    }
    size_t update = n + 1 + i;
    if (!same_dimensions(in[update], in[n + 1])) {
      return in.error("operand ", update, " is ", in[update],
                      "; its dimensions must be those of operand ", n + 1, ", ", in[n + 1]);
    }
    HEDDLE_RETURN_IF_ERROR(check_dtype(in, update, in[i].dtype(), base::cat("operand ", i)));
  }
  return {};
}

Status check_operand_dims_of_scatter(const InferArgs& in, const ScatterAttrs& attrs) {
  int64_t rank = in[0].rank();
  HEDDLE_RETURN_IF_ERROR(
      check_ascending(in, "inserted_window_dims", attrs.inserted_window_dims, rank));
  HEDDLE_RETURN_IF_ERROR(
      check_ascending(in, "input_batching_dims", attrs.input_batching_dims, rank));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "scatter_dims_to_operand_dims",
                                          attrs.scatter_dims_to_operand_dims, rank));
  HEDDLE_RETURN_IF_ERROR(check_apart(in, "inserted_window_dims", attrs.inserted_window_dims,
                                     "input_batching_dims", attrs.input_batching_dims));
  HEDDLE_RETURN_IF_ERROR(check_apart(in, "scatter_dims_to_operand_dims",
                                     attrs.scatter_dims_to_operand_dims, "input_batching_dims",
                                     attrs.input_batching_dims));
  int64_t dropped =
      static_cast<int64_t>(attrs.inserted_window_dims.size() + attrs.input_batching_dims.size());
  return check_length(in, "update_window_dims", attrs.update_window_dims.size(), rank - dropped,
                      "dimension of operand 0 that is neither inserted nor batching");
}

Status check_index_vector_of_scatter(const InferArgs& in, const ScatterAttrs& attrs,
                                     const Shape& indices) {
  HEDDLE_RETURN_IF_ERROR(
      check_dimension(in, "index_vector_dim", attrs.index_vector_dim, indices.rank() + 1));
  int64_t length =
      attrs.index_vector_dim < indices.rank() ? indices.dimension(attrs.index_vector_dim) : 1;
  return check_length(in, "scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims.size(),
                      length, "component of an index vector");
}

Status check_batching_of_scatter(const InferArgs& in, const ScatterAttrs& attrs,
                                 const Shape& indices) {
  const Dims& from = attrs.scatter_indices_batching_dims;
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, "scatter_indices_batching_dims", from, indices.rank()));
  HEDDLE_RETURN_IF_ERROR(check_length(in, "scatter_indices_batching_dims", from.size(),
                                      static_cast<int64_t>(attrs.input_batching_dims.size()),
                                      "input batching dimension"));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t of_x = attrs.input_batching_dims[i];
    if (from[i] == attrs.index_vector_dim) {
      return in.error("scatter_indices_batching_dims has ", from[i],
                      ", which is index_vector_dim; must be another dimension");
    }
    if (indices.dimension(from[i]) == in[0].dimension(of_x)) continue;
    return in.error("indices are ", indices, "; their batching dimension ", from[i], " must be ",
                    in[0].dimension(of_x), " as dimension ", of_x, " of operand 0");
  }
  return {};
}

// The window fits operand 0, and the other dimensions are the batch of indices.
Status check_updates(const InferArgs& in, const ScatterAttrs& attrs, const Shape& indices) {
  size_t which = input_count(in.size()) + 1;
  const Shape& updates = in[which];
  int64_t batch_rank = indices.rank() - (attrs.index_vector_dim < indices.rank() ? 1 : 0);
  HEDDLE_RETURN_IF_ERROR(
      check_rank(in, which, batch_rank + static_cast<int64_t>(attrs.update_window_dims.size())));
  HEDDLE_RETURN_IF_ERROR(
      check_ascending(in, "update_window_dims", attrs.update_window_dims, updates.rank()));
  int64_t of_x = 0;
  int64_t of_indices = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (contains(attrs.update_window_dims, d)) {
      while (contains(attrs.inserted_window_dims, of_x) ||
             contains(attrs.input_batching_dims, of_x))
        ++of_x;
      if (updates.dimension(d) > in[0].dimension(of_x)) {
        return in.error("operand ", which, " is ", updates, "; its window dimension ", d,
                        " must be at most ", in[0].dimension(of_x), " as dimension ", of_x,
                        " of operand 0");
      }
      ++of_x;
      continue;
    }
    if (of_indices == attrs.index_vector_dim) ++of_indices;
    if (updates.dimension(d) != indices.dimension(of_indices)) {
      return in.error("operand ", which, " is ", updates, "; its dimension ", d, " must be ",
                      indices.dimension(of_indices), " as dimension ", of_indices,
                      " of the indices");
    }
    ++of_indices;
  }
  return {};
}

Status check_computation(const InferArgs& in) {
  size_t n = input_count(in.size());
  std::vector<Shape> scalars;
  for (size_t i = 0; i < n; ++i) scalars.push_back(Shape::scalar(in[i].dtype()));
  Shape result = n == 1 ? scalars[0] : Shape::tuple(scalars);
  for (size_t i = 0; i < n; ++i) scalars.push_back(Shape::scalar(in[n + 1 + i].dtype()));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "to_apply", scalars));
  return check_returns(in, 0, "to_apply", result);
}

StatusOr<Shape> infer_scatter(const InferArgs& in) {
  const auto& attrs = in.attrs<ScatterAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_operands_of_scatter(in));
  size_t n = input_count(in.size());
  HEDDLE_RETURN_IF_ERROR(check_operand_dims_of_scatter(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_index_vector_of_scatter(in, attrs, in[n]));
  HEDDLE_RETURN_IF_ERROR(check_batching_of_scatter(in, attrs, in[n]));
  HEDDLE_RETURN_IF_ERROR(check_updates(in, attrs, in[n]));
  HEDDLE_RETURN_IF_ERROR(check_computation(in));
  std::vector<Shape> results;
  for (size_t i = 0; i < n; ++i) results.push_back(resized(in[i], in[i].dimensions()));
  return settle(in, n == 1 ? results[0] : Shape::tuple(std::move(results)));
}

}  // namespace

const OpDef kScatterDef = {
    Opcode::kScatter, {}, {Work::kMost, Rows::kMixed, kJoins}, infer_scatter};

}  // namespace heddle::hlo
