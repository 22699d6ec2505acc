// Expr: what formulas are written in. A number takes the dtype of the tensor beside it and is
// rounded to it, as the formula means it. Private to Heddle's own functions, inside a PublicCall.
//
//   Expr t = (x - 1.0) / (x + 1.0);
//   return where(x > 0.0, log1p(t), x.like(NAN)).tensor();
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

class Expr {
 public:
  Expr(Tensor tensor) : tensor_(std::move(tensor)) {}

  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] Operand operand() const { return tensor_; }
  [[nodiscard]] DType dtype() const { return tensor_.dtype(); }
  [[nodiscard]] const Dimensions& dimensions() const { return tensor_.shape().dimensions(); }

  [[nodiscard]] Expr astype(DType dtype) const { return tensor_.astype(dtype); }
  // The number everywhere, in this one's shape and dtype.
  template <class T>
  requires std::is_arithmetic_v<T> Expr like(T number)
  const { return full_like(tensor_, rounded(number, dtype())); }

 private:
  Tensor tensor_;
};

// What a formula combines: a tensor, or a number of the other one's dtype.
class Term {
 public:
  Term(const Expr& x) : operand_(x.operand()) {}
  template <class T>
  requires std::is_arithmetic_v<T> Term(T number) : operand_(number) {}
  [[nodiscard]] const Operand& operand() const { return operand_; }

 private:
  Operand operand_;
};

namespace expr_internal {

template <class Fn>
Expr combine(Fn fn, const Term& a, const Term& b) {
  const Operand &x = a.operand(), &y = b.operand();
  const DType dtype = (x.is_tensor() ? x : y).tensor().dtype();
  return fn(rounded(x, dtype), rounded(y, dtype));
}

}  // namespace expr_internal

// Each is the function or operator of that name in trace/ops/elementwise/elementwise.h.
#define HEDDLE_UNARY_FORMULA(name)               \
  inline Expr name(const Expr& x) { /* NOLINT */ \
    return heddle::name(x.operand());            \
  }
#define HEDDLE_BINARY_FORMULA(name, op)                                                         \
  inline Expr name(const Term& x, const Term& y) { /* NOLINT */                                 \
    return expr_internal::combine([](Operand a, Operand b) { return heddle::op(a, b); }, x, y); \
  }
HEDDLE_UNARY_FORMULA(abs)
HEDDLE_UNARY_FORMULA(ceil)
HEDDLE_UNARY_FORMULA(cos)
HEDDLE_UNARY_FORMULA(erf)
HEDDLE_UNARY_FORMULA(exp)
HEDDLE_UNARY_FORMULA(expm1)
HEDDLE_UNARY_FORMULA(floor)
HEDDLE_UNARY_FORMULA(is_finite)
HEDDLE_UNARY_FORMULA(is_nan)
HEDDLE_UNARY_FORMULA(log)
HEDDLE_UNARY_FORMULA(log1p)
HEDDLE_UNARY_FORMULA(logistic)
HEDDLE_UNARY_FORMULA(rsqrt)
HEDDLE_UNARY_FORMULA(sign)
HEDDLE_UNARY_FORMULA(sin)
HEDDLE_UNARY_FORMULA(sqrt)
HEDDLE_UNARY_FORMULA(square)
HEDDLE_UNARY_FORMULA(tan)
HEDDLE_UNARY_FORMULA(tanh)
HEDDLE_BINARY_FORMULA(operator+, add)
HEDDLE_BINARY_FORMULA(operator-, subtract)
HEDDLE_BINARY_FORMULA(operator*, multiply)
HEDDLE_BINARY_FORMULA(operator/, divide)
HEDDLE_BINARY_FORMULA(operator%, rem)
HEDDLE_BINARY_FORMULA(operator&, bitwise_and)
HEDDLE_BINARY_FORMULA(operator|, bitwise_or)
HEDDLE_BINARY_FORMULA(operator^, bitwise_xor)
HEDDLE_BINARY_FORMULA(operator<<, shift_left)
HEDDLE_BINARY_FORMULA(operator>>, shift_right_logical)
HEDDLE_BINARY_FORMULA(operator==, equal)
HEDDLE_BINARY_FORMULA(operator!=, not_equal)
HEDDLE_BINARY_FORMULA(operator<, less)
HEDDLE_BINARY_FORMULA(operator<=, less_equal)
HEDDLE_BINARY_FORMULA(operator>, greater)
HEDDLE_BINARY_FORMULA(operator>=, greater_equal)
HEDDLE_BINARY_FORMULA(maximum, maximum)
HEDDLE_BINARY_FORMULA(minimum, minimum)
HEDDLE_BINARY_FORMULA(power, power)
#undef HEDDLE_UNARY_FORMULA
#undef HEDDLE_BINARY_FORMULA

inline Expr operator-(const Expr& x) { return negative(x.operand()); }
inline Expr operator~(const Expr& x) { return bitwise_not(x.operand()); }

// x where the condition is true, else y; one of them may be a number.
inline Expr where(const Expr& condition, const Term& x, const Term& y) {
  if (!x.operand().is_tensor() && !y.operand().is_tensor())
    return heddle::where(condition.operand(), x.operand(), y.operand());
  const DType dtype = (x.operand().is_tensor() ? x : y).operand().tensor().dtype();
  return heddle::where(condition.operand(), rounded(x.operand(), dtype),
                       rounded(y.operand(), dtype));
}
// pred[]: whether any element is true.
inline Expr any_of(const Expr& x) { return any(x.operand()); }

inline Expr sum(const Expr& x, const Reduction& over) { return heddle::sum(x.operand(), over); }
inline Expr mean(const Expr& x, const Reduction& over) { return heddle::mean(x.operand(), over); }

// x of floats. errors: throws Error naming the operand where it is of anything else
Expr floating(std::string_view name, const Operand& x);

// errors: throws Error where x is of integers or pred
void require_inexact(const Operand& x);

// `over` with its axes checked and counted from the start, so that a function in a function that is
// handed it has nothing to say of them. errors: throws Error naming the axis
Reduction checked(const Operand& x, Reduction over);

// c[0] x^(n-1) + .. + c[n-1] by Horner's rule, the highest power first.
Expr polynomial(const Expr& x, std::span<const double> coefficients);

}  // namespace heddle::trace_internal
