// Neural-net functions are formulas of one program, in wide enough floats.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::nn_internal {

using trace_internal::Expr;
using trace_internal::floating;

// x in f32 at least, for statistics and sums of many terms.
inline Expr wide_of(const Expr& x) { return x.astype(x.dtype() == f64 ? f64 : f32); }

// The program `op` of one result, which fn gives as an Expr.
template <class Fn>
Tensor formula(std::string_view op, Fn&& fn) {
  return trace_internal::one_program(op, [&] { return fn().tensor(); });
}

// The same of operands, by the program that is known for their types and the options.
template <class Fn>
Tensor formula(std::string_view op, const trace_internal::KnownOptions& options,
               const std::vector<Expr>& operands, Fn&& fn) {
  const auto one = [&](std::span<const Expr> in) { return std::vector<Expr>{fn(in)}; };
  return trace_internal::in_program(op, options, operands, one)[0];
}

}  // namespace heddle::nn_internal

namespace heddle::nn {

using nn_internal::floating;
using nn_internal::formula;
using nn_internal::wide_of;
using trace_internal::Expr;
using trace_internal::FixedNumber;
using trace_internal::KnownOptions;
using trace_internal::PublicCall;
using Values = std::span<const Expr>;

}  // namespace heddle::nn
