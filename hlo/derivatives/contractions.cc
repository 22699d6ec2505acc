// Derivatives of products that are linear in each of two operands: dot and convolution.
//
// source: JAX, jax/_src/lax/lax.py (_dot_general_transpose_lhs) and convolution.py
// (_conv_general_dilated_transpose_lhs, _rhs).
#include <algorithm>

#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/window.h"

namespace heddle::hlo {
namespace {

Dims remaining(int64_t rank, const Dims& a, const Dims& b) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::ranges::count(a, d) == 0 && std::ranges::count(b, d) == 0) out.push_back(d);
  }
  return out;
}

// The order that sorts them.
Dims argsort(const Dims& values) {
  Dims out = consecutive_dimensions(std::ssize(values));
  std::ranges::sort(out, {}, [&](int64_t i) { return values[static_cast<size_t>(i)]; });
  return out;
}

Dims joined(Dims a, const Dims& b, const Dims& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

int64_t count(const Dims& dims) { return static_cast<int64_t>(dims.size()); }

// One side of a dot: the operand x that it is linear in, and the other one, y.
struct Side {
  const Shape& x;
  const Value& y;
  const Dims &x_batch, &x_contract, &y_batch, &y_contract;
  bool x_is_left;
};

Value of_side(const Value& ct, const Side& side, DotAttrs attrs) {
  const Dims x_kept = remaining(side.x.rank(), side.x_batch, side.x_contract);
  const Dims y_kept = remaining(side.y.rank(), side.y_batch, side.y_contract);
  const int64_t batch = count(side.x_batch);
  const Dims ct_y =
      consecutive_dimensions(count(y_kept), side.x_is_left ? batch + count(x_kept) : batch);
  Dims contracted;
  for (int64_t i : argsort(side.y_contract))
    contracted.push_back(side.x_contract[static_cast<size_t>(i)]);
  if (!side.x_is_left) std::ranges::reverse(attrs.operand_precision);
  attrs.lhs_batch_dims = consecutive_dimensions(batch);
  attrs.lhs_contracting_dims = ct_y;
  attrs.rhs_batch_dims = side.y_batch;
  attrs.rhs_contracting_dims = y_kept;
  const Value product = dot(ct, convert(side.y, ct.dtype()), attrs, ct.dtype());
  const Value turned = transpose(product, argsort(joined(side.x_batch, x_kept, contracted)));
  return convert(turned, side.x.dtype());
}

// Dimensions of an array of a convolution: two that are no space, and space.
struct Spec {
  int64_t first, second;  // batch and feature; of the kernel output feature and input feature
  Dims space;
};

Spec input_spec(const ConvolutionDims& d) {
  return {d.input_batch, d.input_feature, d.input_spatial};
}
Spec kernel_spec(const ConvolutionDims& d) {
  return {d.kernel_output_feature, d.kernel_input_feature, d.kernel_spatial};
}
Spec output_spec(const ConvolutionDims& d) {
  return {d.output_batch, d.output_feature, d.output_spatial};
}
Spec swapped(const Spec& s) { return {s.second, s.first, s.space}; }

ConvolutionDims labels(const Spec& input, const Spec& kernel, const Spec& output) {
  return {.input_batch = input.first,
          .input_feature = input.second,
          .input_spatial = input.space,
          .kernel_input_feature = kernel.second,
          .kernel_output_feature = kernel.first,
          .kernel_spatial = kernel.space,
          .output_batch = output.first,
          .output_feature = output.second,
          .output_spatial = output.space};
}

// A dimension cut in groups, which become the outer part of another: [.., groups n, .., m, ..] ->
// [.., n, .., groups m, ..].
Value groups_moved(const Value& x, int64_t from, int64_t groups, int64_t to) {
  Dims cut = x.sizes();
  cut[static_cast<size_t>(from)] /= groups;
  Dims whole = cut;
  whole[static_cast<size_t>(to)] *= groups;
  cut.insert(cut.begin() + from, groups);
  Dims order;  // of the cut array: all but the groups, and these before `to`
  for (int64_t d = 0; d < x.rank(); ++d) order.push_back(d < from ? d : d + 1);
  order.insert(order.begin() + to, from);
  return reshape(transpose(reshape(x, cut), order), whole);
}

Value convolve(const Value& input, const Value& kernel, const ConvolutionAttrs& attrs,
               const Shape& result) {
  return input.graph().op(Opcode::kConvolution, {input, kernel}, attrs, {}, &result);
}

class Convolution {
 public:
  explicit Convolution(const TransposeArgs& t)
      : t_(t),
        attrs_(t.attrs<ConvolutionAttrs>()),
        input_(input_spec(attrs_.dim_labels)),
        kernel_(kernel_spec(attrs_.dim_labels)),
        output_(output_spec(attrs_.dim_labels)) {
    for (size_t i = 0; i < kernel_.space.size(); ++i) {
      if (window(i).window_reversal) reversed_.push_back(kernel_.space[i]);
    }
  }

  [[nodiscard]] Value of_input() const {
    const int64_t features = attrs_.feature_group_count, batches = attrs_.batch_group_count;
    const int64_t groups = std::max(features, batches);
    Value kernel = reverse(t_.x[1], reversed_);
    if (groups > 1) kernel = groups_moved(kernel, kernel_.first, groups, kernel_.second);
    ConvolutionAttrs attrs = attrs_;
    attrs.dim_labels = labels(output_, swapped(kernel_), input_);
    attrs.feature_group_count = groups;
    attrs.batch_group_count = 1;
    for (size_t i = 0; i < input_.space.size(); ++i) {
      const WindowDimension& w = window(i);
      const int64_t reach = dilated_size(size(1, kernel_, i), w.window_dilation);
      const int64_t low = reach - w.padding_low - 1;
      const int64_t high = dilated_size(size(0, input_, i), w.base_dilation) + reach - 1 -
                           dilated_size(ct_size(i), w.stride) - low;
      attrs.window.dimensions[i] = {.size = w.size,
                                    .stride = w.base_dilation,
                                    .padding_low = low,
                                    .padding_high = high,
                                    .window_dilation = w.window_dilation,
                                    .base_dilation = w.stride};
    }
    const Value turned = reverse(kernel, kernel_.space);
    if (batches == 1) return convolve(t_.ct[0], turned, attrs, t_.shape(0));
    Dims sizes = t_.shape(0).dimensions();
    sizes[static_cast<size_t>(input_.first)] /= batches;
    sizes[static_cast<size_t>(input_.second)] *= batches;
    const Value apart = convolve(t_.ct[0], turned, attrs, t_.shape(0).with_dimensions(sizes));
    return groups_moved(apart, input_.second, batches, input_.first);
  }

  [[nodiscard]] Value of_kernel() const {
    ConvolutionAttrs attrs = attrs_;
    attrs.dim_labels = labels(swapped(input_), swapped(output_), swapped(kernel_));
    attrs.feature_group_count = attrs_.batch_group_count;
    attrs.batch_group_count = attrs_.feature_group_count;
    for (size_t i = 0; i < input_.space.size(); ++i) {
      const WindowDimension& w = window(i);
      const int64_t from_input =
          dilated_size(ct_size(i), w.stride) - dilated_size(size(0, input_, i), w.base_dilation);
      const int64_t from_kernel =
          dilated_size(size(1, kernel_, i), w.window_dilation) - w.padding_low - 1;
      attrs.window.dimensions[i] = {.size = ct_size(i),
                                    .stride = w.window_dilation,
                                    .padding_low = w.padding_low,
                                    .padding_high = from_input + from_kernel,
                                    .window_dilation = w.stride,
                                    .base_dilation = w.base_dilation};
    }
    std::ranges::reverse(attrs.operand_precision);
    return reverse(convolve(t_.x[0], t_.ct[0], attrs, t_.shape(1)), reversed_);
  }

 private:
  [[nodiscard]] const WindowDimension& window(size_t i) const {
    return attrs_.window.dimensions[i];
  }
  [[nodiscard]] int64_t size(size_t operand, const Spec& spec, size_t i) const {
    return t_.shape(operand).dimension(spec.space[i]);
  }
  [[nodiscard]] int64_t ct_size(size_t i) const { return t_.ct[0].size(output_.space[i]); }

  const TransposeArgs& t_;
  ConvolutionAttrs attrs_;
  Spec input_, kernel_, output_;
  Dims reversed_;  // dimensions of the kernel that the window walks backwards
};

}  // namespace

