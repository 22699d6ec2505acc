#include "heddle/interpreter/ops/contraction/convolve.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/contraction/matmul.h"
#include "heddle/interpreter/ops/elementwise/complex_math.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/movement/permute.h"
#include "heddle/interpreter/ops/reduction/window_taps.h"

namespace heddle::interpreter {
namespace {

// Elements that a block of patches has.
constexpr int64_t kConvolveBlock = 1 << 16;

bool is_finite(double x) { return std::isfinite(x); }
bool is_finite(std::complex<double> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}
bool is_finite(int64_t) { return true; }

template <class T>
void add_product(T& to, T a, T b) {
  to += a * b;
}
void add_product(std::complex<double>& to, std::complex<double> a, std::complex<double> b) {
  to += complex_math::multiply(a, b);
}
void add_product(int64_t& to, int64_t a, int64_t b) {
  to = static_cast<int64_t>(static_cast<uint64_t>(to) +
                            static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

Dims order_of(int64_t first, const Dims& spatial, int64_t last) {
  Dims order = {first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

// [groups, window.., inputs, outputs of a group]: a matrix for each group.
Literal arranged_kernel(const Literal& kernel, const ConvolutionDims& dims, int64_t groups) {
  Literal by_output = permuted(
      kernel, order_of(dims.kernel_output_feature, dims.kernel_spatial, dims.kernel_input_feature));
  const int64_t outputs = by_output.shape().dimension(0) / groups;
  const int64_t depth = kernel.element_count() / by_output.shape().dimension(0);
  by_output =
      std::move(by_output).reshaped(Shape(kernel.shape().dtype(), {groups, outputs, depth}));
  return permuted(by_output, Dims{0, 2, 1});
}

// A convolution with x as [batch, spatial.., features], the result as [batch, places.., features].
template <class T>
class Convolution {
 public:
  Convolution(const ConvolutionAttrs& attrs, const Literal& x, const Literal& kernel,
              const Dims& result)
      : groups_(std::max(attrs.feature_group_count, attrs.batch_group_count)),
        inputs_(kernel.shape().dimension(attrs.dim_labels.kernel_input_feature)),
        outputs_(result.back() / groups_),
        batch_(result.front()),
        x_(numbers_of<T>(x)),
        kernel_(numbers_of<T>(arranged_kernel(kernel, attrs.dim_labels, groups_))) {
    int64_t stride = x.shape().dimensions().back();
    int64_t tap_stride = 1;
    const size_t rank = attrs.window.dimensions.size();
    axes_.resize(rank);
    for (size_t d = rank; d-- > 0;) {
      const WindowDimension& w = attrs.window.dimensions[d];
      const int64_t size = x.shape().dimension(static_cast<int64_t>(d) + 1);
      axes_[d] = {.size = w.size,
                  .reversed = w.window_reversal,
                  .stride = stride,
                  .tap_stride = tap_stride,
                  .places = {}};
      for (int64_t place = 0; place < result[d + 1]; ++place)
        axes_[d].places.push_back(hits_at_place(w, size, place));
      stride *= size;
      tap_stride *= w.size;
    }
    batch_stride_ = stride;
    taps_ = tap_stride;
    // Groups divide the features of x, or its batch.
    group_stride_ = attrs.batch_group_count > 1 ? batch_ * batch_stride_ : inputs_;
    // Channels leave out the products of padding, which are NaN where a factor is not finite.
    if (attrs.feature_group_count > 1 && inputs_ == 1 && outputs_ == 1 &&
        std::ranges::all_of(kernel_, [](T k) { return is_finite(k); }))
      arrange_channels();
  }

  void run(Literal& out) {
    const int64_t width = groups_ * outputs_;
    const int64_t depth = taps_ * inputs_;
    const int64_t rows = out.element_count() / width;
    const int64_t at_once =
        std::clamp<int64_t>(kConvolveBlock / std::max<int64_t>(1, depth), 1, rows);
    patches_.resize(static_cast<size_t>(at_once * depth));
    sums_.resize(static_cast<size_t>(at_once * outputs_));
    std::vector<T> block(static_cast<size_t>(at_once * width));
    const DType dtype = out.shape().dtype();
    for (int64_t first = 0; first < rows; first += at_once) {
      const int64_t count = std::min(at_once, rows - first);
      if (channels_.empty()) {
        add_groups(first, count, block.data());
      } else {
        add_channels(first, count, block.data());
      }
      store(dtype, block.data(), count * width,
            out.mutable_bytes() + first * width * storage_bytes(dtype));
    }
  }

 private:
  struct Axis {
    int64_t size = 1;  // of the window
    bool reversed = false;
    int64_t stride = 1;      // in x
    int64_t tap_stride = 1;  // in the kernel, in taps
    std::vector<Hits> places;
  };

  // Calls visit(elements of x, tap) for each tap of the window that falls on an element, from
  // dimension d on.
  template <class Visit>
  void visit_taps(const Dims& place, size_t d, const T* from, int64_t tap, Visit&& visit) const {
    if (d == axes_.size()) return visit(from, tap);
    const Axis& axis = axes_[d];
    const Hits& hits = axis.places[static_cast<size_t>(place[d])];
    for (int64_t i = 0; i < hits.count; ++i) {
      const int64_t k = hits.first + i * hits.step;
      const T* at = from + (hits.position + i * hits.position_step) * axis.stride;
      visit_taps(place, d + 1, at, tap + (axis.reversed ? axis.size - 1 - k : k) * axis.tap_stride,
                 visit);
    }
  }

  // Calls visit(row, place, x at its batch and group) for rows [first, first + count) of (batch,
  // place).
  template <class Visit>
  void visit_rows(int64_t group, int64_t first, int64_t count, Visit&& visit) const {
    Dims place(axes_.size());
    int64_t rest = first;
    for (size_t d = axes_.size(); d-- > 0;) {
      const auto places = static_cast<int64_t>(axes_[d].places.size());
      place[d] = rest % places;
      rest /= places;
    }
    const T* from = x_.data() + group * group_stride_ + rest * batch_stride_;
    for (int64_t row = 0; row < count; ++row) {
      visit(row, place, from);
      size_t d = axes_.size();
      while (d > 0 && ++place[d - 1] == static_cast<int64_t>(axes_[d - 1].places.size()))
        place[--d] = 0;
      if (d == 0) from += batch_stride_;
    }
  }

  [[nodiscard]] const T* kernel_of(int64_t group) const {
    return kernel_.data() + group * taps_ * inputs_ * outputs_;
  }

  // Of groups of one input and one output: [taps, groups].
  void arrange_channels() {
    channels_.resize(kernel_.size());
    for (int64_t i = 0; i < groups_ * taps_; ++i) {
      channels_[static_cast<size_t>(i % taps_ * groups_ + i / taps_)] =
          kernel_[static_cast<size_t>(i)];
    }
  }

  // Rows [first, first + count) of such groups, side by side.
  void add_channels(int64_t first, int64_t count, T* block) const {
    std::fill_n(block, count * groups_, T(0));
    visit_rows(0, first, count, [&](int64_t row, const Dims& place, const T* from) {
      visit_taps(place, 0, from, 0, [&](const T* elements, int64_t tap) {
        const T* factors = channels_.data() + tap * groups_;
        T* to = block + row * groups_;
        for (int64_t i = 0; i < groups_; ++i) add_product(to[i], elements[i], factors[i]);
      });
    });
  }

  // Rows [first, first + count), group after group.
  void add_groups(int64_t first, int64_t count, T* block) {
    for (int64_t group = 0; group < groups_; ++group) {
      multiply(group, first, count, patches_.data(), sums_.data());
      for (int64_t row = 0; row < count; ++row) {
        std::copy_n(sums_.data() + row * outputs_, outputs_,
                    block + (row * groups_ + group) * outputs_);
      }
    }
  }

  void multiply(int64_t group, int64_t first, int64_t count, T* patches, T* sums) const {
    const int64_t depth = taps_ * inputs_;
    std::fill_n(patches, count * depth, T(0));
    visit_rows(group, first, count, [&](int64_t row, const Dims& place, const T* from) {
      visit_taps(place, 0, from, 0, [&](const T* elements, int64_t tap) {
        T* to = patches + row * depth + tap * inputs_;
        for (int64_t i = 0; i < inputs_; ++i) to[i] = elements[i];
      });
    });
    matmul({.rows = count, .columns = outputs_, .depth = depth}, patches, kernel_of(group), sums);
  }

  const int64_t groups_, inputs_, outputs_, batch_;  // features of one group; the result's batch
  const std::vector<T> x_, kernel_;
  std::vector<T> channels_;        // the kernel once more, where groups are single channels
  std::vector<T> patches_, sums_;  // of one group, for some rows
  std::vector<Axis> axes_;
  int64_t taps_ = 1;
  int64_t batch_stride_ = 0;
  int64_t group_stride_ = 0;
};

}  // namespace

Literal convolve(const ConvolutionAttrs& attrs, const Literal& x, const Literal& kernel,
                 const Shape& result) {
  if (result.element_count() == 0) return Literal(result);
  const ConvolutionDims& dims = attrs.dim_labels;
  const Literal by_batch =
      permuted(x, order_of(dims.input_batch, dims.input_spatial, dims.input_feature));
  const Dims order = order_of(dims.output_batch, dims.output_spatial, dims.output_feature);
  Dims sizes;
  for (int64_t d : order) sizes.push_back(result.dimension(d));
  Literal out = Literal::uninitialised(Shape(result.dtype(), sizes));
  const DType types[] = {x.shape().dtype(), kernel.shape().dtype(), result.dtype()};
  if (std::ranges::any_of(types, is_complex)) {
    Convolution<std::complex<double>>(attrs, by_batch, kernel, sizes).run(out);
  } else if (std::ranges::any_of(types, is_floating)) {
    Convolution<double>(attrs, by_batch, kernel, sizes).run(out);
  } else {
    Convolution<int64_t>(attrs, by_batch, kernel, sizes).run(out);
  }
  return permuted(out, inverse_of(order)).reshaped(result);
}

}  // namespace heddle::interpreter
