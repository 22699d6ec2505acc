#include "heddle/random/internal/sampling.h"

#include <cmath>
#include <numbers>

#include "heddle/special/normal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle::random::random_internal {
namespace {

Expr constant(const Request& r, double value) { return constant_like(value, r.dtype); }

// The bits of a float in [1, 2): a random mantissa under the exponent of 1. bf16, whose mantissa
// has fewer than 8 bits, is drawn from 8 bits and not 16, as in JAX.
Expr one_to_two(const Request& r) {
  FloatLimits limits = float_limits(r.dtype);
  int64_t width = bit_width(r.dtype);
  int64_t drawn = limits.mantissa_bits < 8 ? 8 : width;
  Expr bits = random_bits(r.words, drawn, r.shape, r.options);
  DType storage = width == 64 ? u64 : width == 32 ? u32 : u16;
  uint64_t exponent_of_one = width == 64      ? uint64_t{1023} << 52
                             : width == 32    ? uint64_t{127} << 23
                             : r.dtype == f16 ? uint64_t{15} << 10
                                              : uint64_t{127} << 7;
  Expr filled = (bits.astype(storage) >> (drawn - limits.mantissa_bits)) | exponent_of_one;
  return bitcast_convert(filled.operand(), r.dtype);
}

Dimensions twice(Dimensions shape) {
  shape.insert(shape.begin(), 2);
  return shape;
}

// [2, ..] -> two of [..].
std::pair<Expr, Expr> halves_of(const Expr& x) {
  auto half = [&](int64_t i) {
    Tensor part = slice_in_dim(x.operand(), i, i + 1);
    return Expr(squeeze(part, {0}));
  };
  return {half(0), half(1)};
}

Expr leading_zeros(const Expr& bits) { return clz(bits.operand()); }

// The f32 in (0, 1) with the binary digits of 64 random bits, cut off after its mantissa.
Expr fraction_of_bits(const Expr& high, const Expr& low) {
  Expr zeros_high = leading_zeros(high), zeros_low = leading_zeros(low);
  Expr all_low = zeros_high == 32;
  Expr mantissa = (high << zeros_high) | where(all_low, low << zeros_low, low >> (32 - zeros_high));
  mantissa = (mantissa >> 8) & 0x7FFFFF;  // without its leading 1
  Expr exponent = (126 - where(all_low, zeros_low + 32, zeros_high)) << 23;
  Expr bits = exponent | mantissa;
  return bitcast_convert(bits.operand(), f32);
}

// From 64 bits of a number, or of 1 minus it if that is smaller.
Expr gumbel_of_all_bits(const Request& r) {
  auto [high, low] = halves_of(random_bits(r.words, 32, twice(r.shape), r.options));
  Expr small = high < uint64_t{0x80000000};
  Expr low_negative = ~low + 1;
  Expr high_negative = ~high + (low == 0).astype(u32);
  Expr x = fraction_of_bits(where(small, high, high_negative), where(small, low, low_negative));
  return where(small, -log(-log1p(-x)), -log(-log(x)));
}

}  // namespace

Expr uniform_of(const Request& r) { return one_to_two(r) - 1.0; }

Expr uniform_of(const Request& r, const Expr& low, const Expr& high) {
  return maximum(low, uniform_of(r) * (high - low) + low);
}

Expr uniform_of(const Request& r, double low, double high) {
  if (low == 0 && high == 1) return uniform_of(r);
  return uniform_of(r, constant(r, low), constant(r, high));
}

Expr normal_of(const Request& r) {
  // From the float above -1, so that erf_inv stays finite.
  Expr u = uniform_of(r, float_limits(r.dtype).epsilon_below - 1.0, 1.0);
  return Expr(special::erf_inv(u.operand())) * std::numbers::sqrt2;
}

Expr exponential_of(const Request& r) { return -log1p(-uniform_of(r)); }

Expr gumbel_of(const Request& r) {
  if (r.options.mode == Mode::kHighest && r.dtype == f32) return gumbel_of_all_bits(r);
  FloatLimits limits = float_limits(r.dtype);
  if (r.options.mode == Mode::kLow) return -log(-log(uniform_of(r, limits.smallest_normal, 1.0)));
  auto [high, low] = halves_of(uniform_of(r.of(r.words, twice(r.shape))));
  Expr filled = high + limits.epsilon * low + limits.smallest_normal;
  return -log(-log1p(-where(high >= 0.5, high, filled)));
}

Expr bernoulli_of(const Request& r, const Expr& p) {
  if (r.options.mode == Mode::kLow) return uniform_of(r) < p;
  auto [high, low] = halves_of(uniform_of(r.of(r.words, twice(r.shape))));
  return low * float_limits(r.dtype).epsilon < p - high;
}

