// Elementwise functions that are one formula.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/identity.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::numpy_internal {

using trace_internal::Expr;

// A function that captures nothing computes what its type says.
template <class Fn>
trace_internal::KnownOptions options_of() {
  using trace_internal::FormulaId;
  const auto type = reinterpret_cast<uint64_t>(trace_internal::type_tag<Fn>());
  return trace_internal::KnownOptions(std::is_empty_v<Fn> ? FormulaId(type) : FormulaId::kHasState);
}

// fn(x), for x of floats or complex numbers. errors: Error if x has another dtype
template <class Fn>
Tensor of_inexact(std::string_view op, const Operand& x, const Fn& fn) {
  const trace_internal::PublicCall call(op, x.at());
  trace_internal::require_inexact(x);
  const auto of = [&](std::span<const Operand> in) { return fn(Expr(in[0].tensor())).tensor(); };
  return trace_internal::one_program(op, options_of<Fn>(), {x}, of);
}

// The same of floats alone.
template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, const Fn& fn) {
  const trace_internal::PublicCall call(op, x.at());
  trace_internal::floating("x", x);  // refuses others
  return of_inexact(op, x, fn);
}

// fn(x, y), broadcast against each other. errors: Error if they do not broadcast, or if their
// dtypes differ
template <class Fn>
Tensor of_two(std::string_view op, const Operand& x, const Operand& y, const Fn& fn,
              const trace_internal::KnownOptions& options = options_of<Fn>()) {
  const trace_internal::PublicCall call(op, x.at());
  const auto of = [&](std::span<const Operand> in) {
    const OperandPair pair = unify(in[0], in[1]);
    return fn(Expr(pair.a), Expr(pair.b)).tensor();
  };
  using trace_internal::dtype_beside;
  return trace_internal::one_program(op, options, {{x, dtype_beside(y)}, {y, dtype_beside(x)}}, of);
}

// The same of floats.
template <class Fn>
Tensor of_floats(std::string_view op, const Operand& x, const Operand& y, const Fn& fn) {
  const auto of = [&](const Expr& a, const Expr& b) {
    trace_internal::floating("x", a.operand());
    return fn(a, b);
  };
  return of_two(op, x, y, of, options_of<Fn>());
}

}  // namespace heddle::numpy_internal

namespace heddle {

using trace_internal::axis_of;
using trace_internal::Expr;
using trace_internal::FixedNumber;
using trace_internal::floating;
using trace_internal::in_program;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;
using trace_internal::one_program;
using trace_internal::PublicCall;
using Operands = std::span<const Operand>;

}  // namespace heddle
