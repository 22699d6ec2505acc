// Functions of one and two numbers, where they are smooth and where they are not.
#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

// A function of Heddle's by its name.
OfNumber named(Tensor (*f)(Operand)) {
  return [f](const Tensor& x) { return f(x); };
}
Run each(Tensor (*f)(Operand)) { return derivatives::each(named(f)); }
Run each(OfNumber f) { return derivatives::each(std::move(f)); }
Run pair(Tensor (*f)(Operand, Operand)) {
  return derivatives::pair([f](const Tensor& x, const Tensor& y) { return f(x, y); });
}
Run pair(OfNumbers f) { return derivatives::pair(std::move(f)); }

std::vector<Case> basic() {
  return {
      {"abs", each(abs)},
      {"acos", each(acos)},
      {"acosh", each(acosh)},
      {"asin", each(asin)},
      {"asinh", each(asinh)},
      {"atan", each(atan)},
      {"atanh", each(atanh)},
      {"cbrt", each(cbrt)},
      {"ceil", each(ceil)},
      {"cos", each(cos)},
      {"cosh", each(cosh)},
      {"erf", each(erf)},
      {"exp", each(exp)},
      {"exp2", each(exp2)},
      {"expm1", each(expm1)},
      {"floor", each(floor)},
      {"log", each(log)},
      {"log10", each(log10)},
      {"log1p", each(log1p)},
      {"log2", each(log2)},
      {"logistic", each(logistic)},
      {"negative", each(negative)},
      {"reciprocal", each(reciprocal)},
      {"round", each(round)},
      {"rsqrt", each(rsqrt)},
      {"sign", each(sign)},
      {"sin", each(sin)},
      {"sinh", each(sinh)},
      {"sqrt", each(sqrt)},
      {"square", each(square)},
      {"tan", each(tan)},
      {"tanh", each(tanh)},
      {"trunc", each(trunc)},
      {"deg2rad", each(deg2rad)},
      {"rad2deg", each(rad2deg)},
      {"nan_to_num", each([](T x) { return nan_to_num(x); })},
      {"around", each([](T x) { return around(x, 1); })},
      {"pow_0", each([](T x) { return pow(x, 0); })},
      {"pow_1", each([](T x) { return pow(x, 1); })},
      {"pow_2", each([](T x) { return pow(x, 2); })},
      {"pow_3", each([](T x) { return pow(x, 3); })},
      {"pow_-2", each([](T x) { return pow(x, -2); })},
      {"pow_half", each([](T x) { return pow(x, 0.5); })},
      {"pow_2.5", each([](T x) { return pow(x, 2.5); })},
      {"pow_of_2", each([](T x) { return pow(2.0, x); })},
      {"sqrt_of_square", each([](T x) { return sqrt(x * x); })},
      {"guarded_sqrt", each([](T x) { return where(x > 0.0, sqrt(where(x > 0.0, x, 1.0)), 0.0); })},
      {"unguarded_sqrt", each([](T x) { return where(x > 0.0, sqrt(x), 0.0); })},
      {"unguarded_log", each([](T x) { return where(x > 0.0, log(x), x); })},
      {"clip", each([](T x) { return clip(x, -1.0, 1.0); })},
      {"stopped", each([](T x) { return stop_gradient(x) * x * x; })},
  };
}

