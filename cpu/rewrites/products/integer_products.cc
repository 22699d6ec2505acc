#include "heddle/cpu/rewrites/products/integer_products.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionAttrs;

constexpr int64_t kMostShifted = 32;  // arrays that are added
// Products of two halves of 16 bits: an f64 holds the sum of so many pairs.
constexpr int64_t kMostSummed = 1 << 20;

bool is_short_integer(DType dtype) { return is_integer(dtype) && bit_width(dtype) <= 32; }

// A convolution and its shapes.
struct Convolution {
  const ConvolutionAttrs& attrs;
  const Shape &x, &w, &y;

  [[nodiscard]] int64_t inputs() const {
    return w.dimension(attrs.dim_labels.kernel_input_feature);
  }
  [[nodiscard]] int64_t points() const {
    int64_t points = 1;
    for (const hlo::WindowDimension& d : attrs.window.dimensions) points *= d.size;
    return points;
  }
};

// The sum of shifted arrays.
class ShiftedSum {
 public:
  ShiftedSum(const Convolution& of, const hlo::Value& x, const hlo::Value& w)
      : of_(of), labels_(of.attrs.dim_labels), window_(of.attrs.window.dimensions), w_(w) {
    std::vector<hlo::PadDimension> padding(static_cast<size_t>(x.rank()));
    for (size_t d = 0; d < window_.size(); ++d) {
      padding[static_cast<size_t>(labels_.input_spatial[d])] = {
          .low = window_[d].padding_low,
          .high = window_[d].padding_high,
          .interior = window_[d].base_dilation - 1};
    }
    x_ = pad(x, padding);
  }

  hlo::Value run() {
    hlo::Value sum;
    std::vector<int64_t> tap(window_.size(), 0);
    for (int64_t point = 0; point < of_.points(); ++point) {
      int64_t rest = point;
      for (size_t d = window_.size(); d-- > 0; rest /= window_[d].size)
        tap[d] = rest % window_[d].size;
      for (int64_t i = 0; i < of_.inputs(); ++i) {
        const hlo::Value term = shifted(tap, i) * factors(tap, i);
        sum = sum ? sum + term : term;
      }
    }
    return sum;
  }

 private:
  // Input feature i at a point of the window, for all results.
  hlo::Value shifted(const std::vector<int64_t>& tap, int64_t i) {
    std::vector<hlo::SliceDimension> slices(static_cast<size_t>(x_.rank()));
    slices[static_cast<size_t>(labels_.input_batch)] = {
        .start = 0, .limit = x_.shape().dimension(labels_.input_batch)};
    slices[static_cast<size_t>(labels_.input_feature)] = {.start = i, .limit = i + 1};
    for (size_t d = 0; d < window_.size(); ++d) {
      const int64_t start = tap[d] * window_[d].window_dilation;
      const int64_t count = of_.y.dimension(labels_.output_spatial[d]);
      slices[static_cast<size_t>(labels_.input_spatial[d])] = {
          .start = start,
          .limit = start + (count - 1) * window_[d].stride + 1,
          .stride = window_[d].stride};
    }
    // Without the feature, in the order of the result.
    std::vector<std::pair<int64_t, int64_t>> places;  // in x, in y
    places.emplace_back(labels_.input_batch, labels_.output_batch);
    for (size_t d = 0; d < window_.size(); ++d)
      places.emplace_back(labels_.input_spatial[d], labels_.output_spatial[d]);
    std::ranges::sort(places);
    Dims to;
    for (const auto& place : places) to.push_back(place.second);
    const hlo::Value rows = drop_dimension(slice(x_, slices), labels_.input_feature);
    return broadcast_in_any_order(rows, to);
  }

  // What the feature is multiplied by, for each output feature.
  hlo::Value factors(const std::vector<int64_t>& tap, int64_t i) {
    std::vector<hlo::SliceDimension> slices(static_cast<size_t>(w_.rank()));
    slices[static_cast<size_t>(labels_.kernel_input_feature)] = {.start = i, .limit = i + 1};
    const int64_t outputs = w_.shape().dimension(labels_.kernel_output_feature);
    slices[static_cast<size_t>(labels_.kernel_output_feature)] = {.start = 0, .limit = outputs};
    for (size_t d = 0; d < window_.size(); ++d) {
      const int64_t at = window_[d].window_reversal ? window_[d].size - 1 - tap[d] : tap[d];
      slices[static_cast<size_t>(labels_.kernel_spatial[d])] = {.start = at, .limit = at + 1};
    }
    return broadcast(reshape(slice(w_, slices), {outputs}), of_.y.dimensions(),
                     {labels_.output_feature});
  }

