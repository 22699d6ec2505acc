// What a convolution kernel knows of its arrays before it runs: which elements lie under the window
// at each place, and which of them lie side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/cpu/kernels/convolutions/convolution_phases.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/shape.h"

namespace heddle::cpu {

class ConvolutionShape {
 public:
  static constexpr int64_t kBlockElements = int64_t{1} << 16;  // of a block of rows
  static constexpr int64_t kTileRows = 14;                     // of the widest product kernel

  ConvolutionShape(const Shape& x, const Shape& w, const Shape& y,
                   const hlo::ConvolutionAttrs& attrs, const Phase& phase);

 protected:
  static int64_t total(const std::vector<int64_t>& sizes) {
    int64_t product = 1;
    for (int64_t size : sizes) product *= size;
    return product;
  }
  static int64_t at(const std::vector<int64_t>& list, int64_t i) {
    return list[static_cast<size_t>(i)];
  }

  // Elements that lie one behind the other, in x and in a row.
  struct Run {
    int64_t begin, first, size;  // begin: -1, of taps that fall on none
  };
  // Elements under the taps of one line of the window, which is a run along the last dimension, at
  // one row: begin + inner[tap], or none where either is -1.
  struct Line {
    int64_t begin = -1;
    const int64_t* inner = nullptr;
    int64_t operator[](int64_t tap) const {
      return begin < 0 || inner[tap] < 0 ? -1 : begin + inner[tap];
    }
  };
  // An array by the roles of its dimensions: how many elements apart neighbours are.
  struct Layout {
    int64_t outer = 0;    // batch; of the weights: output features
    int64_t feature = 0;  // of the weights: input features
    std::vector<int64_t> spatial;
  };

  [[nodiscard]] Line line_at(int64_t row, int64_t line) const;
  [[nodiscard]] int64_t offset_in_y(int64_t row) const;
  // What lies under a tap at the places [first, last).
  [[nodiscard]] std::vector<Run> runs_under(int64_t tap, int64_t first, int64_t last) const;

  Layout x_, w_, y_;
  int64_t w_begin_ = 0, y_begin_ = 0;          // of the phase
  std::vector<int64_t> places_, taps_;         // spatial sizes of y and w
  // By spatial dimension: place * pitch + tap.
  std::vector<std::vector<int64_t>> offsets_;
  std::vector<int64_t> pitches_;
  std::vector<int64_t> lines_;                 // by place and tap, but for their last dimension
  int64_t line_places_ = 1, line_taps_ = 1, window_lines_ = 1;
  std::vector<std::vector<Run>> runs_;  // by place of the last dimension
  std::vector<bool> reversed_;
  bool has_holes_ = false;  // a tap may fall on no element
  bool is_dense_ = false;   // under a tap, neighbours of the last dimension are neighbours in x
  int64_t features_ = 0, columns_ = 0;  // of a group
  int64_t feature_groups_ = 1, batch_groups_ = 1, batch_ = 0;
  int64_t depth_ = 0, rows_ = 0, block_ = 0;
  bool by_places_ = false, by_taps_ = false;
  int64_t row_size_ = 0;    // of what a block's rows are filled with
  int64_t row_step_ = -1;   // in y, from one row of a span to the next; -1: it varies
  bool has_rows_ = false;   // a row of sums has all columns; else a row has one column
  int64_t plain_step_ = 0;  // in x, from one row to the next; 0: rows are gathered
  int64_t span_ = 0;        // rows that are multiplied together, in blocks
  // From the weights of an input feature under a tap to those of the next, where these are rows of
  // the columns as they lie; 0: they are gathered.
  int64_t weights_step_ = 0;

 private:
  static Layout layout_of(const Shape& shape, int64_t outer, int64_t feature,
                          const hlo::Dims& spatial);
  [[nodiscard]] bool are_runs(const std::vector<hlo::WindowDimension>& window) const;
  void add_offsets(const hlo::WindowDimension& window, int64_t size, size_t d,
                   const PhaseDimension& phase);
  void find_lines();
  void find_runs();
  // Appends it to the last run where it goes on from there.
  static void append_run(const Run& run, std::vector<Run>& runs);
  void find_plain_rows();
  void find_weights();
};

}  // namespace heddle::cpu
