// Dots and convolutions. Lanes of both operands are one batch dimension (of a convolution: groups);
// lanes of one are part of a dimension that it has already, so that the work stays one large dot or
// convolution.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

// Dimension `from` put at `to`, the others in order.
Value moved(const Value& x, int64_t from, int64_t to) {
  Dims permutation = other_dimensions(x.rank(), {&from, 1});
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

// x of all lanes without dimension 0: dimension `into` of one lane, which is (groups, n), becomes
// (groups, lanes, n).
Value merged(const Value& x, int64_t into, int64_t groups) {
  const int64_t lanes = x.size(0);
  Dims one = x.sizes();
  one.erase(one.begin());
  const int64_t n = one[static_cast<size_t>(into)] / groups;
  Dims split = x.sizes();
  split[static_cast<size_t>(into) + 1] = n;
  split.insert(split.begin() + into + 1, groups);
  one[static_cast<size_t>(into)] = groups * lanes * n;
  return reshape(moved(reshape(x, split), 0, into + 1), one);
}

// The way back: dimension `from`, which is (groups, lanes, n), has the lanes taken out, to the
// front.
Value parted(const Value& x, int64_t from, int64_t groups, int64_t lanes) {
  const int64_t n = x.size(from) / groups / lanes;
  Dims split = x.sizes();
  split[static_cast<size_t>(from)] = n;
  split.insert(split.begin() + from, {groups, lanes});
  Dims one = x.sizes();
  one[static_cast<size_t>(from)] = groups * n;
  one.insert(one.begin(), lanes);
  return reshape(moved(reshape(x, split), from + 1, 0), one);
}

class BatchedConvolution {
 public:
  explicit BatchedConvolution(const BatchArgs& b)
      : b_(b), attrs_(b.attrs<ConvolutionAttrs>()), labels_(attrs_.dim_labels) {}

  Values run() {
    if (!b_.is_batched(1)) return of_images();
    if (!b_.is_batched(0)) return of_kernels();
    return of_both();
  }

 private:
  Value convolved(const Value& image, const Value& kernel, int64_t output_batch,
                  int64_t output_feature) {
    Dims sizes = b_.of.shape.dimensions();
    sizes[static_cast<size_t>(labels_.output_batch)] = output_batch;
    sizes[static_cast<size_t>(labels_.output_feature)] = output_feature;
    const Shape shape(b_.of.shape.dtype(), sizes);
    return b_.graph.op(Opcode::kConvolution, {image, kernel}, attrs_, {}, &shape);
  }
  [[nodiscard]] int64_t output_batch() const { return b_.of.shape.dimension(labels_.output_batch); }
  [[nodiscard]] int64_t output_feature() const {
    return b_.of.shape.dimension(labels_.output_feature);
  }

  // More images.
  Values of_images() {
    const Value image = merged(b_.x[0], labels_.input_batch, attrs_.batch_group_count);
    const Value made = convolved(image, b_.x[1], output_batch() * b_.size, output_feature());
    return {parted(made, labels_.output_batch, 1, b_.size)};
  }

  // More features, in each group.
  Values of_kernels() {
    const int64_t groups = std::max(attrs_.feature_group_count, attrs_.batch_group_count);
    const Value kernel = merged(b_.x[1], labels_.kernel_output_feature, groups);
    const Value made = convolved(b_.x[0], kernel, output_batch(), output_feature() * b_.size);
    return {parted(made, labels_.output_feature, groups, b_.size)};
  }

  // More groups: each lane's images meet the lane's kernel alone.
  Values of_both() {
    const bool by_batch = attrs_.batch_group_count > 1;
    (by_batch ? attrs_.batch_group_count : attrs_.feature_group_count) *= b_.size;
    const int64_t grouped = by_batch ? labels_.input_batch : labels_.input_feature;
    const Value image = merged(b_.x[0], grouped, 1);
    const Value kernel = merged(b_.x[1], labels_.kernel_output_feature, 1);
    const Value made = convolved(image, kernel, output_batch(), output_feature() * b_.size);
    return {parted(made, labels_.output_feature, 1, b_.size)};
  }

  const BatchArgs& b_;
  ConvolutionAttrs attrs_;
  ConvolutionDims labels_;
};

}  // namespace

StatusOr<Values> batch_dot(const BatchArgs& b) {
  DotAttrs attrs = b.attrs<DotAttrs>();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  // Among the result's dimensions: batches, what is left of x, what is left of y.
  int64_t lanes_at = 0;
  if (!b.is_batched(1)) lanes_at = batches;
  if (!b.is_batched(0))
    lanes_at = b.rank(0) - static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  if (b.is_batched(0)) {
    attrs.lhs_batch_dims = shifted(attrs.lhs_batch_dims);
    attrs.lhs_contracting_dims = shifted(attrs.lhs_contracting_dims);
  }
  if (b.is_batched(1)) {
    attrs.rhs_batch_dims = shifted(attrs.rhs_batch_dims);
    attrs.rhs_contracting_dims = shifted(attrs.rhs_contracting_dims);
  }
  if (b.is_batched(0) && b.is_batched(1)) {
    attrs.lhs_batch_dims.insert(attrs.lhs_batch_dims.begin(), 0);
    attrs.rhs_batch_dims.insert(attrs.rhs_batch_dims.begin(), 0);
  }
  return Values{moved(dot(b.x[0], b.x[1], attrs, b.of.shape.dtype()), lanes_at, 0)};
}

StatusOr<Values> batch_convolution(const BatchArgs& b) { return BatchedConvolution(b).run(); }

}  // namespace heddle::hlo
