#include "heddle/cpu/rewrites/phased_convolutions.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionDims;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::WindowDimension;

constexpr int64_t kMostFeatures = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One spatial dimension of a convolution of an image with `s` - 1 holes between its elements:
//   y[o] = sum over i of x[i] w[s i + low - o]
// With o = s q + r - skipped and low + skipped = s first + s - 1, so that w lies on whole groups of
// s taps, phase r of group q is
//   sum over m of x[q + m - first] w[s m + s - 1 - r]
struct Phases {
  int64_t s = 1;        // phases
  int64_t taps = 1;     // of each phase
  int64_t skipped = 0;  // places before y
  int64_t groups = 1, places = 1;
  WindowDimension window;  // of all phases, over the image as it is

  Phases(const WindowDimension& d, int64_t image, int64_t of_places)
      : s(d.base_dilation), taps(ceil_div(d.size, s)), places(of_places) {
    skipped = ((s - 1 - d.padding_low) % s + s) % s;
    groups = ceil_div(places + skipped, s);
    const int64_t first = (d.padding_low + skipped - (s - 1)) / s;
    window = {
        .size = taps, .padding_low = first, .padding_high = groups - 1 + taps - image - first};
  }
};

bool has_phases(const Instruction& convolution, const Shape& x, const Shape& w) {
  const auto& attrs = convolution.attrs.get<hlo::ConvolutionAttrs>();
  const auto& windows = attrs.window.dimensions;
  return attrs.feature_group_count == 1 && attrs.batch_group_count == 1 &&
         !convolution.shape.is_dynamic() && convolution.shape.element_count() > 0 &&
         x.element_count() > 0 && w.element_count() > 0 &&
         w.dimension(attrs.dim_labels.kernel_output_feature) <= kMostFeatures &&
         std::ranges::any_of(windows,
                             [](const WindowDimension& d) { return d.base_dilation > 1; }) &&
         std::ranges::all_of(windows, [](const WindowDimension& d) {
           return d.stride == 1 && d.window_dilation == 1;
         });
}

// The kernel as [taps.., in, phases.., out], in the order of the window's dimensions.
hlo::Value by_phases(hlo::Value w, const hlo::ConvolutionAttrs& attrs,
                     const std::vector<Phases>& phases) {
  const ConvolutionDims& labels = attrs.dim_labels;
  const auto spatial = static_cast<int64_t>(phases.size());
  Dims order = labels.kernel_spatial, reversed;
  order.push_back(labels.kernel_input_feature);
  order.push_back(labels.kernel_output_feature);
  w = transpose(w, order);
  std::vector<hlo::PadDimension> padding(order.size());
  Dims split, to_phases;
  for (int64_t d = 0; d < spatial; ++d) {
    const Phases& of = phases[static_cast<size_t>(d)];
    padding[static_cast<size_t>(d)].high = of.taps * of.s - w.shape().dimension(d);
    split.insert(split.end(), {of.taps, of.s});
    to_phases.push_back(2 * d);
    if (attrs.window.dimensions[static_cast<size_t>(d)].window_reversal) reversed.push_back(d);
  }
  if (!reversed.empty()) w = reverse(w, reversed);
  split.insert(split.end(), {w.shape().dimension(spatial), w.shape().dimension(spatial + 1)});
  w = reshape(pad(w, padding), split);
  Dims last_first;  // r counts from the last tap of a group
  for (int64_t d = 0; d < spatial; ++d) last_first.push_back(2 * d + 1);
  w = reverse(w, last_first);
  to_phases.push_back(2 * spatial);
  to_phases.insert(to_phases.end(), last_first.begin(), last_first.end());
  to_phases.push_back(2 * spatial + 1);
  return transpose(w, to_phases);
}

