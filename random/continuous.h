// Random floats. Names, algorithms and bits are those of jax.random; docs/functions.md says which
// samples are equal in every bit, and which differ in their last bits since a logarithm rounds
// otherwise.
//
// key      u32[2] (random/keys.h)
// shape    of the sample; parameters broadcast to it. With parameters, an empty shape is the one
//          that they broadcast to
// dtype    f16, bf16, f32 or f64; parameters are C++ numbers or tensors of it
// errors   all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
//          and the caller's line; also for a C++ number outside of the distribution's domain
#pragma once

#include <concepts>
#include <initializer_list>
#include <type_traits>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/random/keys.h"
#include "heddle/random/parameter.h"

namespace heddle::random {

// Uniform numbers from low up to, not including, high.
Tensor uniform(Operand key, const base::Ints& shape = {}, DType dtype = f32, Operand low = 0.0,
               Operand high = 1.0, const Options& options = {});
// Mean 0, variance 1. source: inverse of the distribution function, by special::erf_inv. c64 and
// c128 too: both parts have variance 1/2
Tensor normal(Operand key, const base::Ints& shape = {}, DType dtype = f32,
              const Options& options = {});
template <class Number, class... More>
requires(std::is_arithmetic_v<Number> || std::same_as<Number, Tensor>)  //
    Tensor uniform(Operand, const base::Ints&, const Number&, const More&...) {
  static_assert(!sizeof(Number),
                "sizes are one list, uniform(key, {3, 4}), and the bounds stand "
                "behind the dtype: write uniform(key, {3}, f32, low, high)");
  return {};
}
template <class Number, class... More>
requires(std::is_arithmetic_v<Number> || std::same_as<Number, Tensor>)  //
    Tensor normal(Operand, const base::Ints&, const Number&, const More&...) {
  static_assert(!sizeof(Number),
                "sizes are one list, normal(key, {3, 4}), and the mean is 0, the "
                "deviation 1: write mean + deviation * normal(key, {3})");
  return {};
}
// numpy's order, the parameters before the shape, does not compile.
template <class Number, class Other>
requires(std::is_arithmetic_v<Number>&& std::is_arithmetic_v<Other>)  //
    Tensor uniform(Operand, Number, Other, const base::Ints&) {
  static_assert(!sizeof(Number), "the shape stands first: write uniform(key, {3}, f32, low, high)");
  return {};
}
template <class Number, class Other>
requires(std::is_arithmetic_v<Number>&& std::is_arithmetic_v<Other>)  //
    Tensor normal(Operand, Number, Other, const base::Ints&) {
  static_assert(!sizeof(Number),
                "the mean is 0, the deviation 1: write mean + deviation * normal(key, {3})");
  return {};
}
// A standard normal number, given that it lies between lower and upper.
Tensor truncated_normal(Operand key, Parameter lower, Parameter upper, const base::Ints& shape = {},
                        DType dtype = f32, const Options& options = {});
Tensor lognormal(Operand key, Parameter sigma = 1.0, const base::Ints& shape = {},
                 DType dtype = f32, const Options& options = {});  // exp(sigma * normal)

Tensor exponential(Operand key, const base::Ints& shape = {}, DType dtype = f32,
                   const Options& options = {});  // exponential numbers of mean 1
template <std::floating_point Mean>
trace_internal::Refused exponential(Operand /*key*/, Mean, const base::Ints& /*shape*/ = {}) {
  static_assert(!sizeof(Mean), "the mean is 1: write 2.0 * exponential(key, {3})");
  return {};
}
Tensor gumbel(Operand key, const base::Ints& shape = {}, DType dtype = f32,
              const Options& options = {});  // -log(-log(u)) of uniform u
Tensor laplace(Operand key, const base::Ints& shape = {}, DType dtype = f32,
               const Options& options = {});  // density exp(-|x|) / 2
Tensor logistic(Operand key, const base::Ints& shape = {}, DType dtype = f32,
                const Options& options = {});  // log(u / (1 - u)) of uniform u
Tensor cauchy(Operand key, const base::Ints& shape = {}, DType dtype = f32,
              const Options& options = {});  // density 1 / (pi (1 + x^2))
Tensor maxwell(Operand key, const base::Ints& shape = {}, DType dtype = f32,
               const Options& options = {});  // length of three normal numbers
// The same with a random sign, times scale plus loc. The sample is [shape.., axes of loc and
// scale], and their axes stand twice where `shape` is empty, as in JAX.
Tensor double_sided_maxwell(Operand key, Parameter loc, Parameter scale,
                            const base::Ints& shape = {}, DType dtype = f32,
                            const Options& options = {});

Tensor pareto(Operand key, Parameter b, const base::Ints& shape = {}, DType dtype = f32,
              const Options& options = {});  // from 1 on, density b x^-(b+1)
Tensor rayleigh(Operand key, Parameter scale, const base::Ints& shape = {}, DType dtype = f32,
                const Options& options = {});  // length of two normal numbers, times scale
Tensor weibull_min(Operand key, Parameter scale, Parameter concentration,
                   const base::Ints& shape = {}, DType dtype = f32,
                   const Options& options = {});  // scale * exponential^(1 / concentration)
Tensor triangular(
    Operand key, Parameter left, Parameter mode, Parameter right, const base::Ints& shape = {},
    DType dtype = f32,
    const Options& options = {});  // density rising from left to mode, falling to right
// The inverse Gaussian of mean `mean` and shape 1. source: J. Michael, W. Schucany and R. Haas,
// The American Statistician 30 (1976)
Tensor wald(Operand key, Parameter mean, const base::Ints& shape = {}, DType dtype = f32,
            const Options& options = {});

// Gamma(a, 1), and its logarithm, which does not underflow for small a. Each element has a key of
// its own. source: G. Marsaglia and W. Tsang, ACM TOMS 26 (2000). cost: a loop until all elements
// are accepted, on all of them
Tensor gamma(Operand key, Parameter a, const base::Ints& shape = {}, DType dtype = f32,
             const Options& options = {});
// The logarithm of Gamma(a, 1), which does not underflow for small a.
Tensor loggamma(Operand key, Parameter a, const base::Ints& shape = {}, DType dtype = f32,
                const Options& options = {});
// Density x^(a-1) (1-x)^(b-1) / B(a, b) on 0 .. 1; a, b > 0. It is made of gamma samples.
Tensor beta(Operand key, Parameter a, Parameter b, const base::Ints& shape = {}, DType dtype = f32,
            const Options& options = {});
// The sum of df squares of normal numbers: 2 Gamma(df / 2), of mean df; df > 0, of any fraction.
Tensor chisquare(Operand key, Parameter df, const base::Ints& shape = {}, DType dtype = f32,
                 const Options& options = {});
// Fisher's: (chisquare(dfnum) / dfnum) / (chisquare(dfden) / dfden), of mean dfden / (dfden - 2).
Tensor f(Operand key, Parameter dfnum, Parameter dfden, const base::Ints& shape = {},
         DType dtype = f32, const Options& options = {});
// Student's: normal / sqrt(chisquare(df) / df), of density proportional to
// (1 + x^2 / df)^(-(df + 1) / 2).
Tensor t(Operand key, Parameter df, const base::Ints& shape = {}, DType dtype = f32,
         const Options& options = {});
// Density proportional to exp(-|x|^p).
Tensor generalized_normal(Operand key, double p, const base::Ints& shape = {}, DType dtype = f32,
                          const Options& options = {});
template <class T>
requires MisplacedShape<T>  //
    Tensor generalized_normal(Operand, std::initializer_list<T>, const base::Ints& = {}) {
  static_assert(!sizeof(T), "braces are a shape: write generalized_normal(key, 2.0, {3})");
  return {};
}
// Uniform points in the ball of radius 1 of `d` dimensions and norm p: [shape.., d].
Tensor ball(Operand key, base::Int d, double p = 2, const base::Ints& shape = {}, DType dtype = f32,
            const Options& options = {});
template <class T>
requires MisplacedShape<T>  //
    Tensor ball(Operand, base::Int, std::initializer_list<T>, const base::Ints& = {}) {
  static_assert(!sizeof(T), "braces are a shape: write ball(key, d, 2.0, {3})");
  return {};
}
// Numbers that sum to 1 along the last axis. alpha: [.., n]; `shape` is that of the sample without
// the last axis, and the result [shape.., n].
Tensor dirichlet(Operand key, Parameter alpha, const base::Ints& shape = {}, DType dtype = f32,
                 const Options& options = {});

}  // namespace heddle::random