StatusOr<Values> jvp_bilinear(const JvpArgs& d) {
  if (is_complex(d.x[0].dtype()) != is_complex(d.y[0].dtype()))
    return base::unimplemented("it is of complex numbers and gives real ones, or the other way");
  return Values{add(d.dx[0] ? d.again({d.dx[0], d.x[1]}) : Value(),
                    d.dx[1] ? d.again({d.x[0], d.dx[1]}) : Value())};
}

Value transpose_dot(const Value& ct, const DotAttrs& a, const Shape& shape, const Value& other,
                    bool of_left) {
  const Side left{shape,
                  other,
                  a.lhs_batch_dims,
                  a.lhs_contracting_dims,
                  a.rhs_batch_dims,
                  a.rhs_contracting_dims,
                  true};
  const Side right{shape,
                   other,
                   a.rhs_batch_dims,
                   a.rhs_contracting_dims,
                   a.lhs_batch_dims,
                   a.lhs_contracting_dims,
                   false};
  return of_side(ct, of_left ? left : right, a);
}

StatusOr<Values> transpose_dot(const TransposeArgs& t) {
  if (t.is_linear(0) && t.is_linear(1)) return not_linear(kBothDepend);
  const size_t i = t.is_linear(0) ? 0 : 1;
  Values out(2);
  out[i] = transpose_dot(t.ct[0], t.attrs<DotAttrs>(), t.shape(i), t.x[1 - i], i == 0);
  return out;
}

StatusOr<Values> transpose_convolution(const TransposeArgs& t) {
  if (t.is_linear(0) && t.is_linear(1)) return not_linear(kBothDepend);
  const Convolution convolution(t);
  Values out(2);
  if (t.is_linear(0))
    out[0] = convolution.of_input();
  else
    out[1] = convolution.of_kernel();
  return out;
}

}  // namespace heddle::hlo
