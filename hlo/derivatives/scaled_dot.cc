// The derivative of scaled-dot: products of x and y times their scales, in the result's type.
#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

// A scale as an array of x's sizes: each of its elements is for a block.
Value in_blocks(const Value& scale, const Dims& sizes, DType dtype) {
  const Value wide = convert(scale, dtype);
  if (wide.rank() == 0) return broadcast(wide, sizes, {});
  Dims blocks, kept;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t count = wide.size(static_cast<int64_t>(d));
    kept.push_back(static_cast<int64_t>(blocks.size()));
    blocks.push_back(count);
    blocks.push_back(count == 0 ? 1 : sizes[d] / count);
  }
  return reshape(broadcast(wide, blocks, kept), sizes);
}

Value scaled(const Value& x, const Value& scale, DType dtype) {
  return convert(x, dtype) * in_blocks(scale, x.sizes(), dtype);
}

}  // namespace

StatusOr<Values> jvp_scaled_dot(const JvpArgs& d) {
  const DType dtype = d.y[0].dtype();
  const auto tangent = [&](size_t i) {
    return add(d.dx[i] ? scaled(d.dx[i], d.x[i + 2], dtype) : Value(),
               d.dx[i + 2] ? scaled(d.x[i], d.dx[i + 2], dtype) : Value());
  };
  const auto product = [&](const Value& x, const Value& y) {
    return dot(x, y, d.attrs<DotAttrs>(), dtype);
  };
  const Value dx = tangent(0), dy = tangent(1);
  return Values{add(dx ? product(dx, scaled(d.x[1], d.x[3], dtype)) : Value(),
                    dy ? product(scaled(d.x[0], d.x[2], dtype), dy) : Value())};
}

StatusOr<Values> transpose_scaled_dot(const TransposeArgs& t) {
  const DType dtype = t.ct[0].dtype();
  const size_t i = t.is_linear(0) ? 0 : 1;
  if (!t.is_linear(i) || t.x[1 - i].is_absent() || t.x[2].is_absent() || t.x[3].is_absent())
    return not_linear("two of its operands, or a scale, depend on the argument");
  const Value other = scaled(t.x[1 - i], t.x[3 - i], dtype);
  const Value ct =
      transpose_dot(t.ct[0], t.attrs<DotAttrs>(), t.shape(i).with_dtype(dtype), other, i == 0);
  Values out(t.x.size());
  out[i] = convert(ct * in_blocks(t.x[2 + i], ct.sizes(), dtype), t.shape(i).dtype());
  return out;
}

}  // namespace heddle::hlo