// The features of all phases, [batch, groups.., phases.. x out], of a kernel by_phases().
hlo::Value features_of_phases(hlo::Graph& graph, const hlo::Value& x, const hlo::Value& w,
                              const Instruction& old, const std::vector<Phases>& phases) {
  const auto& attrs = old.attrs.get<hlo::ConvolutionAttrs>();
  const auto spatial = std::ssize(phases);
  hlo::ConvolutionAttrs dense{.operand_precision = attrs.operand_precision};
  dense.dim_labels = {.input_batch = attrs.dim_labels.input_batch,
                      .input_feature = attrs.dim_labels.input_feature,
                      .input_spatial = attrs.dim_labels.input_spatial,
                      .kernel_input_feature = spatial,
                      .kernel_output_feature = spatial + 1,
                      .output_batch = 0,
                      .output_feature = spatial + 1};
  Dims kernel, result = {x.shape().dimension(attrs.dim_labels.input_batch)};
  int64_t features = w.shape().dimensions().back();
  for (int64_t d = 0; d < spatial; ++d) {
    const Phases& of = phases[static_cast<size_t>(d)];
    dense.window.dimensions.push_back(of.window);
    dense.dim_labels.kernel_spatial.push_back(d);
    dense.dim_labels.output_spatial.push_back(d + 1);
    kernel.push_back(of.taps);
    result.push_back(of.groups);
    features *= of.s;
  }
  kernel.insert(kernel.end(), {w.shape().dimension(spatial), features});
  result.push_back(features);
  const Shape shape(old.shape.dtype(), result);
  return graph.op(Opcode::kConvolution, {x, reshape(w, kernel)}, dense, {}, &shape);
}

// [batch, groups.., phases.. x out] as [batch, places.., out]: each group's phases side by side,
// without what is skipped.
hlo::Value side_by_side(const hlo::Value& features, const std::vector<Phases>& phases,
                        int64_t out) {
  const int64_t batch = features.shape().dimension(0);
  const auto spatial = std::ssize(phases);
  Dims split = {batch}, order = {0}, places = {batch};
  std::vector<hlo::SliceDimension> kept = {{.start = 0, .limit = batch}};
  for (const Phases& of : phases) split.push_back(of.groups);
  for (int64_t d = 0; d < spatial; ++d) {
    const Phases& of = phases[static_cast<size_t>(d)];
    split.push_back(of.s);
    order.insert(order.end(), {1 + d, 1 + spatial + d});
    places.push_back(of.groups * of.s);
    kept.push_back({.start = of.skipped, .limit = of.skipped + of.places});
  }
  split.push_back(out);
  order.push_back(2 * spatial + 1);
  places.push_back(out);
  kept.push_back({.start = 0, .limit = out});
  return slice(reshape(transpose(reshape(features, split), order), places), kept);
}

// [batch, places.., features] in the order of a result.
hlo::Value in_order(const hlo::Value& x, const ConvolutionDims& labels) {
  Dims order(static_cast<size_t>(x.rank()));
  order[static_cast<size_t>(labels.output_batch)] = 0;
  order[static_cast<size_t>(labels.output_feature)] = x.rank() - 1;
  for (size_t d = 0; d < labels.output_spatial.size(); ++d)
    order[static_cast<size_t>(labels.output_spatial[d])] = static_cast<int64_t>(d) + 1;
  return transpose(x, order);
}

// Nothing: the convolution stays.
hlo::Value phased(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kConvolution) return {};
  const Shape& image = to.old(old.operands[0]).shape;
  if (!has_phases(old, image, to.old(old.operands[1]).shape)) return {};
  const auto& attrs = old.attrs.get<hlo::ConvolutionAttrs>();
  const ConvolutionDims& labels = attrs.dim_labels;
  std::vector<Phases> phases;
  for (size_t d = 0; d < attrs.window.dimensions.size(); ++d)
    phases.emplace_back(attrs.window.dimensions[d], image.dimension(labels.input_spatial[d]),
                        old.shape.dimension(labels.output_spatial[d]));
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Value w = by_phases(to.operands(id)[1], attrs, phases);
  const hlo::Value features = features_of_phases(graph, to.operands(id)[0], w, old, phases);
  return in_order(side_by_side(features, phases, w.shape().dimensions().back()), labels);
}

}  // namespace

StatusOr<hlo::Module> join_phases(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return phased(to, id); });
}

}  // namespace heddle::cpu
