// conv and conv_transpose of trace/ops/windows/windows.h.
#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/internal/window_geometry.h"
#include "heddle/trace/ops/windows/windows.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using hlo::ConvolutionDims;
using trace_internal::ones_or;
using trace_internal::PublicCall;

// Letters of the spatial axes where the user gives no layout.
std::string spatial_letters(int64_t count) {
  constexpr std::string_view kUsual = "DHW";
  if (count <= 3) return std::string(kUsual.substr(static_cast<size_t>(3 - count)));
  std::string out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<char>('a' + i));
  return out;
}

// The layout with its defaults for arrays of a rank.
ConvLayout filled(ConvLayout layout, int64_t rank) {
  std::string spatial = spatial_letters(rank - 2);
  if (layout.x.empty()) layout.x = "N" + spatial + "C";
  if (layout.kernel.empty()) layout.kernel = spatial + "IO";
  if (layout.result.empty()) layout.result = layout.x;
  return layout;
}

[[noreturn]] void throw_layout(std::string_view name, std::string_view text,
                               std::string_view rule) {
  trace_internal::refuse("layout of ", name, " is \"", text, "\"; ", rule);
}

// Reads one layout: the axes of its two named letters, and of the spatial letters in the order of
// `kernel`.
class Labels {
 public:
  Labels(std::string_view name, std::string_view text, int64_t rank) : name_(name), text_(text) {
    if (static_cast<int64_t>(text.size()) != rank)
      throw_layout(name, text, base::cat("it must have ", rank, " letters, one an axis"));
    for (char letter : text) {
      if (std::ranges::count(text, letter) > 1)
        throw_layout(name, text, "a letter may stand in it only once");
    }
  }

  [[nodiscard]] int64_t axis(char letter) const {
    size_t found = text_.find(letter);
    if (found == std::string_view::npos)
      throw_layout(name_, text_, base::cat("it must contain ", std::string(1, letter)));
    return static_cast<int64_t>(found);
  }

  [[nodiscard]] std::vector<int64_t> spatial(std::string_view kernel) const {
    std::vector<int64_t> out;
    for (char letter : kernel) {
      if (letter != 'I' && letter != 'O') out.push_back(axis(letter));
    }
    return out;
  }

 private:
  std::string_view name_, text_;
};

ConvolutionDims dims_of(const ConvLayout& layout, int64_t rank) {
  Labels kernel("kernel", layout.kernel, rank);
  Labels x("x", layout.x, rank);
  Labels result("result", layout.result, rank);
  return {.input_batch = x.axis('N'),
          .input_feature = x.axis('C'),
          .input_spatial = x.spatial(layout.kernel),
          .kernel_input_feature = kernel.axis('I'),
          .kernel_output_feature = kernel.axis('O'),
          .kernel_spatial = kernel.spatial(layout.kernel),
          .output_batch = result.axis('N'),
          .output_feature = result.axis('C'),
          .output_spatial = result.spatial(layout.kernel)};
}

void check_operands(const Tensor& x, const Tensor& kernel, const ConvLayout& layout) {
  if (x.dtype() != kernel.dtype()) {
    trace_internal::refuse("x is ", x.shape(), " and kernel ", kernel.shape(),
                           "; their dtypes must be equal, ", cast_advice(x, kernel));
  }
  // Without a layout rank 2 has no axis to slide along: it would be a product of matrices.
  const int64_t least = layout.x.empty() && layout.kernel.empty() ? 3 : 2;
  if (x.rank() >= least && x.rank() == kernel.rank()) return;
  trace_internal::refuse(
      "x is ", x.shape(), ", of rank ", x.rank(), ", and kernel ", kernel.shape(), ", of rank ",
      kernel.rank(),
      "; both must have rank n + 2 for n spatial axes, x [batch, spatial.., "
      "features] and kernel [spatial.., features in, features out]; add the axes "
      "with expand_dims");
}

