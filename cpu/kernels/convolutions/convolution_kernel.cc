// Convolution as products: blocks of rows, each the inputs under the window at one place, times the
// weights. Rows are made a block at a time, so that they stay in the cache.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "heddle/cpu/kernels/convolutions/convolution_phases.h"
#include "heddle/cpu/kernels/convolutions/convolution_shape.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/cpu/kernels/scratch.h"
#include "heddle/cpu/kernels/walk.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kPartsPerThread = 4, kPartsOfPlaces = 8;
constexpr int64_t kFewestRowsOfPart = 4 * ConvolutionShape::kTileRows;
constexpr int64_t kFewestRowsOfPhase = 8;               // of results
constexpr int64_t kFewestOfThreads = int64_t{1} << 20;  // multiplications, some 20 us

template <class T>
class ConvolutionKernel final : public Kernel, private ConvolutionShape {
 public:
  using ConvolutionShape::ConvolutionShape;

  Status run(std::span<void* const> pointers) const override {
    const auto* x = static_cast<const T*>(pointers[0]);
    const auto* w = static_cast<const T*>(pointers[1]);
    auto* y = static_cast<T*>(pointers[2]);
    const int64_t in_span = (span_ + block_ - 1) / block_, blocks = rows_ / span_ * in_span;
    const int64_t work = rows_ * depth_ * columns_;
    const int64_t parts =
        work < kFewestOfThreads ? 1 : std::min<int64_t>(blocks, kPartsPerThread * thread_count());
    if (by_places_) return run_by_places(x, w, y);
    const int64_t copied = by_taps_ || weights_step_ > 0 ? 0 : depth_ * columns_;
    const size_t packed_size = has_rows_ ? MatmulOf<T>::packed_size(depth_, columns_) : 0;
    const int64_t scratch_size = block_ * (row_size_ + columns_);
    KernelScratch memory(KernelScratch::rounded(static_cast<size_t>(copied) * sizeof(T)) +
                         KernelScratch::rounded(packed_size) +
                         static_cast<size_t>(scratch_size * parts) * sizeof(T));
    T* const gathered = memory.take<T>(copied);
    auto* const packed = memory.take<std::byte>(static_cast<int64_t>(packed_size));
    T* const scratch = memory.take<T>(scratch_size * parts);
    each_group(x, w, y, [&](const T* from, const T* own, T* to) {
      const Weights weights{copied == 0 ? own : gathered, packed};
      if (copied > 0) gather_weights(own, gathered);
      if (has_rows_) pack(weights.values, packed);
      const auto part = [&](int64_t number) {
        T* mine = scratch + number * scratch_size;
        for (int64_t b = blocks * number / parts; b < blocks * (number + 1) / parts; ++b) {
          const int64_t begin = b % in_span * block_, span = b / in_span * span_;
          const int64_t first = span + begin, last = span + std::min(span_, begin + block_);
          by_taps_ ? multiply_by_taps(from, own, first, last, mine, to)
                   : multiply(from, weights, first, last, mine, to);
        }
      };
      parts == 1 ? part(0) : parallel(parts, part);
    });
    return {};
  }

 private:
  // Calls body(x, w, y), each at the first element of a group.
  template <class Body>
  void each_group(const T* x, const T* w, T* y, const Body& body) const {
    for (int64_t g = 0; g < feature_groups_ * batch_groups_; ++g) {
      body(x + (feature_groups_ > 1 ? g * features_ * x_.feature : 0) +
               (batch_groups_ > 1 ? g * batch_ * x_.outer : 0),
           w + w_begin_ + g * columns_ * w_.outer, y + y_begin_ + g * columns_ * y_.feature);
    }
  }

  // Few places and images that lie side by side, as gradients of weights have where features are
  // the last axis: rows of the elements under one tap at all places, in turn, by the weights.
  Status run_by_places(const T* x, const T* w, T* y) const {
    const int64_t places = total(places_);
    // The number of threads does not count: the bits of a product depend on its strides.
    const int64_t parts =
        rows_ * depth_ * columns_ < kFewestOfThreads
            ? 1
            : std::clamp<int64_t>(rows_ / kFewestRowsOfPart, 1, std::min(places, kPartsOfPlaces));
    const int64_t most = (places + parts - 1) / parts * batch_;  // rows of a part
    const int64_t copied = weights_step_ > 0 ? 0 : depth_ * columns_;
    const int64_t scratch_size = most * (columns_ + kBlockElements / rows_);
    KernelScratch memory(KernelScratch::rounded(static_cast<size_t>(copied) * sizeof(T)) +
                         static_cast<size_t>(scratch_size * parts) * sizeof(T));
    T* const gathered = memory.take<T>(copied);
    T* const scratch = memory.take<T>(scratch_size * parts);
    each_group(x, w, y, [&](const T* from, const T* own, T* to) {
      const T* const weights = copied == 0 ? own : gathered;
      if (copied > 0) gather_weights(own, gathered);
      const auto part = [&](int64_t number) {
        multiply_by_places(from, weights, places * number / parts, places * (number + 1) / parts,
                           scratch + number * scratch_size, to);
      };
      parts == 1 ? part(0) : parallel(parts, part);
    });
    return {};
  }