  // Dimension d of x is dimension to[d] of the result.
  hlo::Value broadcast_in_any_order(const hlo::Value& x, const Dims& to) {
    Dims order(to.size()), sorted = to;
    std::ranges::sort(sorted);
    for (size_t d = 0; d < to.size(); ++d) order[d] = std::ranges::find(to, sorted[d]) - to.begin();
    return broadcast(transpose(x, order), of_.y.dimensions(), sorted);
  }

  const Convolution& of_;
  const hlo::ConvolutionDims& labels_;
  const std::vector<hlo::WindowDimension>& window_;
  hlo::Value x_, w_;
};

// Floats that hold the sums of a convolution of integers.
class FloatConvolution {
 public:
  FloatConvolution(hlo::Graph& graph, const Convolution& of) : graph_(graph), of_(of) {}

  hlo::Value run(const hlo::Value& x, const hlo::Value& w) {
    const double most = std::exp2(bit_width(x.dtype()) + bit_width(w.dtype())) *
                        static_cast<double>(of_.points() * of_.inputs());
    if (most <= 0x1p24) return rounded(product(convert(x, f32), convert(w, f32)));
    if (most <= 0x1p53) return rounded(product(convert(x, f64), convert(w, f64)));
    // Results wrap at 32 bits, which drops the product of the high halves.
    const auto [x_low, x_high] = halves(x);
    const auto [w_low, w_high] = halves(w);
    const hlo::Value cross = product(x_low, w_high) + product(x_high, w_low);
    return rounded(product(x_low, w_low)) + (rounded(cross) << rounded(cross).number(16));
  }

 private:
  // x = low + 2^16 high.
  static std::pair<hlo::Value, hlo::Value> halves(const hlo::Value& x) {
    const hlo::Value wide = convert(x, s32);
    return {convert(wide & wide.number(0xffff), f64), convert(wide >> wide.number(16), f64)};
  }

  hlo::Value product(const hlo::Value& x, const hlo::Value& w) {
    const Shape shape = of_.y.with_dtype(x.dtype());
    return graph_.op(Opcode::kConvolution, {x, w}, of_.attrs, {}, &shape);
  }

  // Whole numbers, but for multiples of 2^32.
  [[nodiscard]] hlo::Value rounded(const hlo::Value& x) const {
    return convert(convert(x, x.dtype() == f32 ? s32 : s64), of_.y.dtype());
  }

  hlo::Graph& graph_;
  const Convolution& of_;
};

// The type that sums are computed in. A byte holds an s4 or u4, and does not wrap as they do.
DType summed_as(DType dtype) { return is_integer(dtype) && bit_width(dtype) < 8 ? s32 : dtype; }

hlo::Value convolved(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  const auto& attrs = old.attrs.get<ConvolutionAttrs>();
  const hlo::Values operands = to.operands(id);
  const Shape result = old.shape.with_dtype(summed_as(old.shape.dtype()));
  const Convolution of{attrs, operands[0].shape(), operands[1].shape(), result};
  if (!is_short_integer(of.x.dtype()) || !is_short_integer(of.w.dtype()) ||
      !is_short_integer(of.y.dtype()) || attrs.feature_group_count != 1 ||
      attrs.batch_group_count != 1 || of.y.element_count() == 0 || of.points() * of.inputs() == 0)
    return {};
  if (of.points() * of.inputs() > kMostSummed) return {};
  hlo::Graph& graph = to.in_place_of(id);
  const DType dtype = of.y.dtype();
  const hlo::Value sum =
      of.points() * of.inputs() <= kMostShifted
          ? ShiftedSum(of, convert(operands[0], dtype), convert(operands[1], dtype)).run()
          : FloatConvolution(graph, of).run(operands[0], operands[1]);
  return convert(sum, old.shape.dtype());
}

hlo::Value dot_of_few_bits(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  const hlo::Values operands = to.operands(id);
  const auto& attrs = old.attrs.get<hlo::DotAttrs>();
  hlo::Graph& graph = to.in_place_of(id);
  const auto dot = [&](DType type_of_operands, DType type) {
    const Shape shape = old.shape.with_dtype(type);
    const hlo::Value x = convert(operands[0], type_of_operands),
                     y = convert(operands[1], type_of_operands);
    return graph.op(Opcode::kDot, {x, y}, attrs, {}, &shape);
  };
  const DType dtype = old.shape.dtype();
  if (summed_as(dtype) != dtype) return convert(dot(s32, s32), dtype);
  // The sum of numbers that are not negative is 0 where all are.
  const bool is_of_truths =
      dtype == pred && operands[0].dtype() == pred && operands[1].dtype() == pred;
  return is_of_truths ? dot(f32, f32) != 0 : hlo::Value();
}

}  // namespace

StatusOr<hlo::Module> expand_integer_products(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
                                     switch (to.old(id).opcode) {
                                       case Opcode::kConvolution: return convolved(to, id);
                                       case Opcode::kDot: return dot_of_few_bits(to, id);
                                       default: return {};
                                     }
                                   });
}

}  // namespace heddle::cpu
