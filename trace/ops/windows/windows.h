// Windows that move over an array: convolutions, pooling, reduce_window. Names are those of
// jax.lax and flax.linen; each is a single HLO convolution or reduce-window (avg_pool divides).
//
// A window of size k, dilated by d, covers (k - 1) * d + 1 elements; over n elements with padding
// it stands at floor((n + low + high - covered) / stride) + 1 places. Lists of options have one
// entry a spatial axis; a lone number, {.strides = 2}, is for all, and an empty list is all ones.
// errors: all throw Error (InvalidArgument) with the op, what it is, what it had to be, and the
// caller's line
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Elements added at both ends of an axis; negative ones are cut off.
struct EdgePadding {
  base::Int low = 0;
  base::Int high = 0;
};

// How the edges are padded: kValid not at all; kSame so that there are ceil(n / stride) places,
// the odd element at the high end (kSameLower: at the low one); by a number, so many at both ends
// of each axis, {.padding = 1}; or by a list, one entry an axis: {.padding = {{1, 1}, {0, 2}}}.
class WindowPadding {
 public:
  enum Rule : uint8_t { kValid, kSame, kSameLower, kExplicit, kEach };
  WindowPadding(Rule rule) : rule_(rule) {}
  template <class T>
  requires std::is_arithmetic_v<T> WindowPadding(T each)  // implicit: {.padding = 1}
      : rule_(kEach), edges_(1, EdgePadding{base::Int(each), base::Int(each)}) {}
  WindowPadding(std::initializer_list<EdgePadding> edges) : rule_(kExplicit), edges_(edges) {}
  template <class T>
  requires std::is_convertible_v<T, std::string_view> WindowPadding(const T& /*rule*/) {
    static_assert(!sizeof(std::type_identity<T>),
                  "a rule is no text: write WindowPadding::kSame or WindowPadding::kValid");
  }
  explicit WindowPadding(std::vector<EdgePadding> edges)
      : rule_(kExplicit), edges_(std::move(edges)) {}

  [[nodiscard]] Rule rule() const { return rule_; }
  [[nodiscard]] const std::vector<EdgePadding>& edges() const { return edges_; }

 private:
  Rule rule_;
  std::vector<EdgePadding> edges_;
};

// What each axis is, one letter an axis: N batch and C features in x and the result; I input and O
// output features in the kernel; any other letters are spatial, the same in all three. Spatial axes
// of the options are in the kernel's order. Empty: channels last, as flax.linen has it: x and
// result N, spatial.., C ("NHWC" for images), kernel spatial.., I, O ("HWIO").
struct ConvLayout {
  std::string x = {};
  std::string kernel = {};
  std::string result = {};  // empty: that of x
};

// jax.lax.conv_general_dilated: sums of products under the kernel, which is not turned around.
// Dilation puts zeros between the elements of x (lhs) or of the kernel (rhs). With feature_groups =
// g the features fall into g groups that do not mix: the kernel has C / g input features; with
// batch_groups = g the batch does, and the result's batch is N / g. `result` is its dtype: that of
// x unless given. errors: also a kernel larger than x with its padding, and kSame with an
// lhs_dilation, which has no agreed meaning
// cost: 2 * (result elements) * (kernel elements of one output feature) flops
struct Convolution {
  base::OnlyByName by_name = base::OnlyByName();  // {2, 2} could be strides or padding
  base::Ints strides = {};
  WindowPadding padding = WindowPadding::kValid;
  base::Ints lhs_dilation = {};
  base::Ints rhs_dilation = {};
  base::Int feature_groups = 1;
  base::Int batch_groups = 1;
  ConvLayout layout = {};
  std::optional<DType> result = {};
};
// Convolution: sums of products under the kernel, which is not turned around.
Tensor conv(Operand x, Operand kernel, const Convolution& options = {});

// jax.lax.conv_transpose: x is spread by the strides, then convolved. kSame gives n * stride
// elements, kValid n * stride + max(k - stride, 0); a list pads the spread x. With transpose_kernel
// the kernel is that of the forward convolution, of which this is the gradient: it is turned around
// and its I and O change places.
struct TransposedConvolution {
  base::OnlyByName by_name = base::OnlyByName();  // likewise
  base::Ints strides = {};
  WindowPadding padding = WindowPadding::kSame;
  base::Ints rhs_dilation = {};
  ConvLayout layout = {};
  base::Flag transpose_kernel = false;
  std::optional<DType> result = {};
};
// Transposed convolution: x is spread by the strides, then convolved.
Tensor conv_transpose(Operand x, Operand kernel, const TransposedConvolution& options = {});

// Windows over `axes` of x, in the order of the other lists; negative axes count from the end.
// Strides are 1 unless given. A window larger than x with its padding is an error. A lone size is
// for every axis: of pools those between the first, of examples, and the last, of features.
struct Windows {
  base::OnlyByName by_name = base::OnlyByName();  // {2, 3} could be a window or strides
  base::Ints sizes;
  base::Ints strides = {};
  WindowPadding padding = WindowPadding::kValid;
  base::Ints base_dilation = {};
  base::Ints window_dilation = {};
  base::Ints axes = {};  // empty: those before the last, which is of features
};

// The greatest element, the sum, the mean under each place. Padding takes no part in a maximum (of
// nothing: the least value of the dtype) and adds 0 to a sum. avg_pool (of floats) divides by the
// window's size, or with count_padding = false by the number of elements of x under it.
Tensor max_pool(Operand x, const Windows& windows);  // the greatest element under each place
Tensor min_pool(Operand x, const Windows& windows);  // the least
Tensor sum_pool(Operand x, const Windows& windows);  // the sum
Tensor avg_pool(Operand x, const Windows& windows, base::Flag count_padding = true);  // the mean

// jax.lax.reduce_window: combines the elements under each place by `fn` (a, b) -> a on scalars,
// which must be associative, with `init` (a scalar or number) as its identity. Empty axes: as many
// as there are sizes, and these must be all of x. Places of padding are left out, as by XLA's CPU
// plugin: each result starts from `init` once, and takes the elements of x alone.
Tensor reduce_window(Operand x, Operand init,
                     base::FunctionRef<Tensor(const Tensor&, const Tensor&)> fn,
                     const Windows& windows);
// Several operands of equal shapes, which go together: `fn` (accumulators.., values..) ->
// accumulators on scalars, one init each.
std::vector<Tensor> reduce_window(
    const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn, const Windows& windows,
    SourceLocation at = SourceLocation::here());

}  // namespace heddle
