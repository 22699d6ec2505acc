// convolution(x, kernel): the sum of products under each place of the kernel, over its window and
// input features. dim_labels says which dimension is batch, feature and which are spatial, in x,
// kernel and result. window_reversal turns the kernel around.
//
// With feature_group_count = g, input and output features fall into g groups, and each output sees
// the inputs of its own. With batch_group_count = g, batch and output features do; the result's
// batch is that of one group.
#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/window.h"

namespace heddle::hlo {
namespace {

// Two named dimensions and the spatial ones are each dimension of `shape` once.
Status check_labels(const InferArgs& in, std::string_view what, const Shape& shape, int64_t first,
                    int64_t second, const Dims& spatial) {
  Dims all = spatial;
  all.push_back(first);
  all.push_back(second);
  HEDDLE_RETURN_IF_ERROR(
      check_dimensions(in, base::cat("dim_labels of ", what), all, shape.rank()));
  return check_length(in, base::cat("dim_labels of ", what), all.size(), shape.rank(), "dimension");
}

Status check_all_labels(const InferArgs& in, const ConvolutionDims& dims) {
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 1));
  if (!in.declared()->is_array())
    return in.error("result is declared as ", *in.declared(), "; must be an array");
  HEDDLE_RETURN_IF_ERROR(
      check_labels(in, "x", in[0], dims.input_batch, dims.input_feature, dims.input_spatial));
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 1, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(check_labels(in, "kernel", in[1], dims.kernel_input_feature,
                                      dims.kernel_output_feature, dims.kernel_spatial));
  if (in.declared()->rank() != in[0].rank()) {
    return in.error("result is declared as ", *in.declared(), "; its rank must be ", in[0].rank(),
                    " as of x");
  }
  return check_labels(in, "result", *in.declared(), dims.output_batch, dims.output_feature,
                      dims.output_spatial);
}

Status check_groups(const InferArgs& in, const ConvolutionAttrs& attrs) {
  int64_t features = in[0].dimension(attrs.dim_labels.input_feature);
  int64_t batch = in[0].dimension(attrs.dim_labels.input_batch);
  int64_t of_kernel = in[1].dimension(attrs.dim_labels.kernel_input_feature);
  int64_t outputs = in[1].dimension(attrs.dim_labels.kernel_output_feature);
  int64_t groups = attrs.feature_group_count;
  int64_t batches = attrs.batch_group_count;
  if (groups < 1 || batches < 1 || (groups > 1 && batches > 1)) {
    return in.error("feature_group_count is ", groups, " and batch_group_count ", batches,
                    "; must be 1 or more, and one of them 1");
  }
  if (features % groups != 0 || features / groups != of_kernel) {
    return in.error("x has ", features, " features in ", groups,
                    " groups; the kernel's input features, ", of_kernel,
                    ", must be those of one group");
  }
  if (outputs % groups != 0 || outputs % batches != 0 || batch % batches != 0) {
    return in.error("kernel has ", outputs, " output features and x a batch of ", batch,
                    "; must divide by feature_group_count ", groups, " and batch_group_count ",
                    batches);
  }
  return {};
}

// Sizes of the window as the kernel has them: text and protos may leave them out, or disagree.
Status check_window_sizes(const InferArgs& in, const ConvolutionAttrs& attrs) {
  const auto& spatial = attrs.dim_labels.kernel_spatial;
  HEDDLE_RETURN_IF_ERROR(check_length(in, "window", attrs.window.dimensions.size(),
                                      static_cast<int64_t>(spatial.size()), "spatial dimension"));
  for (size_t i = 0; i < spatial.size(); ++i) {
    if (attrs.window.dimensions[i].size == in[1].dimension(spatial[i])) continue;
    return in.error("window size is ", attrs.window.dimensions[i].size, "; must be ",
                    in[1].dimension(spatial[i]), " as dimension ", spatial[i], " of the kernel ",
                    in[1]);
  }
  return {};
}

StatusOr<Shape> infer_convolution(const InferArgs& in) {
  const auto& attrs = in.attrs<ConvolutionAttrs>();
  const ConvolutionDims& dims = attrs.dim_labels;
  HEDDLE_RETURN_IF_ERROR(check_all_labels(in, dims));
  HEDDLE_RETURN_IF_ERROR(check_groups(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_window_sizes(in, attrs));
  Dims base;
  for (int64_t d : dims.input_spatial) base.push_back(in[0].dimension(d));
  HEDDLE_ASSIGN_OR_RETURN(Dims places, window_places(in, attrs.window, base));
  Dims sizes(static_cast<size_t>(in[0].rank()));
  sizes[static_cast<size_t>(dims.output_batch)] =
      in[0].dimension(dims.input_batch) / attrs.batch_group_count;
  sizes[static_cast<size_t>(dims.output_feature)] = in[1].dimension(dims.kernel_output_feature);
  for (size_t i = 0; i < places.size(); ++i)
    sizes[static_cast<size_t>(dims.output_spatial[i])] = places[i];
  return check_declared(in, Shape(in.declared()->dtype(), std::move(sizes)));
}

constexpr std::string_view kConvolutionNames[] = {"x", "kernel"};

}  // namespace

const OpDef kConvolutionDef = {Opcode::kConvolution,
                               kConvolutionNames,
                               {Work::kMost, Rows::kByRule, kPlain},
                               infer_convolution};

}  // namespace heddle::hlo
