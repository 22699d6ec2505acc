#include "heddle/random/internal/sampling.h"

#include <cmath>
#include <numbers>

#include "heddle/special/normal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle::random::random_internal {
namespace {

Located constant(const Request& r, double value) {
  return r.words.a.with(constant_like({value, r.at()}, r.dtype));
}

// The bits of a float in [1, 2): a random mantissa under the exponent of 1. bf16, whose mantissa
// has less than 8 bits, is drawn from 8 bits and not 16, as JAX does.
Located one_to_two(const Request& r) {
  FloatLimits limits = float_limits(r.dtype);
  int64_t width = bit_width(r.dtype);
  int64_t drawn = limits.mantissa_bits < 8 ? 8 : width;
  Located bits = random_bits(r.words, drawn, r.shape, r.options);
  DType storage = width == 64 ? u64 : width == 32 ? u32 : u16;
  uint64_t exponent_of_one = width == 64      ? uint64_t{1023} << 52
                             : width == 32    ? uint64_t{127} << 23
                             : r.dtype == f16 ? uint64_t{15} << 10
                                              : uint64_t{127} << 7;
  Located filled = (bits.astype(storage) >> (drawn - limits.mantissa_bits)) | exponent_of_one;
  return filled.with(bitcast_convert(filled.operand(), r.dtype));
}

Dimensions twice(Dimensions shape) {
  shape.insert(shape.begin(), 2);
  return shape;
}

// [2, ..] -> two of [..].
std::pair<Located, Located> halves_of(const Located& x) {
  auto half = [&](int64_t i) {
    Tensor part = slice_in_dim(x.operand(), i, i + 1);
    return x.with(squeeze({part, x.at()}, {0}));
  };
  return {half(0), half(1)};
}

Located leading_zeros(const Located& bits) { return bits.with(clz(bits.operand())); }

// The f32 in (0, 1) whose binary digits are those of 64 random bits, cut off after its mantissa.
Located fraction_of_bits(const Located& high, const Located& low) {
  Located zeros_high = leading_zeros(high), zeros_low = leading_zeros(low);
  Located all_low = zeros_high == 32;
  Located mantissa =
      (high << zeros_high) | where(all_low, low << zeros_low, low >> (32 - zeros_high));
  mantissa = (mantissa >> 8) & 0x7FFFFF;  // without its leading 1
  Located exponent = (126 - where(all_low, zeros_low + 32, zeros_high)) << 23;
  Located bits = exponent | mantissa;
  return bits.with(bitcast_convert(bits.operand(), f32));
}

// From 64 bits of a number, or of 1 less it where that is smaller.
Located gumbel_of_all_bits(const Request& r) {
  auto [high, low] = halves_of(random_bits(r.words, 32, twice(r.shape), r.options));
  Located small = high < uint64_t{0x80000000};
  Located low_negative = ~low + 1;
  Located high_negative = ~high + (low == 0).astype(u32);
  Located x = fraction_of_bits(where(small, high, high_negative), where(small, low, low_negative));
  return where(small, -log(-log1p(-x)), -log(-log(x)));
}

}  // namespace

Located uniform_of(const Request& r) { return one_to_two(r) - 1.0; }

Located uniform_of(const Request& r, const Located& low, const Located& high) {
  return maximum(low, uniform_of(r) * (high - low) + low);
}

Located uniform_of(const Request& r, double low, double high) {
  if (low == 0 && high == 1) return uniform_of(r);
  return uniform_of(r, constant(r, low), constant(r, high));
}

Located normal_of(const Request& r) {
  // From the float above -1, so that erf_inv stays finite.
  Located u = uniform_of(r, float_limits(r.dtype).epsilon_below - 1.0, 1.0);
  return u.with(special::erf_inv(u.operand())) * std::numbers::sqrt2;
}

Located exponential_of(const Request& r) { return -log1p(-uniform_of(r)); }

Located gumbel_of(const Request& r) {
  if (r.options.mode == Mode::kHighest && r.dtype == f32) return gumbel_of_all_bits(r);
  FloatLimits limits = float_limits(r.dtype);
  if (r.options.mode == Mode::kLow) return -log(-log(uniform_of(r, limits.smallest_normal, 1.0)));
  auto [high, low] = halves_of(uniform_of(r.of(r.words, twice(r.shape))));
  Located filled = high + limits.epsilon * low + limits.smallest_normal;
  return -log(-log1p(-where(high >= 0.5, high, filled)));
}

