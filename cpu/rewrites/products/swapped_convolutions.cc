#include "heddle/cpu/rewrites/products/swapped_convolutions.h"

#include <algorithm>
#include <utility>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionDims;
using hlo::WindowDimension;

constexpr int64_t kMostOfImage = 25;   // places
constexpr int64_t kTimesTheImage = 4;  // places of the window for one of the image, at least

int64_t places_of(const Shape& shape, const Dims& spatial) {
  int64_t places = 1;
  for (const int64_t d : spatial) places *= shape.dimension(d);
  return places;
}

int64_t dilated(int64_t size, int64_t dilation) { return (size - 1) * dilation + 1; }

// One dimension of the window of the image over the kernel, which has `places` results. Result o is
//   sum over j of x[j] w[j - o + low]
// and without a reversal it is that of place (places - 1 - o) of the exchanged one.
WindowDimension exchanged(const WindowDimension& of, int64_t image, int64_t places) {
  const int64_t x = dilated(image, of.base_dilation), w = dilated(of.size, of.window_dilation);
  WindowDimension now{.size = image,
                      .window_dilation = of.base_dilation,
                      .base_dilation = of.window_dilation,
                      .window_reversal = of.window_reversal};
  now.padding_low = of.window_reversal ? x - w + of.padding_low : places - 1 - of.padding_low;
  now.padding_high = places - 1 + x - w - now.padding_low;
  return now;
}

ConvolutionDims exchanged(const ConvolutionDims& of) {
  return {.input_batch = of.kernel_output_feature,
          .input_feature = of.kernel_input_feature,
          .input_spatial = of.kernel_spatial,
          .kernel_input_feature = of.input_feature,
          .kernel_output_feature = of.input_batch,
          .kernel_spatial = of.input_spatial,
          .output_batch = of.output_feature,
          .output_feature = of.output_batch,
          .output_spatial = of.output_spatial};
}

bool is_swapped(const Instruction& convolution, const Shape& x, const Shape& w) {
  const auto& attrs = convolution.attrs.get<hlo::ConvolutionAttrs>();
  const auto& windows = attrs.window.dimensions;
  const int64_t places = places_of(x, attrs.dim_labels.input_spatial);
  return attrs.feature_group_count == 1 && attrs.batch_group_count == 1 &&
         !convolution.shape.is_dynamic() && convolution.shape.element_count() > 0 && places > 0 &&
         places <= kMostOfImage &&
         places_of(w, attrs.dim_labels.kernel_spatial) >= kTimesTheImage * places &&
         std::ranges::all_of(windows, [](const WindowDimension& d) { return d.stride == 1; });
}

// The window's kernel is the operand of a reversal of its spatial dimensions alone.
bool is_reversed(const Instruction& kernel, const Dims& spatial) {
  if (kernel.opcode != Opcode::kReverse) return false;
  Dims reversed = dimensions_of(kernel), wanted = spatial;
  std::ranges::sort(reversed);
  std::ranges::sort(wanted);
  return reversed == wanted;
}

// The exchanged convolution, and the dimensions in which its result is reversed.
struct Exchanged {
  hlo::ConvolutionAttrs attrs;
  Dims backwards;

  Exchanged(const Instruction& of, const Shape& image, bool has_reversed_kernel)
      : attrs(of.attrs.get<hlo::ConvolutionAttrs>()) {
    const ConvolutionDims labels = attrs.dim_labels;
    for (size_t d = 0; d < attrs.window.dimensions.size(); ++d) {
      WindowDimension& window = attrs.window.dimensions[d];
      if (has_reversed_kernel) window.window_reversal = !window.window_reversal;
      if (!window.window_reversal) backwards.push_back(labels.output_spatial[d]);
      window = exchanged(window, image.dimension(labels.input_spatial[d]),
                         of.shape.dimension(labels.output_spatial[d]));
    }
    attrs.dim_labels = exchanged(labels);
    attrs.convolution_kind = hlo::ConvolutionKind::kUnset;
    std::ranges::reverse(attrs.operand_precision);
  }
  // Zeros around the window multiply elements of the image that no place of it saw.
  [[nodiscard]] bool has_padding() const {
    return std::ranges::any_of(attrs.window.dimensions, [](const WindowDimension& d) {
      return d.padding_low > 0 || d.padding_high > 0 || d.base_dilation > 1;
    });
  }
  [[nodiscard]] hlo::Value write(hlo::Graph& graph, const hlo::Value& x, const hlo::Value& w,
                                 const Shape& shape) const {
    const hlo::Value result = graph.op(Opcode::kConvolution, {w, x}, attrs, {}, &shape);
    return backwards.empty() ? result : reverse(result, backwards);
  }
};

// Nothing: the convolution stays.
hlo::Value swapped(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kConvolution) return {};
  const Instruction& kernel = to.old(old.operands[1]);
  const Shape& image = to.old(old.operands[0]).shape;
  if (!is_swapped(old, image, kernel.shape)) return {};
  const auto& attrs = old.attrs.get<hlo::ConvolutionAttrs>();
  const bool has_reversed = is_reversed(kernel, attrs.dim_labels.kernel_spatial);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Value x = to.operands(id)[0], w = to.operands(id)[1],
                   from = has_reversed ? to.value(kernel.operands[0]) : w;
  const Exchanged now(old, image, has_reversed);
  const bool has_infinities = is_floating(image.dtype()) || is_complex(image.dtype());
  if (!now.has_padding() || !has_infinities) return now.write(graph, x, from, old.shape);
  const hlo::Value given = graph.tuple({x, from, w});
  hlo::Graph exchanged(graph, ""), plain(graph, "");
  const hlo::Values in = exchanged.elements(exchanged.parameter(given.shape())),
                    as_it_is = plain.elements(plain.parameter(given.shape()));
  const hlo::Value result = now.write(exchanged, in[0], in[1], old.shape);
  const hlo::Value same =
      plain.op(Opcode::kConvolution, {as_it_is[0], as_it_is[2]}, attrs, {}, &old.shape);
  const Dims all = consecutive_dimensions(image.rank());
  const hlo::Value has_infinite = hlo::reduce(!is_finite(x), Opcode::kOr, 0, all);
  return graph.op(Opcode::kConditional, {!has_infinite, given, given}, {},
                  {std::move(exchanged).finish_with(result), std::move(plain).finish_with(same)},
                  &old.shape);
}

}  // namespace

StatusOr<hlo::Module> swap_convolutions(const hlo::Module& module) {
  return transform::with_rewritten(module, swapped);
}

}  // namespace heddle::cpu