  void multiply_by_places(const T* x, const T* weights, int64_t first, int64_t last, T* scratch,
                          T* y) const {
    const int64_t rows = (last - first) * batch_;
    const int64_t block = kBlockElements / rows_;  // the same for any number of parts
    T* sums = scratch + rows * block;
    for (int64_t begin = 0; begin < depth_; begin += block) {
      const int64_t count = std::min(block, depth_ - begin);
      fill_places(x, begin, count, first, last, scratch);
      MatmulOf<T>::product({.a = scratch,
                            .b = weights + begin * step_of_weights(),
                            .c = sums,
                            .m = rows,
                            .n = columns_,
                            .k = count,
                            .a_row = 1,
                            .a_col = rows,
                            .b_row = step_of_weights(),
                            .b_col = 1,
                            .c_row = columns_,
                            .c_col = 1,
                            .accumulate = begin > 0});
    }
    for (int64_t place = first; place < last; ++place) {
      T* to = y + offset_in_y(place);
      for (int64_t i = 0; i < batch_; ++i, to += y_.outer)
        for (int64_t c = 0; c < columns_; ++c) to[c * y_.feature] = *sums++;
    }
  }

  // `count` taps of features from `begin` on, each with the elements under it at the places.
  void fill_places(const T* x, int64_t begin, int64_t count, int64_t first, int64_t last,
                   T* out) const {
    std::vector<Run> runs;
    for (int64_t k = begin; k < begin + count; ++k) {
      const int64_t tap = k / features_;
      if (k == begin || k % features_ == 0) runs = runs_under(tap, first, last);
      const T* from = x + k % features_ * x_.feature;
      for (const Run& run : runs) {
        run.begin < 0 ? std::fill_n(out + run.first, run.size, T{0}),
            void()    : copy_run(from + run.begin, run.size, out + run.first);
      }
      out += (last - first) * batch_;
    }
  }

  void pack(const T* weights, std::byte* packed) const {
    MatmulOf<T>::pack_b({.b = weights,
                         .m = rows_,
                         .n = columns_,
                         .k = depth_,
                         .b_row = step_of_weights(),
                         .b_col = 1},
                        packed);
  }

  // From one row of the weights, those of an input feature under a tap, to the next.
  [[nodiscard]] int64_t step_of_weights() const {
    return weights_step_ > 0 ? weights_step_ : columns_;
  }

  // As [taps, input features, output features].
  void gather_weights(const T* from, T* to) const {
    Walk tap(taps_);
    for (int64_t t = 0; t < total(taps_); ++t, tap.next()) {
      const T* at_tap = from;
      for (size_t d = 0; d < taps_.size(); ++d)
        at_tap += (reversed_[d] ? taps_[d] - 1 - tap[d] : tap[d]) * w_.spatial[d];
      for (int64_t f = 0; f < features_; ++f)
        for (int64_t c = 0; c < columns_; ++c) *to++ = at_tap[f * w_.feature + c * w_.outer];
    }
  }

  const T* image(const T* x, int64_t row) const { return x + row / (rows_ / batch_) * x_.outer; }

  // Calls body(row, count, place) for the rows of each line, whose places follow one another from
  // `place` of the line on.
  template <class Body>
  void each_line(int64_t first, int64_t last, const Body& body) const {
    for (int64_t row = first; row < last;) {
      const int64_t place = row % line_places_;
      const int64_t count = std::min(line_places_ - place, last - row);
      body(row, count, place);
      row += count;
    }
  }

