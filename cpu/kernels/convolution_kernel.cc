// Convolution as products: blocks of rows, each the inputs under the window at one place, times the
// weights. Rows are made a block at a time, so that they stay in the cache.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "heddle/cpu/kernels/convolution_phases.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/matmul.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/walk.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kBlockElements = int64_t{1} << 16;  // of a block of rows
constexpr int64_t kTileRows = 14;                     // of the widest product kernel
constexpr int64_t kFewestRows = 4 * kTileRows;        // of an image by itself
constexpr int64_t kPartsPerThread = 4;
constexpr int64_t kFewestTaps = 64;                     // of a product of its own for each feature
constexpr int64_t kFewestOfThreads = int64_t{1} << 20;  // multiplications, some 20 us

int64_t total(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

int64_t at(const std::vector<int64_t>& list, int64_t i) { return list[static_cast<size_t>(i)]; }

// An array by the roles of its dimensions: how many elements apart neighbours are.
struct Layout {
  int64_t outer = 0;    // batch; of the weights: output features
  int64_t feature = 0;  // of the weights: input features
  std::vector<int64_t> spatial;
};

Layout layout_of(const Shape& shape, int64_t outer, int64_t feature, const hlo::Dims& spatial) {
  const std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  Layout layout{.outer = at(strides, outer), .feature = at(strides, feature), .spatial = {}};
  for (int64_t d : spatial) layout.spatial.push_back(at(strides, d));
  return layout;
}

int64_t count_from(int64_t first, int64_t step, int64_t size) {
  return (size - first + step - 1) / step;
}

template <class T>
class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const Shape& x, const Shape& w, const Shape& y,
                    const hlo::ConvolutionAttrs& attrs, const Phase& phase) {
    const hlo::ConvolutionDims& dims = attrs.dim_labels;
    x_ = layout_of(x, dims.input_batch, dims.input_feature, dims.input_spatial);
    w_ = layout_of(w, dims.kernel_output_feature, dims.kernel_input_feature, dims.kernel_spatial);
    y_ = layout_of(y, dims.output_batch, dims.output_feature, dims.output_spatial);
    features_ = w.dimension(dims.kernel_input_feature);
    feature_groups_ = attrs.feature_group_count;
    batch_groups_ = attrs.batch_group_count;
    batch_ = x.dimension(dims.input_batch) / batch_groups_;
    columns_ = w.dimension(dims.kernel_output_feature) / (feature_groups_ * batch_groups_);
    for (size_t d = 0; d < dims.output_spatial.size(); ++d) {
      const int64_t taps = w.dimension(dims.kernel_spatial[d]);
      const PhaseDimension& p = phase[d];
      places_.push_back(count_from(p.place, p.place_step, y.dimension(dims.output_spatial[d])));
      taps_.push_back(count_from(p.tap, p.tap_step, taps));
      add_offsets(attrs.window.dimensions[d], x.dimension(dims.input_spatial[d]), d, p);
      const int64_t last_tap = p.tap + (taps_[d] - 1) * p.tap_step;
      w_begin_ += (reversed_[d] ? taps - 1 - last_tap : p.tap) * w_.spatial[d];
      w_.spatial[d] *= p.tap_step;
      y_begin_ += p.place * y_.spatial[d];
      y_.spatial[d] *= p.place_step;
    }
    if (places_.empty()) {  // a point of each
      places_ = taps_ = {1};
      offsets_ = {{0}};
      reversed_ = {false};
      w_.spatial = {0};
      y_.spatial = {y_.outer};
    }
    find_lines();
    if (x_.feature == 1) find_runs();
    depth_ = total(taps_) * features_;
    rows_ = batch_ * total(places_);
    const int64_t image_rows = rows_ / batch_;
    row_step_ = y_.spatial.back();
    int64_t step = row_step_;
    for (size_t d = places_.size(); d-- > 0; step *= places_[d])
      if (y_.spatial[d] != step) row_step_ = -1;
    span_ = rows_;
    if (y_.outer != step && row_step_ > 0) {
      image_rows >= kFewestRows ? span_ = image_rows : row_step_ = -1;
    }
    by_taps_ = x_.feature != 1 && line_places_ < line_taps_ && total(taps_) >= kFewestTaps &&
               are_runs(attrs.window.dimensions);
    if (by_taps_) {
      span_ = rows_;
      row_step_ = -1;
    }
    row_size_ = by_taps_ ? total(taps_) : depth_;
    block_ = std::max(kTileRows, kBlockElements / row_size_ / kTileRows * kTileRows);
    block_ = std::min(block_, span_);
    find_plain_rows();
    has_rows_ = row_step_ > 1 || (y_.feature == 1 && !by_taps_);
  }

  Status run(std::span<void* const> pointers) const override {
    const auto* x = static_cast<const T*>(pointers[0]);
    const auto* w = static_cast<const T*>(pointers[1]);
    auto* y = static_cast<T*>(pointers[2]);
    const int64_t in_span = (span_ + block_ - 1) / block_, blocks = rows_ / span_ * in_span;
    const int64_t work = rows_ * depth_ * columns_;
    const int64_t parts =
        work < kFewestOfThreads ? 1 : std::min<int64_t>(blocks, kPartsPerThread * thread_count());
    std::vector<T> weights(by_taps_ ? 0 : static_cast<size_t>(depth_ * columns_));
    const size_t packed_size = has_rows_ ? MatmulOf<T>::packed_size(depth_, columns_) : 0;
    std::vector<std::byte> packed(packed_size + 64);
    auto* aligned =
        reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(packed.data()) + 63) / 64 * 64);
    const size_t scratch_size = static_cast<size_t>(block_ * (row_size_ + columns_));
    const auto scratch =
        std::make_unique_for_overwrite<T[]>(scratch_size * static_cast<size_t>(parts));
    for (int64_t g = 0; g < feature_groups_ * batch_groups_; ++g) {
      const T* from = x + (feature_groups_ > 1 ? g * features_ * x_.feature : 0) +
                      (batch_groups_ > 1 ? g * batch_ * x_.outer : 0);
      T* to = y + y_begin_ + g * columns_ * y_.feature;
      const T* own = w + w_begin_ + g * columns_ * w_.outer;
      if (!by_taps_) gather_weights(own, weights.data());
      if (has_rows_) pack(weights.data(), aligned);
      const auto part = [&](int64_t number) {
        T* mine = scratch.get() + static_cast<size_t>(number) * scratch_size;
        for (int64_t b = blocks * number / parts; b < blocks * (number + 1) / parts; ++b) {
          const int64_t begin = b % in_span * block_, span = b / in_span * span_;
          const int64_t first = span + begin, last = span + std::min(span_, begin + block_);
          by_taps_ ? multiply_by_taps(from, own, first, last, mine, to)
                   : multiply(from, {weights.data(), aligned}, first, last, mine, to);
        }
      };
      parts == 1 ? part(0) : parallel(parts, part);
    }
    return {};
  }

 private:
  void pack(const T* weights, std::byte* packed) const {
    MatmulOf<T>::pack_b({.a = nullptr,
                         .b = weights,
                         .c = nullptr,
                         .m = rows_,
                         .n = columns_,
                         .k = depth_,
                         .a_row = 0,
                         .a_col = 0,
                         .b_row = columns_,
                         .b_col = 1,
                         .c_row = 0,
                         .c_col = 0,
                         .accumulate = false},
                        packed);
  }

  // Under neighbouring taps of a line of the window lie neighbours, and the weights of one feature
  // are a run.
  [[nodiscard]] bool are_runs(const std::vector<hlo::WindowDimension>& window) const {
    if (window.empty() || window.back().window_dilation != 1 || window.back().base_dilation != 1 ||
        x_.spatial.back() != 1)
      return false;
    for (size_t d = 0; d < taps_.size(); ++d) {
      if (window[d].window_reversal) return false;
      if (d > 0 && w_.spatial[d - 1] != w_.spatial[d] * taps_[d]) return false;
    }
    return true;
  }

  // Where the element under a tap at a place lies, along one dimension; -1: on none.
  void add_offsets(const hlo::WindowDimension& window, int64_t size, size_t d,
                   const PhaseDimension& phase) {
    std::vector<int64_t>& offsets = offsets_.emplace_back();
    for (int64_t place = 0; place < places_[d]; ++place) {
      for (int64_t tap = 0; tap < taps_[d]; ++tap) {
        const int64_t spread = (phase.place + place * phase.place_step) * window.stride +
                               (phase.tap + tap * phase.tap_step) * window.window_dilation -
                               window.padding_low;
        const int64_t element = spread / window.base_dilation;
        const bool is_there = spread >= 0 && spread % window.base_dilation == 0 && element < size;
        offsets.push_back(is_there ? element * x_.spatial[d] : -1);
        has_holes_ = has_holes_ || !is_there;
      }
    }
    reversed_.push_back(window.window_reversal);
    is_dense_ = x_.spatial[d] == 1 && window.stride * phase.place_step == window.base_dilation;
  }

  // The offsets of all dimensions but the last, summed.
  void find_lines() {
    line_places_ = places_.back();
    line_taps_ = taps_.back();
    window_lines_ = total(taps_) / line_taps_;
    for (Walk place(places_);
         static_cast<int64_t>(lines_.size()) < total(places_) / line_places_ * window_lines_;
         place.next_line()) {
      Walk tap(taps_);
      for (int64_t l = 0; l < window_lines_; ++l, tap.next_line()) {
        int64_t sum = 0;
        for (size_t d = 0; d + 1 < taps_.size() && sum >= 0; ++d) {
          const int64_t offset = at(offsets_[d], place[d] * taps_[d] + tap[d]);
          sum = offset < 0 ? -1 : sum + offset;
        }
        lines_.push_back(sum);
      }
    }
  }

  void find_runs() {
    for (int64_t place = 0; place < line_places_; ++place) {
      std::vector<Run>& runs = runs_.emplace_back();
      for (int64_t tap = 0; tap < line_taps_; ++tap) {
        const int64_t begin = at(offsets_.back(), place * line_taps_ + tap);
        if (!runs.empty() &&
            begin == (runs.back().begin < 0 ? -1 : runs.back().begin + runs.back().size)) {
          runs.back().size += features_;
        } else {
          runs.push_back({begin, tap * features_, features_});
        }
      }
    }
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

  // Elements under the taps of one line of the window, which is a run along the last dimension, at
  // one row: begin + inner[tap], or none where either is -1.
  struct Line {
    int64_t begin = -1;
    const int64_t* inner = nullptr;
    int64_t operator[](int64_t tap) const {
      return begin < 0 || inner[tap] < 0 ? -1 : begin + inner[tap];
    }
  };
  Line line_at(int64_t row, int64_t line) const {
    const int64_t place = row % (rows_ / batch_), outer = place / line_places_;
    return {.begin = at(lines_, outer * window_lines_ + line),
            .inner = offsets_.back().data() + place % line_places_ * line_taps_};
  }
  const T* image(const T* x, int64_t row) const { return x + row / (rows_ / batch_) * x_.outer; }

  // Taps of a line of the window whose elements lie one behind the other, in x and in a row.
  struct Run {
    int64_t begin, first, size;  // begin: -1, of taps that fall on none
  };

  // With one tap, rows may be those of x, the same number of elements apart.
  void find_plain_rows() {
    const int64_t places = rows_ / batch_, first = lines_[0] + offsets_.back()[0];
    if (total(taps_) != 1 || has_holes_) return;
    const int64_t step = places == 1         ? x_.outer
                         : line_places_ == 1 ? lines_[1] - lines_[0]
                                             : offsets_.back()[1] - offsets_.back()[0];
    if (x_.outer != places * step && span_ != places && batch_ > 1) return;
    for (int64_t place = 0; place < places; ++place) {
      const int64_t line = place / line_places_, inner = place % line_places_;
      if (at(lines_, line) + at(offsets_.back(), inner) != first + place * step) return;
    }
    plain_step_ = step;
  }

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
    const auto is_hole = [&](int64_t i) { return inner[i * line_taps_] < 0; };
    if (!is_dense_) {
      for (int64_t i = 0; i < count; ++i) out[i] = is_hole(i) ? T{0} : from[inner[i * line_taps_]];
      return;
    }
    int64_t begin = 0, end = count;
    while (begin < end && is_hole(begin)) out[begin++] = 0;
    while (end > begin && is_hole(end - 1)) out[--end] = 0;
    if (begin < end) std::copy_n(from + inner[begin * line_taps_], end - begin, out + begin);
  }

  int64_t offset_in_y(int64_t row) const {
    const int64_t places = rows_ / batch_;
    int64_t offset = row / places * y_.outer, place = row % places;
    for (size_t d = places_.size(); d-- > 0; place /= places_[d])
      offset += place % places_[d] * y_.spatial[d];
    return offset;
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
                                   .b = nullptr,
                                   .c = sums,
                                   .m = rows,
                                   .n = columns_,
                                   .k = depth_,
                                   .a_row = row,
                                   .a_col = column,
                                   .b_row = 0,
                                   .b_col = 0,
                                   .c_row = row_step_ > 0 ? row_step_ : columns_,
                                   .c_col = row_step_ > 0 ? y_.feature : 1,
                                   .accumulate = false},
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
                          .a_col = columns_,
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

  Layout x_, w_, y_;
  int64_t w_begin_ = 0, y_begin_ = 0;          // of the phase
  std::vector<int64_t> places_, taps_;         // spatial sizes of y and w
  std::vector<std::vector<int64_t>> offsets_;  // by spatial dimension, place and tap
  std::vector<int64_t> lines_;                 // by place and tap, but for their last dimension
  int64_t line_places_ = 1, line_taps_ = 1, window_lines_ = 1;
  std::vector<std::vector<Run>> runs_;  // by place of the last dimension
  std::vector<bool> reversed_;
  bool has_holes_ = false;  // a tap may fall on no element
  bool is_dense_ = false;   // under a tap, neighbours of the last dimension are neighbours in x
  int64_t features_ = 0, columns_ = 0;  // of a group
  int64_t feature_groups_ = 1, batch_groups_ = 1, batch_ = 0;
  int64_t depth_ = 0, rows_ = 0, block_ = 0;
  bool by_taps_ = false;
  int64_t row_size_ = 0;   // of what a block's rows are filled with
  int64_t row_step_ = -1;  // in y, from one row of a span to the next; -1: it varies
  bool has_rows_ = false;  // a row of sums has all columns; else a row has one column
  int64_t plain_step_ = 0;  // in x, from one row to the next; 0: rows are gathered
  int64_t span_ = 0;       // rows that are multiplied together, in blocks
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
  if (std::ranges::any_of(window, is_dilated) && rows / steps >= kTileRows)
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