std::vector<int64_t> sizes_at(const Tensor& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) out.push_back(x.shape().dimension(axis));
  return out;
}

Shape result_shape(const Tensor& x, const Tensor& kernel, const hlo::ConvolutionAttrs& attrs,
                   std::optional<DType> dtype) {
  const ConvolutionDims& dims = attrs.dim_labels;
  std::vector<int64_t> sizes(static_cast<size_t>(x.rank()));
  auto at = [&](int64_t axis) -> int64_t& { return sizes[static_cast<size_t>(axis)]; };
  at(dims.output_batch) = x.shape().dimension(dims.input_batch) / attrs.batch_group_count;
  at(dims.output_feature) = kernel.shape().dimension(dims.kernel_output_feature);
  for (size_t i = 0; i < dims.output_spatial.size(); ++i) {
    at(dims.output_spatial[i]) = trace_internal::window_places(
        attrs.window.dimensions[i], x.shape().dimension(dims.input_spatial[i]));
  }
  return {dtype.value_or(x.dtype()), std::move(sizes)};
}

Tensor emit_conv(const Tensor& x, const Tensor& kernel, hlo::ConvolutionAttrs attrs,
                 std::optional<DType> dtype) {
  Shape declared = result_shape(x, kernel, attrs, dtype);
  return trace_internal::emit({.opcode = hlo::Opcode::kConvolution,
                               .operands = {x, kernel},
                               .attrs = std::move(attrs),
                               .declared = std::move(declared)});
}

// Features of x that the kernel takes; torch's layouts are NCHW and OIHW.
void check_features(const Tensor& x, const Tensor& kernel, const ConvLayout& given,
                    const ConvolutionDims& dims, int64_t groups) {
  const ConvLayout layout = filled(given, x.rank());
  const int64_t have = x.shape().dimension(dims.input_feature);
  const int64_t takes = kernel.shape().dimension(dims.kernel_input_feature) * groups;
  if (have == takes) return;
  const bool is_usual = given.x.empty() && given.kernel.empty();
  const std::string spatial = layout.x.substr(1, layout.x.size() - 2);
  if (have % groups != 0) {
    trace_internal::refuse("x is ", x.shape(), ", in the layout ", layout.x, ", whose ", have,
                           " features do not divide into feature_groups = ", groups);
  }
  std::string repair = ", transpose one, or say where its axes are with .layout";
  const std::string x_alone = base::cat("{.layout = {.x = \"NC", spatial, "\"}}");
  const std::string both =
      base::cat("{.layout = {.x = \"NC", spatial, "\", .kernel = \"OI", spatial, "\"}}");
  const bool fits_alone = x.dim(1) == takes, fits_both = x.dim(1) == kernel.dim(1) * groups;
  if (is_usual && fits_alone && fits_both)
    repair = base::cat(", write ", both, " for arrays of torch's layout, or ", x_alone,
                       " where the kernel is in the layout ", layout.kernel);
  else if (is_usual && fits_alone)
    repair = base::cat(", transpose x, or write ", x_alone, " for x as it is");
  else if (is_usual && fits_both)
    repair = base::cat(", transpose both, or write ", both, " for both as they are");
  else if (groups > 1)
    repair = base::cat(": of ", groups, " feature_groups the kernel's axis I has ", have / groups);
  trace_internal::refuse("x is ", x.shape(), ", in the layout ", layout.x, " of ", have,
                         " features, and kernel ", kernel.shape(), ", which in the layout ",
                         layout.kernel, " takes ", takes, "; they must be equal", repair);
}

void check_groups(const Convolution& options) {
  if (options.feature_groups >= 1 && options.batch_groups >= 1) return;
  trace_internal::refuse("feature_groups is ", options.feature_groups, " and batch_groups ",
                         options.batch_groups, "; they must be 1 or more");
}

