// Blocks and slices at positions that are values. Where each lane has its own positions, a block is
// a gather or a scatter with the lanes as its batch.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {
namespace {

// Operands from `first` on: one start a dimension, or one vector of them.
bool is_start_batched(const BatchArgs& b, size_t first) {
  return std::any_of(b.batched.begin() + static_cast<std::ptrdiff_t>(first), b.batched.end(),
                     [](bool each) { return each; });
}

// The starts of one lane with 0 in front, for the dimension of the lanes.
Values starts_with_zero(const BatchArgs& b, size_t first) {
  Values starts;
  for (const Value& each : b.x.subspan(first)) starts.push_back(each);
  if (starts.empty()) return {b.graph.number(s32, 0)};
  if (starts[0].rank() == 1)
    return {concatenate({reshape(starts[0].number(0), {1}), starts[0]}, 0)};
  starts.insert(starts.begin(), starts[0].number(0));
  return starts;
}

// The starts of each lane: [lanes, rank].
Value start_matrix(const BatchArgs& b, size_t first) {
  if (b.rank(first) == 1) return b.full(first);
  Values columns;
  for (size_t i = first; i < b.x.size(); ++i) columns.push_back(reshape(b.full(i), {b.size, 1}));
  return concatenate(columns, 1);
}

Dims counted(int64_t first, int64_t count) {
  Dims out;
  for (int64_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

// The greatest number of the type, and at most `limit`.
int64_t at_most(DType dtype, int64_t limit) {
  const int64_t bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 62 ? limit : std::min(limit, (int64_t{1} << bits) - 1);
}

// Each column clamped so that a block of `sizes` lies in an array of `bounds`.
Value clamped(const Value& starts, const Dims& bounds, const Dims& sizes) {
  Values columns;
  for (size_t d = 0; d < bounds.size(); ++d) {
    const Value column = slice(starts, 1, static_cast<int64_t>(d), 1);
    const int64_t last = at_most(column.dtype(), bounds[d] - sizes[d]);
    const Value limit = column.graph().constant(Literal::scalar(column.dtype(), last));
    columns.push_back(column.graph().op(Opcode::kClamp, {column.number(0), column, limit}));
  }
  return concatenate(columns, 1);
}

// (x, y) -> y on scalars.
ComputationId second(Writer& writer, DType dtype) {
  Graph graph(writer);
  graph.parameter(Shape::scalar(dtype));
  const Value y = graph.parameter(Shape::scalar(dtype));
  return std::move(graph).finish_with(y);
}

}  // namespace

StatusOr<Values> batch_dynamic_slice(const BatchArgs& b) {
  const Dims& sizes = b.attrs<DynamicSliceAttrs>().dynamic_slice_sizes;
  const int64_t rank = b.rank(0);
  Dims all = sizes;
  if (!is_start_batched(b, 1)) {
    all.insert(all.begin(), b.size);
    return Values{dynamic_slice(b.x[0], starts_with_zero(b, 1), all)};
  }
  GatherAttrs attrs{.offset_dims = counted(1, rank), .index_vector_dim = 1, .slice_sizes = all};
  attrs.start_index_map = counted(b.is_batched(0) ? 1 : 0, rank);
  if (b.is_batched(0)) {
    attrs.operand_batching_dims = attrs.start_indices_batching_dims = {0};
    attrs.slice_sizes.insert(attrs.slice_sizes.begin(), 1);
  }
  return Values{gather(b.x[0], start_matrix(b, 1), attrs)};
}

StatusOr<Values> batch_dynamic_update_slice(const BatchArgs& b) {
  if (!is_start_batched(b, 2))
    return Values{dynamic_update_slice(b.full(0), b.full(1), starts_with_zero(b, 2))};
  const int64_t rank = b.rank(0);
  const Value starts = clamped(start_matrix(b, 2), b.sizes(0), b.sizes(1));
  const ScatterAttrs attrs{.update_window_dims = counted(1, rank),
                           .scatter_dims_to_operand_dims = counted(1, rank),
                           .input_batching_dims = {0},
                           .scatter_indices_batching_dims = {0},
                           .index_vector_dim = 1,
                           .unique_indices = true};
  const Value x = b.full(0);
  const ComputationId replace = second(b.graph.writer(), x.dtype());
  return Values{b.graph.op(Opcode::kScatter, {x, starts, b.full(1)}, attrs, {replace})};
}

// Where the lanes share the indices, the slices reach over all lanes.
StatusOr<Values> batch_gather(const BatchArgs& b) {
  GatherAttrs attrs = b.attrs<GatherAttrs>();
  if (!b.is_batched(1)) {
    attrs.offset_dims = shifted_behind_lanes(attrs.offset_dims);
    attrs.slice_sizes.insert(attrs.slice_sizes.begin(), b.size);
  } else {
    attrs.offset_dims = shifted(attrs.offset_dims);
    attrs.start_indices_batching_dims = shifted(attrs.start_indices_batching_dims);
    ++attrs.index_vector_dim;
    attrs.indices_are_sorted = false;
  }
  if (b.is_batched(0)) {
    attrs.collapsed_slice_dims = shifted(attrs.collapsed_slice_dims);
    attrs.start_index_map = shifted(attrs.start_index_map);
    attrs.operand_batching_dims = shifted(attrs.operand_batching_dims);
  }
  if (b.is_batched(0) && b.is_batched(1)) {
    attrs.operand_batching_dims.insert(attrs.operand_batching_dims.begin(), 0);
    attrs.start_indices_batching_dims.insert(attrs.start_indices_batching_dims.begin(), 0);
    attrs.slice_sizes.insert(attrs.slice_sizes.begin(), 1);
  }
  return Values{gather(b.x[0], b.x[1], attrs)};
}

StatusOr<Values> batch_scatter(const BatchArgs& b) {
  ScatterAttrs attrs = b.attrs<ScatterAttrs>();
  attrs.inserted_window_dims = shifted(attrs.inserted_window_dims);
  attrs.scatter_dims_to_operand_dims = shifted(attrs.scatter_dims_to_operand_dims);
  attrs.input_batching_dims = shifted(attrs.input_batching_dims);
  const size_t indices = b.x.size() / 2;
  Values operands = b.all_full();
  if (!b.is_batched(indices)) {
    operands[indices] = b.x[indices];
    attrs.update_window_dims = shifted_behind_lanes(attrs.update_window_dims);
  } else {
    attrs.update_window_dims = shifted(attrs.update_window_dims);
    attrs.input_batching_dims.insert(attrs.input_batching_dims.begin(), 0);
    attrs.scatter_indices_batching_dims = shifted_behind_lanes(attrs.scatter_indices_batching_dims);
    ++attrs.index_vector_dim;
    attrs.indices_are_sorted = false;
  }
  return b.again(operands, attrs);
}

}  // namespace heddle::hlo
