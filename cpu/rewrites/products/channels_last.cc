#include "heddle/cpu/rewrites/products/channels_last.h"

#include <algorithm>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionDims;
using hlo::WindowDimension;

constexpr int64_t kFewestFeatures = 16;
constexpr int64_t kFewestMultiplied = 1 << 16;
constexpr int64_t kProductsPerElement = 140;  // that is transposed

// 2, 3, ..: the spatial dimensions of an array whose first two dimensions are batch and features.
bool lie_last(const Dims& spatial) {
  for (size_t d = 0; d < spatial.size(); ++d) {
    if (spatial[d] != static_cast<int64_t>(d) + 2) return false;
  }
  return true;
}

// A convolution whose spatial dimensions lie last.
struct ChannelsFirst {
  const hlo::ConvolutionAttrs& attrs;
  const Shape &x, &w, &y;

  // It is the gradient of weights: what lies first in x is its features, which products sum.
  [[nodiscard]] bool is_of_weights() const { return attrs.dim_labels.input_feature == 0; }
  // It takes every second place, or gives them.
  [[nodiscard]] bool strides() const {
    return std::ranges::any_of(attrs.window.dimensions, [&](const WindowDimension& d) {
      return d.base_dilation > 1 || (is_of_weights() ? d.window_dilation : d.stride) > 1;
    });
  }
  [[nodiscard]] bool gains() const {
    const int64_t out = w.dimension(attrs.dim_labels.kernel_output_feature);
    // The batch of a gradient of weights is their input features, and its places are their taps.
    const int64_t in = x.dimension(1);
    const Shape& taps = is_of_weights() ? y : w;
    if (out < kFewestFeatures || taps.element_count() == taps.dimension(0) * taps.dimension(1))
      return false;
    const int64_t products = y.element_count() * (w.element_count() / out);
    const int64_t moved =
        x.element_count() + y.element_count() + (is_of_weights() ? w.element_count() : 0);
    const bool is_forward = std::ranges::all_of(
        attrs.window.dimensions, [](const WindowDimension& d) { return d.base_dilation == 1; });
    if (strides())
      return products >= kFewestMultiplied &&
             (in >= kFewestFeatures || (is_forward && !is_of_weights()));
    return in >= kFewestFeatures && products > kProductsPerElement * moved;
  }
};

// The array with its dimension `d` behind all others.
hlo::Value with_last(const hlo::Value& x, int64_t d) {
  Dims order = consecutive_dimensions(x.rank());
  std::rotate(order.begin() + d, order.begin() + d + 1, order.end());
  return transpose(x, order);
}
// The array whose dimension `d` with_last() put behind all others.
hlo::Value with_last_at(const hlo::Value& x, int64_t d) {
  Dims order = consecutive_dimensions(x.rank());
  std::rotate(order.begin() + d, order.end() - 1, order.end());
  return transpose(x, order);
}

hlo::Value with_channels_last(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kConvolution || !is_floating(old.shape.dtype())) return {};
  const auto& attrs = old.attrs.get<hlo::ConvolutionAttrs>();
  const ConvolutionDims& labels = attrs.dim_labels;
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1 ||
      labels.input_spatial.empty() || !lie_last(labels.input_spatial) ||
      !lie_last(labels.kernel_spatial) || !lie_last(labels.output_spatial))
    return {};
  const ChannelsFirst now{attrs, to.from().at(old.operands[0]).shape,
                          to.from().at(old.operands[1]).shape, old.shape};
  if (!now.gains()) return {};
  const int64_t last = old.shape.rank() - 1;
  hlo::ConvolutionAttrs out = attrs;
  ConvolutionDims& dims = out.dim_labels;
  const auto place = [&](int64_t d, int64_t moved) { return d == moved ? last : int64_t{0}; };
  const Dims spatial = consecutive_dimensions(std::ssize(labels.input_spatial), 1);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  const hlo::Value x = with_last(operands[0], 1);
  dims.input_spatial = dims.output_spatial = spatial;
  dims.input_batch = place(labels.input_batch, 1);
  dims.input_feature = place(labels.input_feature, 1);
  dims.output_batch = place(labels.output_batch, labels.output_feature);
  dims.output_feature = last;
  hlo::Value w = operands[1];
  if (now.is_of_weights()) {  // the window is as large as x; others are packed as they are
    w = with_last(w, labels.kernel_output_feature);
    dims.kernel_spatial = spatial;
    dims.kernel_input_feature = 0;
    dims.kernel_output_feature = last;
  }
  Dims sizes = old.shape.dimensions();
  std::rotate(sizes.begin() + labels.output_feature, sizes.begin() + labels.output_feature + 1,
              sizes.end());
  const Shape shape(old.shape.dtype(), sizes);
  return with_last_at(graph.op(Opcode::kConvolution, {x, w}, out, {}, &shape),
                      labels.output_feature);
}

}  // namespace

StatusOr<hlo::Module> put_channels_last(const hlo::Module& module) {
  return transform::with_rewritten(module, with_channels_last);
}

}  // namespace heddle::cpu
