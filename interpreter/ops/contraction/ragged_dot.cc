// ragged-dot by its dense form (hlo/ragged_dot.h).
#include "heddle/hlo/ragged_dot.h"

#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/contraction/dot.h"
#include "heddle/interpreter/ops/movement/indices.h"

namespace heddle::interpreter {
namespace {

// Walks over the indices of some dimensions of an array, in row-major order.
template <class Visit>
void for_each_offset(const Shape& shape, const Dims& dims, Visit&& visit) {
  const Strides strides(shape);
  Dims at(dims.size());
  for (int64_t offset = 0;;) {
    visit(offset);
    size_t i = dims.size();
    for (; i > 0; --i) {
      offset += strides[dims[i - 1]];
      if (++at[i - 1] < shape.dimension(dims[i - 1])) break;
      offset -= strides[dims[i - 1]] * shape.dimension(dims[i - 1]);
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

// [groups, x..]: x, with zeros where the index along `ragged` is not of the group. The prefix
// dimensions choose the group sizes.
Literal by_group(const Literal& x, const Literal& group_sizes, int64_t ragged, const Dims& prefix) {
  const int64_t groups = group_sizes.shape().dimensions().back();
  Literal out(with_groups(x.shape(), groups));
  if (out.element_count() == 0) return out;
  const bool shared = group_sizes.shape().rank() == 1;
  const std::vector<int64_t> sizes = all_indices(group_sizes);
  const Strides strides(x.shape());
  const int64_t width = storage_bytes(x.shape().dtype());
  Dims part = x.shape().dimensions();
  for (int64_t d : prefix) part[static_cast<size_t>(d)] = 1;
  size_t vector = 0;
  for_each_offset(x.shape(), prefix, [&](int64_t offset) {
    for (int64_t group = 0, start = 0; group < groups; ++group) {
      const int64_t left = x.shape().dimension(ragged) - start;
      const int64_t size = std::clamp<int64_t>(sizes[vector + static_cast<size_t>(group)], 0, left);
      part[static_cast<size_t>(ragged)] = size;
      const int64_t from = offset + start * strides[ragged];
      copy_strided(out.mutable_bytes() + (group * x.element_count() + from) * width, strides,
                   x.bytes() + from * width, strides, part, width);
      start += size;
    }
    if (!shared) vector += static_cast<size_t>(groups);
  });
  return out;
}

StatusOr<Literal> evaluate_ragged_dot(EvalArgs& in) {
  const auto& attrs = in.attrs<RaggedDotAttrs>();
  const RaggedKind kind = kind_of_ragged(attrs);
  Literal x = in[0], y = in[1];
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  if (kind != RaggedKind::kBatch)
    x = by_group(x, in[2], ragged, prefix_of_x(x.shape().rank(), attrs));
  if (kind == RaggedKind::kContracting) {
    const auto place = static_cast<size_t>(std::ranges::find(attrs.lhs_contracting_dims, ragged) -
                                           attrs.lhs_contracting_dims.begin());
    const int64_t in_y = attrs.rhs_contracting_dims[place];
    y = by_group(
        y, in[2], in_y,
        prefix_of(y.shape().rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims, in_y, kind));
  }
  return dot(x, y, dense_form(attrs), in.result(), in.caller);
}

}  // namespace

const Evaluation kRaggedDotEvaluation = {.evaluate = evaluate_ragged_dot};

}  // namespace heddle::interpreter