Located bernoulli_of(const Request& r, const Located& p) {
  if (r.options.mode == Mode::kLow) return uniform_of(r) < p;
  auto [high, low] = halves_of(uniform_of(r.of(r.words, twice(r.shape))));
  return low * float_limits(r.dtype).epsilon < p - high;
}

Located rademacher_of(const Request& r) {
  // What JAX draws: in the width that its numbers have beside such a dtype.
  DType drawn = bit_width(r.dtype) == 64 ? f64 : f32;
  Request fair{r.words, r.shape, drawn, {.partitionable = r.options.partitionable}};
  Located heads = bernoulli_of(fair, constant(fair, 0.5));
  return heads.astype(r.dtype) * 2 - 1;
}

void require_probability(std::string_view op, const Operand& x, SourceLocation at) {
  const std::optional<double> p = number_value(x);
  if (!p || (*p >= 0 && *p <= 1) || std::isnan(*p)) return;
  throw Error(
      trace_internal::invalid_argument(op, ": p is ", number_text(x), "; it must be in 0 .. 1"),
      at);
}

void require_order(std::string_view op, std::string_view low_name, const Operand& low,
                   std::string_view high_name, const Operand& high, SourceLocation at) {
  const std::optional<double> from = number_value(low), to = number_value(high);
  if (!from || !to || !(*from >= *to)) return;
  throw Error(trace_internal::invalid_argument(op, ": ", low_name, " is ", number_text(low),
                                               " and ", high_name, " ", number_text(high), "; ",
                                               low_name, " must be less"),
              at);
}

void require_floats(std::string_view op, std::string_view name, const Operand& x,
                    SourceLocation at) {
  if (!x.is_tensor()) return;
  const Shape& shape = trace_internal::node_of(x.tensor(), op, at).shape;
  if (has_float_limits(shape.dtype())) return;
  throw Error(trace_internal::invalid_argument(
                  op, ": ", name, " is ", shape,
                  "; it must be of f16, bf16, f32 or f64, cast it with astype(f32)"),
              at);
}

Dimensions sample_shape(std::string_view op, const Dimensions& shape, std::span<const Tensor> from,
                        SourceLocation at) {
  check_sample_shape(op, shape, at);
  Dimensions common;
  for (const Tensor& t : from) common = broadcast_shapes(Shape(t.dtype(), common), t.shape(), at);
  if (shape.empty()) return common;
  if (broadcast_shapes(Shape(f32, shape), Shape(f32, common), at) != shape) {
    throw Error(trace_internal::invalid_argument(op, ": parameters are [", base::join(common, ","),
                                                 "]; they must broadcast to the shape asked for, [",
                                                 base::join(shape, ","), "]"),
                at);
  }
  return shape;
}

Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, base::FunctionRef<Located(const Request&)> fn) {
  const trace_internal::PublicCall call(op, key.at());
  check_sample_shape(op, shape, key.at());
  trace_internal::require_ieee_float(op, "dtype", dtype, key.at());
  return trace_internal::one_program(op, key.at(), [&] {
    return fn({words_of(op, key), shape, dtype, options}).tensor();
  });
}

Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Operand> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn) {
  const trace_internal::PublicCall call(op, key.at());
  SourceLocation at = key.at();
  trace_internal::require_ieee_float(op, "dtype", dtype, at);
  return trace_internal::one_program(op, at, [&] {
    std::vector<Tensor> given;
    for (const Operand& x : parameters) {
      given.push_back(x.is_tensor() ? as_tensor(x) : constant_like(x, dtype));
      if (given.back().dtype() == dtype) continue;
      throw Error(trace_internal::invalid_argument(op, ": parameter is ", given.back().shape(),
                                                   "; the sample is ", to_string(dtype),
                                                   ", cast the parameter with astype(",
                                                   to_string(dtype), ") or give its dtype"),
                  at);
    }
    Dimensions sizes = sample_shape(op, shape, given, at);
    std::vector<Located> broadcast;
    for (const Tensor& x : given) broadcast.emplace_back(broadcast_to(x, sizes, at), at);
    return fn({words_of(op, key), sizes, dtype, options}, broadcast).tensor();
  });
}

}  // namespace heddle::random::random_internal