std::vector<Case> of_two() {
  return {
      {"add_multiply", pair([](T x, T y) { return x + y * x; })},
      {"divide", pair(divide)},
      {"power", pair(power)},
      {"power_of_0", pair(power)},
      {"power_of_negative", pair([](T x, T y) { return power(x, stop_gradient(y)); })},
      {"maximum", pair(maximum)},
      {"minimum", pair(minimum)},
      {"atan2", pair(atan2)},
      {"rem", pair(rem)},
      {"mod", pair(mod)},
      {"fmod", pair(fmod)},
      {"floor_divide", pair(floor_divide)},
      {"copysign", pair(copysign)},
      {"hypot", pair(hypot)},
      {"logaddexp", pair(logaddexp)},
      {"logaddexp2", pair(logaddexp2)},
      {"fmax", pair(fmax)},
      {"fmin", pair(fmin)},
      {"where", pair([](T x, T y) { return where(x > y, x * y, x - y); })},
      {"heaviside", pair(heaviside)},
      {"betaln", pair(special::betaln)},
      {"xlogy", pair(special::xlogy)},
      {"xlogy_0_0", pair([](T x, T y) { return special::xlogy(stop_gradient(x), y); })},
      {"xlog1py", pair(special::xlog1py)},
      {"rel_entr", pair(special::rel_entr)},
      {"kl_div", pair(special::kl_div)},
      {"poch", pair(special::poch)},
  };
}

std::vector<Case> special_functions() {
  using namespace special;
  return {
      {"lgamma", each(special::lgamma)},
      {"gamma", each(special::gamma)},
      {"digamma", each(digamma)},
      {"erfc", each(special::erfc)},
      {"erf_inv", each(erf_inv)},
      {"ndtr", each(ndtr)},
      {"log_ndtr", each(log_ndtr)},
      {"ndtri", each(ndtri)},
      {"expit", each(expit)},
      {"logit", each(logit)},
      {"entr", each(entr)},
      {"i0", each(i0)},
      {"i1", each(i1)},
      {"i0e", each(i0e)},
      {"i1e", each(i1e)},
      {"i1e_at_0", slope(named(i1e))},
      {"i1_at_0", slope(named(i1))},
      {"i0e_at_0", slope(named(i0e))},
      {"polygamma_1", each([](T x) { return polygamma(1, x); })},
      {"polygamma_3", each([](T x) { return polygamma(3, x); })},
      {"zeta_by_q", each([](T q) { return zeta(2.5, q); })},
      {"multigammaln", each([](T x) { return multigammaln(x, 3); })},
      {"expi", each(expi)},
      {"exp1", slope(named(exp1))},
      {"expn_2", slope([](T x) { return expn(2, x); })},
      {"spence", each(spence)},
      {"factorial", each(factorial)},
      {"sinc", each(sinc)},
      {"igamma_by_x", each([](T x) { return igamma(2.5, x); })},
      {"igammac_by_x", each([](T x) { return igammac(2.5, x); })},
      {"igamma_by_a", slope([](T a) { return igamma(a, 2.5); })},
      {"betainc_by_x", each([](T x) { return betainc(2.5, 1.5, x); })},
      {"hyp1f1_by_x", each([](T x) { return hyp1f1(0.7, 1.6, x); })},
  };
}

std::vector<Case> activations() {
  return {
      {"relu", each(nn::relu)},
      {"relu6", each(nn::relu6)},
      {"leaky_relu", each([](T x) { return nn::leaky_relu(x); })},
      {"elu", each([](T x) { return nn::elu(x); })},
      {"celu", each([](T x) { return nn::celu(x, 2); })},
      {"selu", each(nn::selu)},
      {"silu", each(nn::silu)},
      {"mish", each(nn::mish)},
      {"softplus", each(nn::softplus)},
      {"soft_sign", each(nn::soft_sign)},
      {"log_sigmoid", each(nn::log_sigmoid)},
      {"squareplus", each([](T x) { return nn::squareplus(x); })},
      {"sparse_plus", each(nn::sparse_plus)},
      {"hard_tanh", each(nn::hard_tanh)},
      {"hard_sigmoid", each(nn::hard_sigmoid)},
      {"hard_silu", each(nn::hard_silu)},
      {"gelu_tanh", each([](T x) { return nn::gelu(x); })},
      {"gelu_erf", each([](T x) { return nn::gelu(x, {.approximate = false}); })},
      {"log1mexp", each(nn::log1mexp)},
  };
}

}  // namespace

std::vector<Case> element_cases() {
  return joined({basic(), of_two(), special_functions(), activations()});
}

}  // namespace heddle::derivatives
