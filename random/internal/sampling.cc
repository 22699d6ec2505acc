#include "heddle/random/internal/sampling.h"

#include <cmath>
#include <numbers>

#include "heddle/special/normal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"

namespace heddle::random::random_internal {
namespace {

Located constant(const Request& r, double value) {
  return r.words.a.with(constant_like({value, r.at()}, r.dtype, "random"));
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
  return -log(-log(uniform_of(r, float_limits(r.dtype).smallest_normal, 1.0)));
}

Located bernoulli_of(const Request& r, const Located& p) { return uniform_of(r) < p; }

Located rademacher_of(const Request& r) {
  Located heads =
      bernoulli_of({r.words, r.shape, f32, r.options}, constant({r.words, {}, f32, {}}, 0.5));
  return heads.astype(r.dtype) * 2 - 1;
}

Dimensions sample_shape(std::string_view op, const Dimensions& shape, std::span<const Tensor> from,
                        SourceLocation at) {
  check_sample_shape(op, shape, at);
  Dimensions common;
  for (const Tensor& t : from)
    common = broadcast_shapes(Shape(t.dtype(), common), t.shape(), op, at);
  if (shape.empty()) return common;
  if (broadcast_shapes(Shape(f32, shape), Shape(f32, common), op, at) != shape) {
    throw Error(
        invalid_argument(op, ": parameters are [", join(common, ","),
                         "]; they must broadcast to the shape asked for, [", join(shape, ","), "]"),
        at);
  }
  return shape;
}

Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, FunctionRef<Located(const Request&)> fn) {
  check_sample_shape(op, shape, key.at());
  trace_internal::require_ieee_float(op, "dtype", dtype, key.at());
  return trace_internal::one_program(op, key.at(), [&] {
    return fn({words_of(op, key), shape, dtype, options}).tensor();
  });
}

Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Operand> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn) {
  SourceLocation at = key.at();
  trace_internal::require_ieee_float(op, "dtype", dtype, at);
  return trace_internal::one_program(op, at, [&] {
    std::vector<Tensor> given;
    for (const Operand& x : parameters) {
      given.push_back(x.is_tensor() ? as_tensor(x) : constant_like(x, dtype, op));
      if (given.back().dtype() == dtype) continue;
      throw Error(invalid_argument(op, ": parameter is ", given.back().shape(), "; the sample is ",
                                   to_string(dtype), ", cast the parameter with astype(",
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