  // Rows [first, last), each the elements under all taps.
  void fill_by_rows(const T* x, int64_t first, int64_t last, T* to) const {
    const int64_t line_size = line_taps_ * features_;
    each_line(first, last, [&](int64_t row, int64_t count, int64_t place) {
      const T* from = image(x, row);
      const int64_t* lines = lines_.data() + row % (rows_ / batch_) / line_places_ * window_lines_;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t l = 0; l < window_lines_; ++l, to += line_size)
          fill_line(from, lines[l], runs_[static_cast<size_t>(place + i)], to);
      }
    });
  }

  void fill_line(const T* from, int64_t line, const std::vector<Run>& runs, T* to) const {
    for (const Run& run : runs) {
      if (line < 0 || run.begin < 0) {
        std::fill_n(to + run.first, run.size, T{0});
      } else {
        copy_run(from + line + run.begin, run.size, to + run.first);
      }
    }
  }

  // Sums of rows of all columns, to their places.
  void place_rows(const T* sums, int64_t first, int64_t last, T* y) const {
    each_line(first, last, [&](int64_t row, int64_t count, int64_t) {
      T* to = y + offset_in_y(row);
      for (int64_t i = 0; i < count; ++i, sums += columns_, to += y_.spatial.back())
        copy_run(sums, columns_, to);
    });
  }

  // As std::copy_n, which calls a function for a few elements too.
  static void copy_run(const T* from, int64_t count, T* to) {
    typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
    constexpr int64_t kLanes = 32 / sizeof(T);
    if (count % kLanes != 0 || count > 8 * kLanes) {
      std::copy_n(from, count, to);
      return;
    }
    for (int64_t i = 0; i < count; i += kLanes)
      *reinterpret_cast<Vector*>(to + i) = *reinterpret_cast<const Vector*>(from + i);
  }

  // The same by columns: of each tap and feature, the elements at all places.
  void fill_by_columns(const T* x, int64_t first, int64_t last, T* to) const {
    const int64_t rows = last - first;
    for (int64_t row = first; row < last;) {
      const int64_t count = std::min(line_places_ - row % line_places_, last - row);
      T* out = to + (row - first);
      for (int64_t l = 0; l < window_lines_; ++l) {
        const Line line = line_at(row, l);
        for (int64_t t = 0; t < line_taps_; ++t) {
          for (int64_t f = 0; f < features_; ++f, out += rows) {
            const T* from = image(x, row) + f * x_.feature + line.begin;
            line.begin < 0 ? std::fill_n(out, count, T{0}),
                void()     : fill_run(from, line.inner + t, count, out);
          }
        }
      }
      row += count;
    }
  }

  // The elements under one tap at neighbouring places, and zeros where there are none.
  void fill_run(const T* from, const int64_t* inner, int64_t count, T* out) const {
    const int64_t pitch = pitches_.back();
    const auto is_hole = [&](int64_t i) { return inner[i * pitch] < 0; };
    if (!is_dense_) {
      for (int64_t i = 0; i < count; ++i) out[i] = is_hole(i) ? T{0} : from[inner[i * pitch]];
      return;
    }
    int64_t begin = 0, end = count;
    while (begin < end && is_hole(begin)) out[begin++] = 0;
    while (end > begin && is_hole(end - 1)) out[--end] = 0;
    if (begin < end) std::copy_n(from + inner[begin * pitch], end - begin, out + begin);
  }

  // What the rows of a block are multiplied with: the weights, also packed.
  struct Weights {
    const T* values;
    const std::byte* packed;
  };

  void multiply(const T* x, const Weights& weights, int64_t first, int64_t last, T* scratch,
                T* y) const {
    const int64_t rows = last - first;
    const T* from = scratch;
    int64_t row = depth_, column = 1;
    if (plain_step_ > 0) {
      const int64_t place = first % (rows_ / batch_);
      from = image(x, first) + lines_[0] + offsets_.back()[0] + place * plain_step_;
      row = plain_step_, column = x_.feature;
    } else if (x_.feature == 1) {
      fill_by_rows(x, first, last, scratch);
    } else {
      fill_by_columns(x, first, last, scratch);
      row = 1, column = rows;
    }
    T* sums = row_step_ > 0 ? y + offset_in_y(first) : scratch + block_ * depth_;
    if (has_rows_) {
      MatmulOf<T>::packed_product({.a = from,
                                   .c = sums,
                                   .m = rows,
                                   .n = columns_,
                                   .k = depth_,
                                   .a_row = row,
                                   .a_col = column,
                                   .c_row = row_step_ > 0 ? row_step_ : columns_,
                                   .c_col = row_step_ > 0 ? y_.feature : 1},
                                  weights.packed);
      if (row_step_ < 0) place_rows(sums, first, last, y);
      return;
    }
    // The transposed product: a result's rows are neighbours.
    MatmulOf<T>::product({.a = weights.values,
                          .b = from,
                          .c = sums,
                          .m = columns_,
                          .n = rows,
                          .k = depth_,
                          .a_row = 1,
                          .a_col = step_of_weights(),
                          .b_row = column,
                          .b_col = row,
                          .c_row = row_step_ > 0 ? y_.feature : rows,
                          .c_col = 1,
                          .accumulate = false});
    for (int64_t i = 0; i < rows && row_step_ < 0; ++i) {
      T* to = y + offset_in_y(first + i);
      for (int64_t c = 0; c < columns_; ++c) to[c * y_.feature] = sums[c * rows + i];
    }
  }

  // Long windows at few places, as gradients of weights have: a product for each feature, along its
  // taps.
  void multiply_by_taps(const T* x, const T* w, int64_t first, int64_t last, T* scratch,
                        T* y) const {
    const int64_t rows = last - first;
    T* sums = scratch + block_ * row_size_;
    for (int64_t f = 0; f < features_; ++f) {
      fill_taps(x + f * x_.feature, first, last, scratch);
      MatmulOf<T>::product({.a = scratch,
                            .b = w + f * w_.feature,
                            .c = sums,
                            .m = rows,
                            .n = columns_,
                            .k = row_size_,
                            .a_row = row_size_,
                            .a_col = 1,
                            .b_row = w_.spatial.back(),
                            .b_col = w_.outer,
                            .c_row = columns_,
                            .c_col = 1,
                            .accumulate = f > 0});
    }
    for (int64_t i = 0; i < rows; ++i) {
      T* to = y + offset_in_y(first + i);
      for (int64_t c = 0; c < columns_; ++c) to[c * y_.feature] = sums[i * columns_ + c];
    }
  }

  // Of one feature, the elements under all taps, row by row.
  void fill_taps(const T* x, int64_t first, int64_t last, T* out) const {
    for (int64_t row = first; row < last; ++row) {
      const T* from = image(x, row);
      for (int64_t l = 0; l < window_lines_; ++l, out += line_taps_) {
        const Line line = line_at(row, l);
        int64_t begin = 0, end = line_taps_;
        while (begin < end && line[begin] < 0) out[begin++] = 0;
        while (end > begin && line[end - 1] < 0) out[--end] = 0;
        if (begin < end) std::copy_n(from + line[begin], end - begin, out + begin);
      }
    }
  }
};

