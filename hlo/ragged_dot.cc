#include "heddle/hlo/ragged_dot.h"

#include <algorithm>
#include <utility>

#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Those before `dim`.
Dims before(const Dims& dims, int64_t dim) { return {dims.begin(), std::ranges::find(dims, dim)}; }

Dims after_group(Dims dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

}  // namespace

RaggedKind kind_of_ragged(const RaggedDotAttrs& attrs) {
  if (contains(attrs.lhs_batch_dims, attrs.lhs_ragged_dims[0])) return RaggedKind::kBatch;
  return contains(attrs.lhs_contracting_dims, attrs.lhs_ragged_dims[0]) ? RaggedKind::kContracting
                                                                        : RaggedKind::kFree;
}

Dims prefix_of(int64_t rank, const Dims& batch, const Dims& contracting, int64_t ragged,
               RaggedKind kind) {
  if (kind == RaggedKind::kBatch) return before(batch, ragged);
  Dims used = batch;
  used.insert(used.end(), contracting.begin(), contracting.end());
  const Dims more =
      before(kind == RaggedKind::kContracting ? contracting : other_dimensions(rank, used), ragged);
  Dims prefix = batch;
  prefix.insert(prefix.end(), more.begin(), more.end());
  return prefix;
}

Dims prefix_of_x(int64_t rank, const RaggedDotAttrs& attrs) {
  return prefix_of(rank, attrs.lhs_batch_dims, attrs.lhs_contracting_dims, attrs.lhs_ragged_dims[0],
                   kind_of_ragged(attrs));
}

DotAttrs dense_form(const RaggedDotAttrs& attrs) {
  DotAttrs dot{.lhs_batch_dims = attrs.lhs_batch_dims,
               .lhs_contracting_dims = attrs.lhs_contracting_dims,
               .rhs_batch_dims = attrs.rhs_batch_dims,
               .rhs_contracting_dims = attrs.rhs_contracting_dims,
               .operand_precision = attrs.operand_precision};
  const RaggedKind kind = kind_of_ragged(attrs);
  if (kind == RaggedKind::kBatch) return dot;
  dot.lhs_batch_dims = after_group(std::move(dot.lhs_batch_dims));
  dot.lhs_contracting_dims = after_group(std::move(dot.lhs_contracting_dims));
  if (kind == RaggedKind::kFree) {
    dot.lhs_contracting_dims.push_back(0);
    dot.rhs_contracting_dims.push_back(attrs.rhs_group_dims[0]);
    return dot;
  }
  dot.rhs_batch_dims = after_group(std::move(dot.rhs_batch_dims));
  dot.rhs_contracting_dims = after_group(std::move(dot.rhs_contracting_dims));
  dot.lhs_batch_dims.insert(dot.lhs_batch_dims.begin(), 0);
  dot.rhs_batch_dims.insert(dot.rhs_batch_dims.begin(), 0);
  return dot;
}

Shape with_groups(const Shape& shape, int64_t groups) {
  Dims sizes = shape.dimensions();
  sizes.insert(sizes.begin(), groups);
  return shape.with_dimensions(std::move(sizes));
}

}  // namespace heddle::hlo
