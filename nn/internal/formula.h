// Neural-net functions are formulas of one program, in wide enough floats.
#pragma once

#include <initializer_list>
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
using Operands = std::span<const Operand>;
template <class Fn>
Tensor formula(std::string_view op, const trace_internal::KnownOptions& options,
               std::initializer_list<Expr> given, Fn&& fn) {
  std::vector<Operand> operands;
  for (const Expr& each : given) operands.push_back(each.operand());
  const std::vector<trace_internal::KnownOperand> known(operands.begin(), operands.end());
  return trace_internal::in_program(op, options, known, [&](Operands in) {
    std::vector<Expr> values;
    for (const Operand& each : in) values.emplace_back(each.tensor());
    return std::vector<Tensor>{fn(std::span<const Expr>(values)).tensor()};
  })[0];
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
