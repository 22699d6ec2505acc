// ragged-dot(x, y, group_sizes): a dot of which one dimension of x, lhs_ragged_dims={d}, falls into
// groups of neighbours. What d is in the dot says what groups mean (b: batch, k: contracting, g:
// groups):
//   free         x [b,m,k], y [b,g,k,n] -> [b,m,n]: rows of group i meet matrix i of y; rows past
//   the groups give 0 contracting  x [b,m,k], y [b,k,n] -> [g,b,m,n]: sums over each group of k by
//   itself batch        x [b,m,k], y [b,k,n] -> [b,m,n]: a dot
// group_sizes is [g], or has one vector of sizes for each index of the batch dimensions of x and of
// those of d's kind before d.
//
// Source: the dense form that JAX's ragged_dot_general states: x is repeated for each group with
// zeros where other groups stand, and the groups become a contracting (or batch) dimension of a
// dot.
#include <algorithm>

#include "heddle/hlo/ops/dot_like.h"
#include "heddle/hlo/ops/indices.h"
#include "heddle/hlo/ops/permute.h"
#include "heddle/hlo/ops/strides.h"

namespace heddle::hlo {
namespace {

enum class Kind : uint8_t { kFree, kContracting, kBatch };

Kind kind_of_ragged(const RaggedDotAttrs& attrs) {
  if (contains(attrs.lhs_batch_dims, attrs.lhs_ragged_dims[0])) return Kind::kBatch;
  return contains(attrs.lhs_contracting_dims, attrs.lhs_ragged_dims[0]) ? Kind::kContracting
                                                                        : Kind::kFree;
}

// Those before `dim`.
Dims before(const Dims& dims, int64_t dim) { return {dims.begin(), std::ranges::find(dims, dim)}; }

// The dimensions of one side whose indices choose a vector of group sizes: batch, then those of the
// ragged one's kind before it.
Dims prefix_of(int64_t rank, const Dims& batch, const Dims& contracting, int64_t ragged,
               Kind kind) {
  if (kind == Kind::kBatch) return before(batch, ragged);
  Dims used = batch;
  used.insert(used.end(), contracting.begin(), contracting.end());
  const Dims more =
      before(kind == Kind::kContracting ? contracting : other_dimensions(rank, used), ragged);
  Dims prefix = batch;
  prefix.insert(prefix.end(), more.begin(), more.end());
  return prefix;
}

Dims prefix_of_x(int64_t rank, const RaggedDotAttrs& attrs) {
  return prefix_of(rank, attrs.lhs_batch_dims, attrs.lhs_contracting_dims, attrs.lhs_ragged_dims[0],
                   kind_of_ragged(attrs));
}

Dims shifted(Dims dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

// The dot of the dense form, whose operands have the groups as dimension 0.
DotAttrs dense_form(const RaggedDotAttrs& attrs) {
  DotAttrs dot{.lhs_batch_dims = attrs.lhs_batch_dims,
               .lhs_contracting_dims = attrs.lhs_contracting_dims,
               .rhs_batch_dims = attrs.rhs_batch_dims,
               .rhs_contracting_dims = attrs.rhs_contracting_dims,
               .operand_precision = attrs.operand_precision};
  const Kind kind = kind_of_ragged(attrs);
  if (kind == Kind::kBatch) return dot;
  dot.lhs_batch_dims = shifted(std::move(dot.lhs_batch_dims));
  dot.lhs_contracting_dims = shifted(std::move(dot.lhs_contracting_dims));
  if (kind == Kind::kFree) {
    dot.lhs_contracting_dims.push_back(0);
    dot.rhs_contracting_dims.push_back(attrs.rhs_group_dims[0]);
    return dot;
  }
  dot.rhs_batch_dims = shifted(std::move(dot.rhs_batch_dims));
  dot.rhs_contracting_dims = shifted(std::move(dot.rhs_contracting_dims));
  dot.lhs_batch_dims.insert(dot.lhs_batch_dims.begin(), 0);
  dot.rhs_batch_dims.insert(dot.rhs_batch_dims.begin(), 0);
  return dot;
}

Shape with_groups(const Shape& shape, int64_t groups) {
  Dims sizes = shape.dimensions();
  sizes.insert(sizes.begin(), groups);
  return shape.with_dimensions(std::move(sizes));
}

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
  const size_t want = kind_of_ragged(attrs) == Kind::kFree ? 1 : 0;
  if (group.size() != want) {
    return in.error("rhs_group_dims is {", base::join(group, ","), "}; must have ", want,
                    " dimensions where the ragged dimension of x is ",
                    want == 1 ? "free" : "contracting or batch");
  }
  if (want == 0 || in[1].dimension(group[0]) == in[2].dimensions().back()) return {};
  return in.error("y is ", in[1], "; its group dimension ", group[0], " must be ",
                  in[2].dimensions().back(), ", the number of groups of group_sizes ", in[2]);
}

StatusOr<Shape> infer(const InferArgs& in) {
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
  const Kind kind = kind_of_ragged(attrs);
  const int64_t groups = in[2].dimensions().back();
  if (std::max(in[0].rank(), in[1].rank()) == Shape::kMaxRank)
    return in.error("has operands of rank ", Shape::kMaxRank, "; must be less");
  const Shape x = kind == Kind::kBatch ? in[0] : with_groups(in[0], groups);
  const Shape y = kind == Kind::kContracting ? with_groups(in[1], groups) : in[1];
  return infer_dot(in, x, y, dense_form(attrs));
}

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

StatusOr<Literal> evaluate(EvalArgs& in) {
  const auto& attrs = in.attrs<RaggedDotAttrs>();
  const Kind kind = kind_of_ragged(attrs);
  Literal x = in[0], y = in[1];
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  if (kind != Kind::kBatch) x = by_group(x, in[2], ragged, prefix_of_x(x.shape().rank(), attrs));
  if (kind == Kind::kContracting) {
    const auto place = static_cast<size_t>(std::ranges::find(attrs.lhs_contracting_dims, ragged) -
                                           attrs.lhs_contracting_dims.begin());
    const int64_t in_y = attrs.rhs_contracting_dims[place];
    y = by_group(
        y, in[2], in_y,
        prefix_of(y.shape().rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims, in_y, kind));
  }
  return dot(x, y, dense_form(attrs), in.result(), in.caller);
}

constexpr std::string_view kNames[] = {"x", "y", "group_sizes"};

}  // namespace

const OpDef kRaggedDotDef = {
    .opcode = Opcode::kRaggedDot,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
