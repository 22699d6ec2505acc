#include "heddle/cpu/rewrites/products/phased_convolutions.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionDims;
using hlo::WindowDimension;

constexpr int64_t kMostFeatures = 8, kMostOfWholeGroups = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One spatial dimension of a convolution of an image with `s` - 1 holes between its elements:
//   y[o] = sum over i of x[i] w[s i + low - o]
// With o = s q + r - skipped and low + skipped = s first + s - 1, so that w lies on whole groups of
// s taps, phase r of group q is
//   sum over m of x[q + m - first] w[s m + s - 1 - r]
// The last taps may be no whole group: then the first phases have one tap less, perhaps none.
struct Phases {
  struct Part {
    int64_t begin, count, taps;  // phases, and taps of each
  };

  int64_t s = 1;
  int64_t image = 1, places = 1;
  int64_t first = 0, skipped = 0, groups = 1;
  std::vector<Part> parts;

  Phases(const WindowDimension& d, int64_t of_image, int64_t of_places)
      : s(d.base_dilation), image(of_image), places(of_places) {
    skipped = ((s - 1 - d.padding_low) % s + s) % s;
    groups = ceil_div(places + skipped, s);
    first = (d.padding_low + skipped - (s - 1)) / s;
    const int64_t rest = d.size % s, taps = ceil_div(d.size, s);
    if (rest != 0) parts.push_back({.begin = 0, .count = s - rest, .taps = taps - 1});
    const int64_t begin = rest == 0 ? 0 : s - rest;
    parts.push_back({.begin = begin, .count = s - begin, .taps = taps});
  }
  [[nodiscard]] int64_t taps() const { return parts.back().taps; }
  // Of one part over the image as it is.
  [[nodiscard]] WindowDimension window(const Part& part) const {
    return {.size = part.taps,
            .padding_low = first,
            .padding_high = groups - 1 + part.taps - image - first};
  }
};

bool has_phases(const Instruction& convolution, const Shape& x, const Shape& w) {
  const auto& attrs = convolution.attrs.get<hlo::ConvolutionAttrs>();
  const auto& windows = attrs.window.dimensions;
  const bool has_rest = std::ranges::any_of(
      windows, [](const WindowDimension& d) { return d.size % d.base_dilation != 0; });
  return attrs.feature_group_count == 1 && attrs.batch_group_count == 1 &&
         !convolution.shape.is_dynamic() && convolution.shape.element_count() > 0 &&
         x.element_count() > 0 && w.element_count() > 0 &&
         w.dimension(attrs.dim_labels.kernel_output_feature) <=
             (has_rest ? kMostFeatures : kMostOfWholeGroups) &&
         std::ranges::any_of(windows,
                             [](const WindowDimension& d) { return d.base_dilation > 1; }) &&
         std::ranges::all_of(windows, [](const WindowDimension& d) {
           return d.stride == 1 && d.window_dilation == 1;
         });
}

// The kernel as [taps, phases, .., in, out], in the order of the window's dimensions. Taps that it
// does not have are zeros.
hlo::Value by_phases(hlo::Value w, const hlo::ConvolutionAttrs& attrs,
                     const std::vector<Phases>& phases) {
  const ConvolutionDims& labels = attrs.dim_labels;
  Dims order = labels.kernel_spatial, reversed, split, backwards;
  order.push_back(labels.kernel_input_feature);
  order.push_back(labels.kernel_output_feature);
  w = transpose(w, order);
  std::vector<hlo::PadDimension> padding(order.size());
  for (size_t d = 0; d < phases.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    padding[d].high = phases[d].taps() * phases[d].s - w.shape().dimension(dimension);
    split.insert(split.end(), {phases[d].taps(), phases[d].s});
    backwards.push_back(2 * dimension + 1);  // r counts from the last tap of a group
    if (attrs.window.dimensions[d].window_reversal) reversed.push_back(dimension);
  }
  if (!reversed.empty()) w = reverse(w, reversed);
  const auto& sizes = w.shape().dimensions();
  split.insert(split.end(), sizes.end() - 2, sizes.end());
  return reverse(reshape(pad(w, padding), split), backwards);
}

// The features of some phases of an image: of a part for each dimension.
class PartWriter {
 public:
  PartWriter(hlo::Graph& graph, hlo::Value x, hlo::Value w, const Instruction& old,
             const std::vector<Phases>& phases)
      : graph_(graph), x_(std::move(x)), w_(std::move(w)), old_(old), phases_(phases) {}

