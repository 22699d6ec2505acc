// Elementwise functions that are one formula.
#pragma once

#include <string_view>

#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/public_call.h"

namespace heddle::numpy_internal {

using trace_internal::Expr;

// fn(x), for x of floats. errors: Error if x has another dtype
template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, Fn&& fn) {
  const trace_internal::PublicCall call(op, x.at());
  const Expr value = trace_internal::floating("x", x);
  return trace_internal::one_program(op, [&] { return fn(value).tensor(); });
}

// fn(x, y), broadcast against each other. errors: Error if they do not broadcast, or if their
// dtypes differ
template <class Fn>
Tensor of_two(std::string_view op, const Operand& x, const Operand& y, Fn&& fn) {
  const trace_internal::PublicCall call(op, x.at());
  return trace_internal::one_program(op, [&] {
    const OperandPair pair = unify(x, y);
    return fn(Expr(pair.a), Expr(pair.b)).tensor();
  });
}

// The same of floats.
template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, const Operand& y, Fn&& fn) {
  return of_two(op, x, y, [&](const Expr& a, const Expr& b) {
    trace_internal::floating("x", a.operand());
    return fn(a, b);
  });
}

}  // namespace heddle::numpy_internal

namespace heddle {

using trace_internal::axis_of;
using trace_internal::Expr;
using trace_internal::floating;
using trace_internal::in_program;
using trace_internal::one_program;
using trace_internal::PublicCall;

}  // namespace heddle
