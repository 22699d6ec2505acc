// How the special functions are written: a formula on floats of one dtype and shape.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

namespace heddle::special_internal {

using trace_internal::any_of;
using trace_internal::Expr;
using trace_internal::polynomial;
using trace_internal::Term;

struct Parameter {
  std::string_view name;  // in errors
  Operand x;
};

using Formula = base::FunctionRef<Expr(std::span<const Expr>)>;

// Runs `fn` on the parameters in one dtype and shape: numbers take the dtype of the tensors, shapes
// broadcast. f16 and bf16 are computed in f32 and rounded once. errors: Error if they are not
// floats of one dtype or do not broadcast
// `identity`: of what fn computes; 0 where it has state.
Tensor evaluate(std::string_view op, std::initializer_list<Parameter> parameters, Formula fn,
                uint64_t identity);
inline Tensor evaluate(std::string_view op, std::initializer_list<Parameter> parameters,
                       Formula fn) {
  return evaluate(op, parameters, fn, fn.identity());
}
// Of a function of one or two.
inline Tensor evaluate(std::string_view op, const Parameter& x, Expr (*fn)(const Expr&)) {
  const auto of = [&](std::span<const Expr> v) { return fn(v[0]); };
  return evaluate(op, {x}, of, reinterpret_cast<uint64_t>(fn));
}
inline Tensor evaluate(std::string_view op, const Parameter& x, const Parameter& y,
                       Expr (*fn)(const Expr&, const Expr&)) {
  const auto of = [&](std::span<const Expr> v) { return fn(v[0], v[1]); };
  return evaluate(op, {x, y}, of, reinterpret_cast<uint64_t>(fn));
}

// fn(v), for a formula with loops that have no reverse mode: see elementwise() of scan/own_rule.h.
Expr elementwise(std::string_view op, std::span<const Expr> v, Formula fn);

// The same for a function of several results.
using Formulas = base::FunctionRef<std::vector<Expr>(std::span<const Expr>)>;
std::vector<Tensor> evaluate_all(std::string_view op, std::initializer_list<Parameter> parameters,
                                 Formulas fn);

// The lesser and the greater of x and a limit. At a tie the whole slope is that of x, where minimum
// and maximum take half of it: a branch that is taken at the limit has its own slope there.
inline Expr at_most(const Expr& x, const Term& limit) { return where(x > limit, limit, x); }
inline Expr at_least(const Expr& x, const Term& limit) { return where(x < limit, limit, x); }

// Two numbers by size; two that are equal keep their slopes apart.
struct Ordered {
  Expr low, high;
};
inline Ordered ordered(const Expr& a, const Expr& b) {
  const Expr falling = a > b;
  return {where(falling, b, a), where(falling, a, b)};
}

// |x|, whose slope at 0 is 1: for a function whose left half mirrors its right one.
inline Expr mirrored(const Expr& x) { return where(x < 0, -x, x); }

// Whether x is 0, -1, .., a pole of gamma.
inline Expr is_pole(const Expr& x) { return (x <= 0) & (x == floor(x)); }

// sum' c[k] T_k(x) for a series that lists its highest coefficient first and halves the last, by
// Clenshaw's recurrence. source: C. W. Clenshaw, MTAC 9 (1955)
Expr chebyshev(const Expr& x, std::span<const double> coefficients);

}  // namespace heddle::special_internal

namespace heddle::special {

using special_internal::at_least;
using special_internal::at_most;
using special_internal::elementwise;
using special_internal::evaluate;
using special_internal::evaluate_all;
using special_internal::is_pole;
using special_internal::mirrored;
using special_internal::ordered;
using special_internal::Ordered;
using std::numbers::pi;
using trace_internal::any_of;
using trace_internal::Expr;
using trace_internal::polynomial;
using trace_internal::PublicCall;
using Arguments = std::span<const Expr>;

}  // namespace heddle::special