  // All of them, [batch, groups.., phases.., out], where the parts of the first dimensions are
  // chosen.
  hlo::Value write(const std::vector<Phases::Part>& chosen) const {
    if (chosen.size() == phases_.size()) return features(chosen);
    hlo::Values parts;
    for (const Phases::Part& part : phases_[chosen.size()].parts) {
      std::vector<Phases::Part> more = chosen;
      more.push_back(part);
      parts.push_back(write(more));
    }
    return parts.size() == 1
               ? parts[0]
               : concatenate(parts, static_cast<int64_t>(1 + phases_.size() + chosen.size()));
  }

 private:
  hlo::Value features(const std::vector<Phases::Part>& parts) const {
    const auto& attrs = old_.attrs.get<hlo::ConvolutionAttrs>();
    const auto spatial = std::ssize(phases_);
    const auto& sizes = w_.shape().dimensions();
    hlo::ConvolutionAttrs dense{.operand_precision = attrs.operand_precision};
    dense.dim_labels = {.input_batch = attrs.dim_labels.input_batch,
                        .input_feature = attrs.dim_labels.input_feature,
                        .input_spatial = attrs.dim_labels.input_spatial,
                        .kernel_input_feature = spatial,
                        .kernel_output_feature = spatial + 1,
                        .output_batch = 0,
                        .output_feature = spatial + 1};
    std::vector<hlo::SliceDimension> kept;
    Dims order, kernel, result = {x_.shape().dimension(attrs.dim_labels.input_batch)}, counts;
    int64_t features = sizes.back();
    for (int64_t d = 0; d < spatial; ++d) {
      const Phases& of = phases_[static_cast<size_t>(d)];
      const Phases::Part& part = parts[static_cast<size_t>(d)];
      kept.push_back({.start = 0, .limit = part.taps});
      kept.push_back({.start = part.begin, .limit = part.begin + part.count});
      order.push_back(2 * d);
      kernel.push_back(part.taps);
      result.push_back(of.groups);
      counts.push_back(part.count);
      features *= part.count;
      dense.window.dimensions.push_back(of.window(part));
      dense.dim_labels.kernel_spatial.push_back(d);
      dense.dim_labels.output_spatial.push_back(d + 1);
    }
    Dims split = result;
    split.insert(split.end(), counts.begin(), counts.end());
    split.push_back(sizes.back());
    if (std::ranges::count(parts, 0, &Phases::Part::taps) > 0)
      return graph_.zeros(Shape(old_.shape.dtype(), split));
    kept.push_back({.start = 0, .limit = sizes[sizes.size() - 2]});
    kept.push_back({.start = 0, .limit = sizes.back()});
    order.push_back(2 * spatial);
    for (int64_t d = 0; d < spatial; ++d) order.push_back(2 * d + 1);
    order.push_back(2 * spatial + 1);
    kernel.insert(kernel.end(), {sizes[sizes.size() - 2], features});
    result.push_back(features);
    const Shape shape(old_.shape.dtype(), result);
    const hlo::Value w = reshape(transpose(slice(w_, kept), order), kernel);
    return reshape(graph_.op(Opcode::kConvolution, {x_, w}, dense, {}, &shape), split);
  }

  hlo::Graph& graph_;
  hlo::Value x_, w_;
  const Instruction& old_;
  const std::vector<Phases>& phases_;
};

// [batch, groups.., phases.., out] as [batch, places.., out]: each group's phases side by side,
// without what is skipped.
hlo::Value side_by_side(const hlo::Value& features, const std::vector<Phases>& phases) {
  const int64_t batch = features.shape().dimension(0), out = features.shape().dimensions().back();
  const auto spatial = std::ssize(phases);
  Dims order = {0}, places = {batch};
  std::vector<hlo::SliceDimension> kept = {{.start = 0, .limit = batch}};
  for (int64_t d = 0; d < spatial; ++d) {
    const Phases& of = phases[static_cast<size_t>(d)];
    order.insert(order.end(), {1 + d, 1 + spatial + d});
    places.push_back(of.groups * of.s);
    kept.push_back({.start = of.skipped, .limit = of.skipped + of.places});
  }
  order.push_back(2 * spatial + 1);
  places.push_back(out);
  kept.push_back({.start = 0, .limit = out});
  return slice(reshape(transpose(features, order), places), kept);
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
  const hlo::Value features = PartWriter(graph, to.operands(id)[0], w, old, phases).write({});
  return in_order(side_by_side(features, phases), labels);
}

}  // namespace

StatusOr<hlo::Module> join_phases(const hlo::Module& module) {
  return transform::with_rewritten(module, phased);
}

}  // namespace heddle::cpu
