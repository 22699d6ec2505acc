#include "heddle/cpu/rewrites/swapped_convolutions.h"

#include <algorithm>
#include <utility>

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
  return attrs.feature_group_count == 1 && attrs.batch_group_count == 1 &&
         !convolution.shape.is_dynamic() && convolution.shape.element_count() > 0 &&
         x.element_count() > 0 &&
         places_of(w, attrs.dim_labels.kernel_spatial) >
             places_of(x, attrs.dim_labels.input_spatial) &&
         std::ranges::all_of(windows, [](const WindowDimension& d) { return d.stride == 1; });
}

// The window's kernel is the operand of a reversal of its spatial dimensions alone.
bool is_reversed(const Instruction& kernel, const Dims& spatial) {
  if (kernel.opcode != Opcode::kReverse) return false;
  Dims reversed = kernel.attrs.get<hlo::DimensionsAttrs>().dimensions, wanted = spatial;
  std::ranges::sort(reversed);
  std::ranges::sort(wanted);
  return reversed == wanted;
}

// Nothing: the convolution stays.
hlo::Value swapped(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kConvolution) return {};
  const Instruction& kernel = to.old(old.operands[1]);
  const Shape& image = to.old(old.operands[0]).shape;
  if (!is_swapped(old, image, kernel.shape)) return {};
  hlo::ConvolutionAttrs attrs = old.attrs.get<hlo::ConvolutionAttrs>();
  const ConvolutionDims labels = attrs.dim_labels;
  std::vector<WindowDimension>& windows = attrs.window.dimensions;
  hlo::Value w = to.operands(id)[1];
  if (is_reversed(kernel, labels.kernel_spatial)) {
    w = to.value(kernel.operands[0]);
    for (WindowDimension& d : windows) d.window_reversal = !d.window_reversal;
  }
  Dims backwards;  // of the result
  for (size_t d = 0; d < windows.size(); ++d) {
    if (!windows[d].window_reversal) backwards.push_back(labels.output_spatial[d]);
    windows[d] = exchanged(windows[d], image.dimension(labels.input_spatial[d]),
                           old.shape.dimension(labels.output_spatial[d]));
  }
  attrs.dim_labels = exchanged(labels);
  attrs.convolution_kind = hlo::ConvolutionKind::kUnset;
  std::ranges::reverse(attrs.operand_precision);
  Instruction now = to.mapped(id);
  now.operands = {w.id(), now.operands[0]};
  now.attrs = std::move(attrs);
  const hlo::Value result = to.in_place_of(id).wrap(to.builder().append(std::move(now)));
  return backwards.empty() ? result : reverse(result, backwards);
}

}  // namespace

StatusOr<hlo::Module> swap_convolutions(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return swapped(to, id); });
}

}  // namespace heddle::cpu
