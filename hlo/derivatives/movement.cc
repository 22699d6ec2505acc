// Derivatives of ops that move elements: they are linear, and their transposes move back.
#include <algorithm>

#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

// Sums what was repeated. The dimensions that stay come in the order of the result's.
Value from_broadcast(const Value& ct, const Dims& dimensions) {
  const Value sum = reduce_sum(ct, other_dimensions(ct.rank(), dimensions));
  Dims permutation;
  for (int64_t d : dimensions) {
    permutation.push_back(
        std::ranges::count_if(dimensions, [&](int64_t other) { return other < d; }));
  }
  return transpose(sum, permutation);
}

Value from_slice(const Value& ct, const std::vector<SliceDimension>& slice, const Shape& shape) {
  std::vector<PadDimension> padding;
  for (int64_t d = 0; d < ct.rank(); ++d) {
    const auto& [start, limit, stride] = slice[static_cast<size_t>(d)];
    const int64_t spread = ct.size(d) == 0 ? 0 : (ct.size(d) - 1) * stride + 1;
    padding.push_back(
        {.low = start, .high = shape.dimension(d) - start - spread, .interior = stride - 1});
  }
  return pad(ct, padding);
}

Values from_pad(const TransposeArgs& t) {
  const Value& ct = t.ct[0];
  std::vector<PadDimension> crop;
  std::vector<SliceDimension> strided;
  const auto& padding = t.attrs<PadAttrs>().padding;
  for (size_t d = 0; d < padding.size(); ++d) {
    crop.push_back({.low = -padding[d].low, .high = -padding[d].high});
    const int64_t size = ct.sizes()[d] - padding[d].low - padding[d].high;
    strided.push_back({.limit = size, .stride = padding[d].interior + 1});
  }
  const Value part = slice(pad(ct, crop), strided);
  return {part, t.is_linear(1) ? sum_all(ct) - sum_all(part) : Value()};
}

Values from_concatenate(const TransposeArgs& t) {
  const int64_t dimension = t.attrs<DimensionsAttrs>().dimensions[0];
  Values out;
  int64_t start = 0;
  for (const Shape* shape : t.shapes) {
    const int64_t size = shape->dimension(dimension);
    out.push_back(slice(t.ct[0], dimension, start, size));
    start += size;
  }
  return out;
}

}  // namespace

StatusOr<Values> jvp_linear(const JvpArgs& d) {
  Values operands;
  for (size_t i = 0; i < d.x.size(); ++i)
    operands.push_back(has_tangent(d.x[i].shape()) ? d.full_dx(i) : d.x[i]);
  return Values{d.again(operands)};
}

StatusOr<Values> transpose_movement(const TransposeArgs& t) {
  const Value& ct = t.ct[0];
  switch (t.of.opcode) {
    case Opcode::kBroadcast:
      return Values{from_broadcast(ct, t.attrs<DimensionsAttrs>().dimensions)};
    case Opcode::kReshape: return Values{reshape(ct, t.shape(0).dimensions())};
    case Opcode::kTranspose:
      return Values{transpose(ct, inverse_permutation(t.attrs<DimensionsAttrs>().dimensions))};
    case Opcode::kReverse: return Values{reverse(ct, t.attrs<DimensionsAttrs>().dimensions)};
    case Opcode::kSlice: return Values{from_slice(ct, t.attrs<SliceAttrs>().slice, t.shape(0))};
    case Opcode::kPad: return from_pad(t);
    case Opcode::kConcatenate: return from_concatenate(t);
    default: return Values(t.x.size());
  }
}

StatusOr<Values> transpose_dynamic(const TransposeArgs& t) {
  const Value& ct = t.ct[0];
  Values out(t.x.size());
  if (t.of.opcode == Opcode::kDynamicSlice) {
    const Values starts(t.x.begin() + 1, t.x.end());
    out[0] = dynamic_update_slice(t.graph.zeros(t.shape(0)), ct, starts);
    return out;
  }
  const Values starts(t.x.begin() + 2, t.x.end());
  const Shape& part = t.shape(1);
  if (t.is_linear(0)) out[0] = dynamic_update_slice(ct, t.graph.zeros(part), starts);
  if (t.is_linear(1)) out[1] = dynamic_slice(ct, starts, part.dimensions());
  return out;
}

}  // namespace heddle::hlo