Expr rademacher_of(const Request& r) {
  // As in JAX: in the width of its numbers beside such a dtype.
  DType drawn = bit_width(r.dtype) == 64 ? f64 : f32;
  Request fair{r.words, r.shape, drawn, {.partitionable = r.options.partitionable}};
  Expr heads = bernoulli_of(fair, constant(fair, 0.5));
  return heads.astype(r.dtype) * 2 - 1;
}

void require_in(Domain domain, std::string_view name, const Operand& x) {
  const std::optional<double> value = number_value(x);
  if (!value || std::isnan(*value) || domain == Domain::kAny) return;
  const bool with_zero = domain == Domain::kNotNegative || domain == Domain::kProbability;
  const bool to_one = domain == Domain::kProbability || domain == Domain::kPositiveProbability;
  if ((with_zero ? *value >= 0 : *value > 0) && (!to_one || *value <= 1)) return;
  std::string_view wanted = with_zero ? "0 or more" : "more than 0";
  if (to_one) wanted = with_zero ? "in 0 .. 1" : "in 0 .. 1, and not 0";
  trace_internal::refuse(name, " is ", number_text(x), "; it must be ", wanted);
}

void require_order(std::string_view low_name, const Operand& low, std::string_view high_name,
                   const Operand& high, bool may_be_equal) {
  const std::optional<double> from = number_value(low), to = number_value(high);
  if (!from || !to || !(may_be_equal ? *from > *to : *from >= *to)) return;
  trace_internal::refuse(low_name, " is ", number_text(low), " and ", high_name, " ",
                         number_text(high), "; ", low_name, " must be less",
                         may_be_equal ? ", or equal" : "");
}

void require_floats(std::string_view name, const Operand& x) {
  if (!x.is_tensor()) return;
  const Shape& shape = trace_internal::node_of(x.tensor()).shape;
  if (has_float_limits(shape.dtype())) return;
  trace_internal::refuse(name, " is ", shape,
                         "; it must be of f16, bf16, f32 or f64, cast it with astype(f32)");
}

Dimensions sample_shape(const Dimensions& shape, std::span<const Tensor> from) {
  check_sample_shape(shape);
  Dimensions common;
  for (const Tensor& t : from) common = broadcast_shapes(Shape(t.dtype(), common), t.shape());
  if (shape.empty()) return common;
  if (broadcast_shapes(Shape(f32, shape), Shape(f32, common)) != shape) {
    trace_internal::refuse("parameters are [", base::join(common, ","),
                           "]; they must broadcast to the shape asked for, [",
                           base::join(shape, ","), "]");
  }
  return shape;
}

Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, base::FunctionRef<Expr(const Request&)> fn) {
  const trace_internal::PublicCall call(op, key.at());
  check_sample_shape(shape);
  trace_internal::require_ieee_float("dtype", dtype);
  const auto formula = [&](std::span<const Operand> x) {
    return fn({words_of(x[0]), shape, dtype, options}).tensor();
  };
  return trace_internal::one_program(
      op, known(options, trace_internal::FormulaId(fn.identity()), shape, dtype), {key}, formula);
}

Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Given> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn,
              DType result) {
  const trace_internal::PublicCall call(op, key.at());
  trace_internal::require_ieee_float("dtype", dtype);
  for (const auto& [name, x, domain] : parameters) require_in(domain, name, x);
  std::vector<KnownOperand> operands{key};
  for (const auto& [name, x, domain] : parameters) operands.emplace_back(x, dtype);
  const auto formula = [&](std::span<const Operand> x) {
    std::vector<Tensor> given;
    for (const auto& [name, unused, domain] : parameters) {
      const Operand& parameter = x[given.size() + 1];
      given.push_back(parameter.is_tensor() ? parameter.tensor() : constant_like(parameter, dtype));
      if (given.back().dtype() == dtype) continue;
      trace_internal::refuse(name, " is ", given.back().shape(), "; the sample is ",
                             to_string(dtype), ", cast the parameter with astype(",
                             to_string(dtype), ") or give its dtype");
    }
    Dimensions sizes = sample_shape(shape, given);
    std::vector<Expr> broadcast;
    for (const Tensor& each : given) broadcast.emplace_back(broadcast_to(each, sizes));
    return std::vector<Tensor>{
        fn({words_of(x[0]), sizes, dtype, options, result}, broadcast).tensor()};
  };
  return trace_internal::in_program(
      op, known(options, trace_internal::FormulaId(fn.identity()), shape, dtype, result), operands,
      formula)[0];
}

}  // namespace heddle::random::random_internal
