#include "heddle/cpu/rewrites/products/few_features.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ConvolutionAttrs;
using hlo::WindowDimension;

// Of 12 features the loops over places are faster (by 1.2), and of 8 from 8 too.
constexpr int64_t kMostGiven = 8, kFewestTaken = 8, kMostTaps = 64;
constexpr int64_t kFewestResults = 256;              // of each feature
constexpr int64_t kMostInMemory = int64_t{1} << 21;  // elements that lie in memory

class TapProducts {
 public:
  TapProducts(const ConvolutionAttrs& attrs, const Shape& x, const Shape& w, const Shape& y)
      : attrs_(attrs), x_(x), w_(w), y_(y) {}

  [[nodiscard]] bool gains() const {
    const bool is_plain = std::ranges::all_of(window(), [](const WindowDimension& d) {
      return d.stride == 1 && d.base_dilation == 1 && d.padding_low >= 0 && d.padding_high >= 0;
    });
    return is_plain && attrs_.feature_group_count == 1 && attrs_.batch_group_count == 1 &&
           features() <= kMostGiven && summed() >= kFewestTaken && summed() > features() &&
           taps() > 1 && taps() <= kMostTaps && y_.element_count() >= kFewestResults * features() &&
           places() * taps() * features() <= kMostInMemory;
  }

  hlo::Value write(const hlo::Value& x, const hlo::Value& w) const {
    const hlo::Value products = multiplied(x, w);
    hlo::Value sum;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const hlo::Value term = shifted(products, tap);
      sum = sum ? sum + term : term;
    }
    return transpose(sum, order_of_result());
  }

 private:
  [[nodiscard]] const std::vector<WindowDimension>& window() const {
    return attrs_.window.dimensions;
  }
  [[nodiscard]] const hlo::ConvolutionDims& labels() const { return attrs_.dim_labels; }
  [[nodiscard]] int64_t features() const { return w_.dimension(labels().kernel_output_feature); }
  [[nodiscard]] int64_t summed() const { return w_.dimension(labels().kernel_input_feature); }
  [[nodiscard]] int64_t taps() const {
    int64_t taps = 1;
    for (const WindowDimension& d : window()) taps *= d.size;
    return taps;
  }
  // Of padded x, batch too.
  [[nodiscard]] int64_t places() const {
    int64_t places = x_.dimension(labels().input_batch);
    for (size_t d = 0; d < window().size(); ++d)
      places *= x_.dimension(labels().input_spatial[d]) + window()[d].padding_low +
                window()[d].padding_high;
    return places;
  }
  // Of a dimension of x, behind that of the output features where its own features are left out.
  [[nodiscard]] int64_t place_of(int64_t dimension) const {
    return 1 + dimension - (dimension > labels().input_feature ? 1 : 0);
  }

  // [tap, feature, dimensions of padded x without features].
  [[nodiscard]] hlo::Value multiplied(const hlo::Value& x, const hlo::Value& w) const {
    std::vector<hlo::PadDimension> padding(static_cast<size_t>(x.rank()));
    for (size_t d = 0; d < window().size(); ++d) {
      padding[static_cast<size_t>(labels().input_spatial[d])] = {.low = window()[d].padding_low,
                                                                 .high = window()[d].padding_high};
    }
    Dims order = labels().kernel_spatial;
    order.insert(order.end(), {labels().kernel_output_feature, labels().kernel_input_feature});
    const hlo::Value weights = reshape(transpose(w, order), {taps() * features(), summed()});
    hlo::DotAttrs dims;
    dims.lhs_contracting_dims = {1};
    dims.rhs_contracting_dims = {labels().input_feature};
    const hlo::Value products = dot(weights, pad(x, padding), dims, y_.dtype());
    Dims sizes = products.sizes();
    sizes[0] = features();
    sizes.insert(sizes.begin(), taps());
    return reshape(products, sizes);
  }

  // What a tap adds to [feature, dimensions of the result in the order of x].
  [[nodiscard]] hlo::Value shifted(const hlo::Value& products, int64_t tap) const {
    std::vector<hlo::SliceDimension> slices;
    for (const int64_t size : products.sizes()) slices.push_back({.start = 0, .limit = size});
    slices[0] = {.start = tap, .limit = tap + 1};
    int64_t rest = tap;
    for (size_t d = window().size(); d-- > 0; rest /= window()[d].size) {
      const int64_t at = rest % window()[d].size;
      const int64_t start = (window()[d].window_reversal ? window()[d].size - 1 - at : at) *
                            window()[d].window_dilation;
      slices[static_cast<size_t>(1 + place_of(labels().input_spatial[d]))] = {
          .start = start, .limit = start + y_.dimension(labels().output_spatial[d])};
    }
    return drop_dimension(slice(products, slices), 0);
  }

  // Where the dimensions of the result lie in a sum.
  [[nodiscard]] Dims order_of_result() const {
    Dims order(static_cast<size_t>(y_.rank()));
    order[static_cast<size_t>(labels().output_feature)] = 0;
    order[static_cast<size_t>(labels().output_batch)] = place_of(labels().input_batch);
    for (size_t d = 0; d < window().size(); ++d)
      order[static_cast<size_t>(labels().output_spatial[d])] = place_of(labels().input_spatial[d]);
    return order;
  }

  const ConvolutionAttrs& attrs_;
  const Shape &x_, &w_, &y_;
};

hlo::Value by_taps(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kConvolution) return {};
  const Shape &x = to.from().at(old.operands[0]).shape, &w = to.from().at(old.operands[1]).shape;
  const DType dtype = old.shape.dtype();
  if ((dtype != f32 && dtype != f64) || x.dtype() != dtype || w.dtype() != dtype) return {};
  const TapProducts products(old.attrs.get<ConvolutionAttrs>(), x, w, old.shape);
  if (!products.gains()) return {};
  to.in_place_of(id);
  return products.write(to.operands(id)[0], to.operands(id)[1]);
}

}  // namespace

StatusOr<hlo::Module> multiply_taps(const hlo::Module& module) {
  return transform::with_rewritten(module, by_taps);
}

}  // namespace heddle::cpu
