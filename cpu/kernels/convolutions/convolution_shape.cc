#include "heddle/cpu/kernels/convolutions/convolution_shape.h"

#include <algorithm>

#include "heddle/cpu/kernels/walk.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestRows = 4 * ConvolutionShape::kTileRows;  // of an image by itself
constexpr int64_t kFewestTaps = 64;  // of a product of its own for each feature
constexpr int64_t kMostPlaces = 64;  // side by side in rows of all places

int64_t count_from(int64_t first, int64_t step, int64_t size) {
  return (size - first + step - 1) / step;
}

}  // namespace

ConvolutionShape::Layout ConvolutionShape::layout_of(const Shape& shape, int64_t outer,
                                                     int64_t feature, const hlo::Dims& spatial) {
  const std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  Layout layout{.outer = at(strides, outer), .feature = at(strides, feature), .spatial = {}};
  for (int64_t d : spatial) layout.spatial.push_back(at(strides, d));
  return layout;
}

ConvolutionShape::ConvolutionShape(const Shape& x, const Shape& w, const Shape& y,
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
    pitches_ = {1};
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
  by_places_ = !by_taps_ && x_.outer == 1 && x_.feature != 1 && total(places_) <= kMostPlaces &&
               depth_ >= kFewestTaps && rows_ <= kBlockElements;
  if (by_taps_) {
    span_ = rows_;
    row_step_ = -1;
  }
  row_size_ = by_taps_ ? total(taps_) : depth_;
  block_ = std::max(kTileRows, kBlockElements / row_size_ / kTileRows * kTileRows);
  block_ = std::min(block_, span_);
  if (!by_places_) find_plain_rows();
  has_rows_ = row_step_ > 1 || (y_.feature == 1 && !by_taps_);
  find_weights();
}

void ConvolutionShape::find_weights() {
  if (w_.outer != 1) return;
  int64_t step = 0, count = 1;
  const auto follows = [&](int64_t size, int64_t stride) {
    if (size == 1) return true;
    if (step == 0) step = stride;
    if (stride != step * count) return false;
    count *= size;
    return true;
  };
  if (!follows(features_, w_.feature)) return;
  for (size_t d = taps_.size(); d-- > 0;) {
    if (!follows(taps_[d], reversed_[d] ? -w_.spatial[d] : w_.spatial[d])) return;
  }
  weights_step_ = step == 0 ? columns_ : step;
}

// Under neighbouring taps of a line of the window lie neighbours, and the weights of one feature
// are a run.
bool ConvolutionShape::are_runs(const std::vector<hlo::WindowDimension>& window) const {
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
void ConvolutionShape::add_offsets(const hlo::WindowDimension& window, int64_t size, size_t d,
                                   const PhaseDimension& phase) {
  std::vector<int64_t>& offsets = offsets_.emplace_back();
  // One place further is one tap further: the table has a row for each place, less all but its
  // first element.
  const bool is_one_row =
      phase.place_step * window.stride == phase.tap_step * window.window_dilation;
  pitches_.push_back(is_one_row ? 1 : taps_[d]);
  for (int64_t place = 0; place < places_[d]; ++place) {
    const bool has_whole_row = !is_one_row || place + 1 == places_[d];
    for (int64_t tap = 0; tap < (has_whole_row ? taps_[d] : 1); ++tap) {
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
void ConvolutionShape::find_lines() {
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
        const int64_t offset = at(offsets_[d], place[d] * pitches_[d] + tap[d]);
        sum = offset < 0 ? -1 : sum + offset;
      }
      lines_.push_back(sum);
    }
  }
}

void ConvolutionShape::append_run(const Run& run, std::vector<Run>& runs) {
  if (!runs.empty() &&
      run.begin == (runs.back().begin < 0 ? -1 : runs.back().begin + runs.back().size)) {
    runs.back().size += run.size;
  } else {
    runs.push_back(run);
  }
}

void ConvolutionShape::find_runs() {
  for (int64_t place = 0; place < line_places_; ++place) {
    std::vector<Run>& runs = runs_.emplace_back();
    for (int64_t tap = 0; tap < line_taps_; ++tap) {
      const int64_t begin = at(offsets_.back(), place * pitches_.back() + tap);
      append_run({begin, tap * features_, features_}, runs);
    }
  }
}

ConvolutionShape::Line ConvolutionShape::line_at(int64_t row, int64_t line) const {
  const int64_t place = row % (rows_ / batch_), outer = place / line_places_;
  return {.begin = at(lines_, outer * window_lines_ + line),
          .inner = offsets_.back().data() + place % line_places_ * pitches_.back()};
}
int64_t ConvolutionShape::offset_in_y(int64_t row) const {
  const int64_t places = rows_ / batch_;
  int64_t offset = row / places * y_.outer, place = row % places;
  for (size_t d = places_.size(); d-- > 0; place /= places_[d])
    offset += place % places_[d] * y_.spatial[d];
  return offset;
}

std::vector<ConvolutionShape::Run> ConvolutionShape::runs_under(int64_t tap, int64_t first,
                                                                int64_t last) const {
  std::vector<Run> runs;
  for (int64_t place = first; place < last; ++place) {
    const int64_t line = at(lines_, place / line_places_ * window_lines_ + tap / line_taps_);
    const int64_t inner =
        at(offsets_.back(), place % line_places_ * pitches_.back() + tap % line_taps_);
    const int64_t begin = line < 0 || inner < 0 ? -1 : line + inner;
    append_run({begin, (place - first) * batch_, batch_}, runs);
  }
  return runs;
}

// With one tap, rows may be those of x, the same number of elements apart.
void ConvolutionShape::find_plain_rows() {
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

}  // namespace heddle::cpu
