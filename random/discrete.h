// Random integers, booleans, orders and choices. Names, algorithms and values are those of
// jax.random; docs/functions.md says which are equal in every bit.
//
// key      u32[2] (random/keys.h)
// shape    of the sample; parameters broadcast to it. With parameters, an empty shape is the one
//          that they broadcast to
// errors   all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
//          and the caller's line; also for a C++ number outside of the distribution's domain
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/random/keys.h"
#include "heddle/random/parameter.h"

namespace heddle::random {

// Uniform integers from low up to, not including, high, which are C++ integers or integer tensors
// that broadcast to the shape; low if high <= low. `dtype`: s8 .. s64, u8 .. u64; bounds outside it
// are clamped, and high may be one past its greatest. A high that is no power of 2 above low leaves
// a bias of (high - low) / 2^64 (f64-wide dtypes: 2^128).
Tensor randint(Operand key, const base::Ints& shape, Operand low, Operand high, DType dtype = s32,
               const Options& options = {});
// torch's order, the bounds before the shape, does not compile.
template <class Number, class Other>
requires(std::is_arithmetic_v<Number>&& std::is_arithmetic_v<Other>)  //
    Tensor randint(Operand, Number, Other, std::initializer_list<int64_t>) {
  static_assert(!sizeof(Number), "the shape stands first: write randint(key, {3}, low, high)");
  return {};
}
template <std::convertible_to<Operand> High>
trace_internal::Refused randint(Operand /*key*/, const base::Ints& /*shape*/,
                                const High& /*high*/) {
  static_assert(!sizeof(High), "both bounds are given: write randint(key, {3}, 0, high)");
  return {};
}

// pred: true with probability p, a C++ number (then drawn in f32) or a tensor of floats.
Tensor bernoulli(Operand key, Parameter p = 0.5, const base::Ints& shape = {},
                 const Options& options = {});
// -1 or 1, of any signed integer or float dtype.
Tensor rademacher(Operand key, const base::Ints& shape = {}, DType dtype = s32,
                  const Options& options = {});
// Positions along `axis` of logits, drawn with probability softmax(logits), s32. `shape` ends in
// that of logits without the axis, which is the default; axes before that are further draws.
// Without `replace` the further draws of one distribution are distinct. source: the Gumbel-max
// trick, E. Gumbel (1954). errors: also where there are more draws than positions to replace none
Tensor categorical(Operand key, Operand logits, base::Int axis = -1, const base::Ints& shape = {},
                   const Options& options = {}, base::Flag replace = true);

// Counts of events at rate lam, a C++ number or f32 tensor. source: below 10 D. Knuth, TAOCP 2,
// section 3.4.1; from there on W. Hoermann, The transformed rejection method (1993). cost: a loop
// until all elements are accepted
Tensor poisson(Operand key, Parameter lam, const base::Ints& shape = {}, DType dtype = s32,
               const Options& options = {});
// Trials up to the first success of probability p, 1 or more.
Tensor geometric(Operand key, Parameter p, const base::Ints& shape = {}, DType dtype = s32,
                 const Options& options = {});
// Successes in n trials of probability p, as floats; n and p are floats of one dtype. NaN where a
// tensor has n < 0 or p outside [0, 1]. source: n p <= 10: waiting times (L. Devroye 1986, section
// X.4); else W. Hoermann, The generation of binomial random variates (1993). cost: as poisson's
Tensor binomial(Operand key, Parameter n, Parameter p, const base::Ints& shape = {},
                DType dtype = f32, const Options& options = {});

// The slices of x along `axis` in random order; x may be a C++ integer n, for 0 .. n - 1. With
// `independent` each row along the axis has an order of its own. source: sorting by random keys
Tensor permutation(Operand key, Operand x, base::Int axis = 0, base::Flag independent = false,
                   const Options& options = {});

struct Choice {
  base::Flag replace = true;  // an element may be drawn more than once
  Tensor p = {};              // [n], floats: the elements' probabilities; none: equal ones
  base::Int axis = 0;
  Options options = {};
};
// Elements of x along an axis, which is replaced by `shape`; x may be a C++ integer n, for 0 .. n
// - 1. errors: Error where there are too few elements to draw without replacement
Tensor choice(Operand key, Operand x, const base::Ints& shape = {}, const Choice& how = {});

}  // namespace heddle::random
