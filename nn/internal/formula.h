// Neural-net functions are formulas of one program, in wide enough floats.
#pragma once

#include <string_view>

#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

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

}  // namespace heddle::nn_internal

namespace heddle::nn {

using nn_internal::floating;
using nn_internal::formula;
using nn_internal::wide_of;
using trace_internal::Expr;
using trace_internal::PublicCall;

}  // namespace heddle::nn