// Over an array that is dilated: a kernel for each phase, no tap of which falls between elements.
// There are zeros, and zero times infinity is NaN: weights that are not finite take the whole.
template <class T>
class PhasedConvolution final : public Kernel {
 public:
  PhasedConvolution(const Shape& x, const Shape& w, const Shape& y,
                    const hlo::ConvolutionAttrs& attrs, const Phases& phases)
      : whole_(x, w, y, attrs, Phase(attrs.window.dimensions.size())),
        weights_(w.element_count()),
        zeros_(phases.have_all_places ? 0 : y.element_count()) {
    for (const Phase& phase : phases.phases) kernels_.emplace_back(x, w, y, attrs, phase);
  }

  Status run(std::span<void* const> pointers) const override {
    const auto is_finite = [](T value) { return std::isfinite(value); };
    const std::span weights(static_cast<const T*>(pointers[1]), static_cast<size_t>(weights_));
    if (!std::ranges::all_of(weights, is_finite)) return whole_.run(pointers);
    std::fill_n(static_cast<T*>(pointers[2]), zeros_, T{0});
    for (const ConvolutionKernel<T>& kernel : kernels_)
      HEDDLE_RETURN_IF_ERROR(kernel.run(pointers));
    return {};
  }

 private:
  ConvolutionKernel<T> whole_;
  std::deque<ConvolutionKernel<T>> kernels_;
  int64_t weights_;
  int64_t zeros_;  // elements, before the phases
};

template <class T>
std::unique_ptr<Kernel> make_kernel_of(const Shape& x, const Shape& w, const Shape& y,
                                       const hlo::ConvolutionAttrs& attrs) {
  const std::vector<hlo::WindowDimension>& window = attrs.window.dimensions;
  std::vector<int64_t> places;
  int64_t steps = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    places.push_back(y.dimension(attrs.dim_labels.output_spatial[d]));
    steps *= window[d].base_dilation / std::gcd(window[d].stride, window[d].base_dilation);
  }
  const int64_t rows = y.element_count() / y.dimension(attrs.dim_labels.output_feature);
  const auto is_dilated = [](const hlo::WindowDimension& d) { return d.base_dilation > 1; };
  if (std::ranges::any_of(window, is_dilated) && rows / steps >= kFewestRowsOfPhase)
    return std::make_unique<PhasedConvolution<T>>(x, w, y, attrs, phases_of(window, places));
  return std::make_unique<ConvolutionKernel<T>>(x, w, y, attrs, Phase(window.size()));
}

}  // namespace

std::unique_ptr<Kernel> make_convolution_kernel(const Shape& x, const Shape& w, const Shape& y,
                                                const hlo::ConvolutionAttrs& attrs) {
  return y.dtype() == f64 ? make_kernel_of<double>(x, w, y, attrs)
                          : make_kernel_of<float>(x, w, y, attrs);
}

}  // namespace heddle::cpu