// The padding with which a convolution of the spread x undoes one of the strides.
// source: jax.lax.conv_transpose's documented sizes
void set_transposed_padding(hlo::WindowDimension& w, bool same) {
  int64_t covered = (w.size - 1) * w.window_dilation + 1;
  int64_t stride = w.base_dilation;
  int64_t total = covered + stride - 2 + (same ? 0 : std::max<int64_t>(covered - stride, 0));
  bool whole = !same || stride > covered - 1;
  w.padding_low = whole ? covered - 1 : (total + 1) / 2;
  w.padding_high = total - w.padding_low;
}

}  // namespace

Tensor conv(Operand x, Operand kernel, const Convolution& options) {
  const PublicCall call("conv", x.at());
  Tensor a = as_tensor(x);
  Tensor k = as_tensor(kernel);
  check_operands(a, k, options.layout);
  check_groups(options);
  hlo::ConvolutionAttrs attrs{.dim_labels = dims_of(filled(options.layout, a.rank()), a.rank()),
                              .feature_group_count = options.feature_groups,
                              .batch_group_count = options.batch_groups};
  check_features(a, k, options.layout, attrs.dim_labels, options.feature_groups);
  std::vector<int64_t> sizes = sizes_at(k, attrs.dim_labels.kernel_spatial);
  std::vector<int64_t> strides = ones_or("strides", options.strides, sizes.size());
  std::vector<int64_t> lhs = ones_or("lhs_dilation", options.lhs_dilation, sizes.size());
  std::vector<int64_t> rhs = ones_or("rhs_dilation", options.rhs_dilation, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    attrs.window.dimensions.push_back({.size = sizes[i],
                                       .stride = strides[i],
                                       .window_dilation = rhs[i],
                                       .base_dilation = lhs[i]});
  }
  trace_internal::set_padding(options.padding, sizes_at(a, attrs.dim_labels.input_spatial),
                              attrs.window.dimensions);
  trace_internal::require_places("kernel", a.shape(), attrs.dim_labels.input_spatial,
                                 attrs.window.dimensions, /*allow_empty=*/true);
  return emit_conv(a, k, std::move(attrs), options.result);
}

Tensor conv_transpose(Operand x, Operand kernel, const TransposedConvolution& options) {
  const PublicCall call("conv_transpose", x.at());
  Tensor a = as_tensor(x);
  Tensor k = as_tensor(kernel);
  check_operands(a, k, options.layout);
  hlo::ConvolutionAttrs attrs{.dim_labels = dims_of(filled(options.layout, a.rank()), a.rank())};
  if (options.transpose_kernel)
    std::swap(attrs.dim_labels.kernel_input_feature, attrs.dim_labels.kernel_output_feature);
  check_features(a, k, options.layout, attrs.dim_labels, 1);
  std::vector<int64_t> sizes = sizes_at(k, attrs.dim_labels.kernel_spatial);
  std::vector<int64_t> strides = ones_or("strides", options.strides, sizes.size());
  std::vector<int64_t> dilation = ones_or("rhs_dilation", options.rhs_dilation, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    attrs.window.dimensions.push_back({.size = sizes[i],
                                       .window_dilation = dilation[i],
                                       .base_dilation = strides[i],
                                       .window_reversal = options.transpose_kernel});
  }
  const WindowPadding::Rule rule = options.padding.rule();
  if (rule == WindowPadding::kExplicit || rule == WindowPadding::kEach) {
    trace_internal::set_padding(options.padding, {}, attrs.window.dimensions);
  } else {
    bool same = rule != WindowPadding::kValid;
    for (hlo::WindowDimension& w : attrs.window.dimensions) set_transposed_padding(w, same);
  }
  trace_internal::require_places("kernel", a.shape(), attrs.dim_labels.input_spatial,
                                 attrs.window.dimensions, /*allow_empty=*/true);
  return emit_conv(a, k, std::move(attrs), options.result);
}

}  // namespace heddle
