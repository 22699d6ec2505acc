#include "heddle/random/continuous.h"

#include <cmath>
#include <numbers>

#include "heddle/random/internal/sampling.h"
#include "heddle/special/normal.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

using Parameters = std::span<const Expr>;

Expr next_after(const Expr& x, double towards) { return nextafter(x.operand(), towards); }

Expr truncated_normal_of(const Request& r, const Expr& lower, const Expr& upper) {
  Expr root = lower.like(std::numbers::sqrt2);
  Expr u = uniform_of(r, erf(lower / root), erf(upper / root));
  Expr x = root * Expr(special::erf_inv(u.operand()));
  // Rounding must not put a sample on the bounds, which are excluded.
  return minimum(maximum(x, next_after(lower, INFINITY)), next_after(upper, -INFINITY));
}

Expr triangular_of(const Request& r, const Expr& left, const Expr& mode, const Expr& right) {
  Expr u = uniform_of(r);
  Expr rising = left + sqrt(u * (right - left) * (mode - left));
  Expr falling = right - sqrt((1.0 - u) * (right - left) * (right - mode));
  const Expr width = right - left;
  return where(u < (mode - left) / where(width == 0, 1, width), rising, falling);
}

Expr wald_of(const Request& r, const Expr& mean) {
  std::vector<Words> keys = r.split(2);
  Expr y = square(normal_of(r.of(keys[0])));
  Expr z = uniform_of(r.of(keys[1]));
  Expr root = sqrt(4.0 * mean * y + square(mean) * square(y));
  Expr x = mean + square(mean) * y / 2.0 - mean / 2.0 * root;
  return where(z <= mean / (mean + x), x, square(mean) / x);
}

Expr laplace_of(const Request& r) {
  Expr u = uniform_of(r, float_limits(r.dtype).epsilon_below - 1.0, 1.0);
  return sign(u) * log1p(-abs(u));
}

Expr logistic_of(const Request& r) {
  Expr x = uniform_of(r, float_limits(r.dtype).smallest_normal, 1.0);
  return log(x) - log1p(-x);
}

Expr cauchy_of(const Request& r) {
  Expr u = uniform_of(r, float_limits(r.dtype).epsilon, 1.0);
  return tan(std::numbers::pi * (u - 0.5));
}

Expr maxwell_of(const Request& r) {
  Dimensions sizes = r.shape;
  sizes.push_back(3);
  Expr squares = square(normal_of(r.of(r.words, sizes)));
  return sqrt(Expr(sum(squares.operand(), {.axes = {-1}})));
}

Tensor complex_normal(const Operand& key, const Dimensions& shape, DType part,
                      const Options& options) {
  return sample("random::normal", key, shape, part, options, [](const Request& r) {
    std::vector<Words> keys = r.split(2);
    // It computes in complex numbers throughout, as JAX does: the bits are those of a complex
    // division.
    auto made_of = [](const Expr& re, const Expr& im) {
      return Expr(complex(re.operand(), im.operand()));
    };
    Expr re = normal_of(r.of(keys[0])), im = normal_of(r.of(keys[1])), none = re.like(0.0);
    return (made_of(re, none) + made_of(none, re.like(1.0)) * made_of(im, none)) /
           std::numbers::sqrt2;
  });
}

}  // namespace

Tensor uniform(Operand key, const base::Ints& shape, DType dtype, Operand low, Operand high,
               const Options& options) {
  const PublicCall call("random::uniform", key.at());
  bool unit = !low.is_tensor() && !high.is_tensor() && low.number() == Operand(0.0).number() &&
              high.number() == Operand(1.0).number();
  if (unit)
    return sample("random::uniform", key, shape, dtype, options,
                  [](const Request& r) { return uniform_of(r); });
  random_internal::require_order("low", low, "high", high);
  return sample("random::uniform", key, {{"low", low}, {"high", high}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return uniform_of(r, p[0], p[1]); });
}

Tensor normal(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  const PublicCall call("random::normal", key.at());
  if (is_complex(dtype)) return complex_normal(key, shape, dtype == c128 ? f64 : f32, options);
  return sample("random::normal", key, shape, dtype, options, &normal_of);
}

