#include <algorithm>
#include <bit>
#include <cmath>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/elementwise/elementwise.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

constexpr int64_t kReducePrecisionBlock = 256;

// How many exponent and mantissa bits the numbers have that it works on.
struct Format {
  int exponent_bits;
  int mantissa_bits;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return {11, 52};
    case DType::kF32:
    case DType::kF8E8M0FNU: return {8, 23};
    case DType::kBF16: return {8, 7};
    default: return {5, 10};
  }
}

// Rounds the mantissa of the pattern, which counts on where it overflows into the exponent: to
// infinity at the end.
uint64_t round_mantissa(uint64_t bits, int dropped) {
  const uint64_t last = uint64_t{1} << dropped;
  const uint64_t half_less_one = (last >> 1) - 1;
  const uint64_t odd = (bits >> dropped) & 1;
  return (bits + half_less_one + odd) & ~(last - 1);
}

class PrecisionRounder {
 public:
  PrecisionRounder(DType dtype, const ReducePrecisionAttrs& attrs)
      : no_nan_(attrs.mantissa_bits == 0) {
    const Format format = format_of(dtype);
    const int least_normal = 2 - (1 << (format.exponent_bits - 1));
    if (attrs.mantissa_bits < format.mantissa_bits) {
      dropped_ = static_cast<int>(52 - attrs.mantissa_bits);
      least_normal_ = std::ldexp(1.0, least_normal);
      unit_below_ = std::ldexp(1.0, least_normal - static_cast<int>(attrs.mantissa_bits));
    }
    if (attrs.exponent_bits < format.exponent_bits) {
      largest_ = (1 << (attrs.exponent_bits - 1)) - 1;
      least_ = 1 - largest_;
    }
  }

  double operator()(double x) const {
    if (x != x) return no_nan_ ? std::copysign(HUGE_VAL, x) : x;
    if (x == 0 || std::isinf(x)) return x;
    if (dropped_ > 0) x = round(x);
    if (x == 0 || std::isinf(x)) return x;
    const int exponent = std::ilogb(x);
    if (exponent > largest_) return std::copysign(HUGE_VAL, x);
    return exponent < least_ ? std::copysign(0.0, x) : x;
  }

 private:
  // Numbers that are subnormal in x's type have fewer bits, in multiples of one unit.
  double round(double x) const {
    if (std::fabs(x) < least_normal_) return std::nearbyint(x / unit_below_) * unit_below_;
    return std::bit_cast<double>(round_mantissa(std::bit_cast<uint64_t>(x), dropped_));
  }

  bool no_nan_;
  int dropped_ = 0;  // of the 52 mantissa bits of a double
  double least_normal_ = 0;
  double unit_below_ = 0;
  int largest_ = 4096;  // past any double's exponent
  int least_ = -4096;
};

StatusOr<Literal> evaluate_reduce_precision(EvalArgs& in) {
  const DType dtype = in.result().dtype();
  const PrecisionRounder reduce(dtype, in.attrs<ReducePrecisionAttrs>());
  const std::byte* x = in[0].bytes();
  Literal out = result_buffer(in);
  std::byte* to = out.mutable_bytes();
  double values[kReducePrecisionBlock];
  for (int64_t at = 0; at < out.element_count(); at += kReducePrecisionBlock) {
    const int64_t n = std::min(kReducePrecisionBlock, out.element_count() - at);
    load(dtype, x + at * storage_bytes(dtype), n, values);
    for (int64_t i = 0; i < n; ++i) values[i] = reduce(values[i]);
    store(dtype, values, n, to + at * storage_bytes(dtype));
  }
  return out;
}

}  // namespace

const Evaluation kReducePrecisionEvaluation = {.evaluate = evaluate_reduce_precision};

}  // namespace heddle::interpreter