Tensor truncated_normal(Operand key, Parameter lower, Parameter upper, const base::Ints& shape,
                        DType dtype, const Options& options) {
  const PublicCall call("random::truncated_normal", key.at());
  random_internal::require_order("lower", lower, "upper", upper);
  return sample("random::truncated_normal", key, {{"lower", lower}, {"upper", upper}}, shape, dtype,
                options,
                [](const Request& r, Parameters p) { return truncated_normal_of(r, p[0], p[1]); });
}

Tensor lognormal(Operand key, Parameter sigma, const base::Ints& shape, DType dtype,
                 const Options& options) {
  return sample("random::lognormal", key, {{"sigma", sigma, Domain::kNotNegative}}, shape, dtype,
                options, [](const Request& r, Parameters p) { return exp(normal_of(r) * p[0]); });
}

Tensor exponential(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::exponential", key, shape, dtype, options, &exponential_of);
}

Tensor gumbel(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::gumbel", key, shape, dtype, options, &gumbel_of);
}

Tensor laplace(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::laplace", key, shape, dtype, options, &laplace_of);
}

Tensor logistic(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::logistic", key, shape, dtype, options, &logistic_of);
}

Tensor cauchy(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::cauchy", key, shape, dtype, options, &cauchy_of);
}

Tensor maxwell(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::maxwell", key, shape, dtype, options, &maxwell_of);
}

Tensor double_sided_maxwell(Operand key, Parameter loc, Parameter scale, const base::Ints& shape,
                            DType dtype, const Options& options) {
  const PublicCall call("random::double_sided_maxwell", key.at());
  constexpr std::string_view kOp = "random::double_sided_maxwell";
  auto shape_of = [](const Operand& x) {
    return x.is_tensor() ? x.tensor().shape() : Shape::scalar(f32);
  };
  Dimensions own = broadcast_shapes(shape_of(loc), shape_of(scale));
  Dimensions sizes = shape.empty() ? own : shape.list();
  sizes.insert(sizes.end(), own.begin(), own.end());
  return sample(kOp, key, {{"loc", loc}, {"scale", scale, Domain::kNotNegative}}, sizes, dtype,
                options, [](const Request& r, Parameters p) {
                  std::vector<Words> keys = r.split(2);
                  Expr size = maxwell_of(r.of(keys[0]));
                  return rademacher_of(r.of(keys[1])) * size * p[1] + p[0];
                });
}

Tensor pareto(Operand key, Parameter b, const base::Ints& shape, DType dtype,
              const Options& options) {
  return sample("random::pareto", key, {{"b", b, Domain::kPositive}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return exp(exponential_of(r) / p[0]); });
}

Tensor rayleigh(Operand key, Parameter scale, const base::Ints& shape, DType dtype,
                const Options& options) {
  const PublicCall call("random::rayleigh", key.at());
  return sample(
      "random::rayleigh", key, {{"scale", scale, Domain::kNotNegative}}, shape, dtype, options,
      [](const Request& r, Parameters p) { return p[0] * sqrt(log(uniform_of(r)) * -2.0); });
}

Tensor weibull_min(Operand key, Parameter scale, Parameter concentration, const base::Ints& shape,
                   DType dtype, const Options& options) {
  return sample(
      "random::weibull_min", key,
      {{"scale", scale, Domain::kNotNegative}, {"concentration", concentration, Domain::kPositive}},
      shape, dtype, options, [](const Request& r, Parameters p) {
        return power(-log1p(-uniform_of(r)), 1.0 / p[1]) * p[0];
      });
}

Tensor triangular(Operand key, Parameter left, Parameter mode, Parameter right,
                  const base::Ints& shape, DType dtype, const Options& options) {
  const PublicCall call("random::triangular", key.at());
  random_internal::require_order("left", left, "right", right);
  random_internal::require_order("left", left, "mode", mode, /*may_be_equal=*/true);
  random_internal::require_order("mode", mode, "right", right, /*may_be_equal=*/true);
  return sample("random::triangular", key, {{"left", left}, {"mode", mode}, {"right", right}},
                shape, dtype, options,
                [](const Request& r, Parameters p) { return triangular_of(r, p[0], p[1], p[2]); });
}

Tensor wald(Operand key, Parameter mean, const base::Ints& shape, DType dtype,
            const Options& options) {
  return sample("random::wald", key, {{"mean", mean, Domain::kPositive}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return wald_of(r, p[0]); });
}

}  // namespace heddle::random
