#include "heddle/cpu/lower/elements/math.h"

#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>

#include "heddle/codegen/math/formulas.h"
#include "heddle/codegen/math/formulas_inverse.h"
#include "heddle/codegen/math/formulas_small.h"
#include "heddle/codegen/math/root_powers.h"

namespace heddle::cpu {
namespace {

// The numbers of formulas.h as nodes: concept Number.
class MaskNode {
 public:
  MaskNode(PlanBuilder* b, NodeId node) : b(b), node(node) {}
  friend MaskNode operator&(MaskNode x, MaskNode y) {
    return {x.b, x.b->binary(Op::kAnd, x.node, y.node)};
  }
  friend MaskNode operator|(MaskNode x, MaskNode y) {
    return {x.b, x.b->binary(Op::kOr, x.node, y.node)};
  }
  friend MaskNode operator!(MaskNode x) {
    return {x.b, x.b->binary(Op::kXor, x.node, x.b->integer(x.b->type(x.node), 1))};
  }
  PlanBuilder* b;
  NodeId node;
};

template <class T>
class NumberNode;

template <class T>
class IntegerNode {
 public:
  IntegerNode(PlanBuilder* b, NodeId node) : b(b), node(node) {}
  friend IntegerNode operator+(IntegerNode x, IntegerNode y) { return x.with(Op::kAdd, y); }
  friend IntegerNode operator-(IntegerNode x, IntegerNode y) { return x.with(Op::kSub, y); }
  friend IntegerNode operator&(IntegerNode x, IntegerNode y) { return x.with(Op::kAnd, y); }
  friend IntegerNode operator|(IntegerNode x, IntegerNode y) { return x.with(Op::kOr, y); }
  friend IntegerNode operator^(IntegerNode x, IntegerNode y) { return x.with(Op::kXor, y); }
  friend IntegerNode operator<<(IntegerNode x, int n) { return x.with(Op::kShl, x.same(n)); }
  friend IntegerNode shift_right_logical(IntegerNode x, int n) {
    return x.with(Op::kLShr, x.same(n));
  }
  friend MaskNode operator==(IntegerNode x, IntegerNode y) {
    return {x.b, x.b->compare(Predicate::kEq, x.node, y.node)};
  }
  friend NumberNode<T> float_from_bits(IntegerNode x) {
    constexpr Scalar kScalar = sizeof(T) == 4 ? Scalar::kF32 : Scalar::kF64;
    return {x.b, x.b->cast(Op::kBitcast, kScalar, x.node)};
  }
  PlanBuilder* b;
  NodeId node;

 private:
  IntegerNode with(Op op, IntegerNode y) const { return {b, b->binary(op, node, y.node)}; }
  IntegerNode same(int64_t value) const { return {b, b->integer(b->type(node), value)}; }
};

template <class T>
class NumberNode {
 public:
  using Scalar = T;
  using Int = IntegerNode<T>;
  using Mask = MaskNode;
  NumberNode(PlanBuilder* b, NodeId node) : b(b), node(node) {}

  [[nodiscard]] NumberNode constant(T value) const { return {b, b->number(b->type(node), value)}; }
  [[nodiscard]] Int int_constant(int64_t value) const {
    return {b, b->integer({kInteger, b->type(node).lanes}, value)};
  }
  friend NumberNode operator+(NumberNode x, NumberNode y) { return x.with(Op::kAdd, y); }
  friend NumberNode operator-(NumberNode x, NumberNode y) { return x.with(Op::kSub, y); }
  friend NumberNode operator*(NumberNode x, NumberNode y) { return x.with(Op::kMul, y); }
  friend NumberNode operator/(NumberNode x, NumberNode y) { return x.with(Op::kDiv, y); }
  friend NumberNode operator-(NumberNode x) { return x.with(Op::kNeg); }
  friend NumberNode fma(NumberNode x, NumberNode y, NumberNode z) {
    return {x.b, x.b->fma(x.node, y.node, z.node)};
  }
  friend NumberNode sqrt(NumberNode x) { return x.with(Op::kSqrt); }
  friend NumberNode abs(NumberNode x) { return x.with(Op::kAbs); }
  friend NumberNode floor(NumberNode x) { return x.with(Op::kFloor); }
  friend NumberNode copysign(NumberNode x, NumberNode y) { return x.with(Op::kCopysign, y); }
  friend NumberNode select(Mask mask, NumberNode x, NumberNode y) {
    return {x.b, x.b->select(mask.node, x.node, y.node)};
  }
  friend NumberNode choose(Mask mask, NumberNode x, NumberNode y) {
    return {x.b, x.b->choose(mask.node, x.node, y.node)};
  }
  friend bool is_one_number(NumberNode x) { return x.b->type(x.node).lanes == 1; }
  friend NumberNode rarely(Mask mask, NumberNode x, NumberNode y) {
    return {x.b, x.b->rarely(mask.node, x.node, y.node)};
  }
  friend Mask operator<(NumberNode x, NumberNode y) { return x.compare(Predicate::kLt, y); }
  friend Mask operator>(NumberNode x, NumberNode y) { return x.compare(Predicate::kGt, y); }
  friend Mask operator>=(NumberNode x, NumberNode y) { return x.compare(Predicate::kGe, y); }
  friend Mask operator<=(NumberNode x, NumberNode y) { return x.compare(Predicate::kLe, y); }
  friend Mask operator==(NumberNode x, NumberNode y) { return x.compare(Predicate::kEq, y); }
  friend Mask operator!=(NumberNode x, NumberNode y) { return x.compare(Predicate::kNe, y); }
  template <class Fn>
  friend NumberNode in_double(NumberNode x, NumberNode y, const Fn& fn) {
    const auto cast = [&](cpu::Scalar to, NodeId node) {
      return x.b->cast(Op::kFloatCast, to, node);
    };
    const NumberNode<double> wide_x(x.b, cast(cpu::Scalar::kF64, x.node)),
        wide_y(x.b, cast(cpu::Scalar::kF64, y.node));
    return {x.b, cast(cpu::Scalar::kF32, fn(wide_x, wide_y).node)};
  }
  friend Int bits(NumberNode x) { return {x.b, x.b->cast(Op::kBitcast, kInteger, x.node)}; }
  PlanBuilder* b;
  NodeId node;

 private:
  static constexpr cpu::Scalar kInteger = sizeof(T) == 4 ? cpu::Scalar::kI32 : cpu::Scalar::kI64;
  [[nodiscard]] NumberNode with(Op op) const { return {b, b->unary(op, node)}; }
  [[nodiscard]] NumberNode with(Op op, NumberNode y) const {
    return {b, b->binary(op, node, y.node)};
  }
  [[nodiscard]] Mask compare(Predicate predicate, NumberNode y) const {
    return {b, b->compare(predicate, node, y.node)};
  }
};

// yes() where any lane of the mask is true, else no().
template <class Yes, class No>
NodeId branch_on(PlanBuilder& b, NodeId mask, Type type, const Yes& yes, const No& no) {
  const Type results[] = {type};
  b.begin_switch(b.select(b.reduce_lanes(Op::kOr, mask), b.index(0), b.index(1)), results);
  b.begin_branch();
  const NodeId first[] = {yes()};
  b.end_branch(first);
  b.begin_branch();
  const NodeId second[] = {no()};
  b.end_branch(second);
  return b.end_switch()[0];
}

// The bits do not depend on whether the exponent is a constant: lanes whose exponent is one of the
// powers by roots take those, on a way of their own.
template <class T>
NumberNode<T> power(NumberNode<T> x, NumberNode<T> y) {
  PlanBuilder& b = *x.b;
  if (b.is_constant(y.node)) {
    const auto simple = pow_by_roots(x, static_cast<T>(b.float_of(y.node)));
    return simple ? *simple : pow(x, y);
  }
  const auto quarters = abs(y * y.constant(4));
  const auto is_simple = (floor(quarters) == quarters) & (quarters <= y.constant(12));
  const NumberNode<T> general = pow(x, y);
  const auto with_roots = [&] {
    NumberNode<T> value = general;
    for (const T exponent : kRootPowers<T>) {
      if (const auto simple = pow_by_roots(x, exponent))
        value = select(y == y.constant(exponent), *simple, value);
    }
    return value.node;
  };
  return {&b,
          branch_on(b, is_simple.node, b.type(x.node), with_roots, [&] { return general.node; })};
}

// The formula's value; not valid where there is none. y is x again where there is one operand.
template <class T>
NodeId formula(MathFunction function, NumberNode<T> x, NumberNode<T> y) {
  switch (function) {
    case MathFunction::k_exp: return exp(x).node;
    case MathFunction::k_expm1: return expm1(x).node;
    case MathFunction::k_log: return log(x).node;
    case MathFunction::k_log1p: return log1p(x).node;
    case MathFunction::k_sin: return sin(x).node;
    case MathFunction::k_cos: return cos(x).node;
    case MathFunction::k_tan: return tan(x).node;
    case MathFunction::k_atan: return atan2(x, x.constant(1)).node;
    case MathFunction::k_asin: return asin(x).node;
    case MathFunction::k_acos: return acos(x).node;
    case MathFunction::k_asinh: return asinh(x).node;
    case MathFunction::k_acosh: return acosh(x).node;
    case MathFunction::k_atanh: return atanh(x).node;
    case MathFunction::k_sinh: return sinh(x).node;
    case MathFunction::k_cosh: return cosh(x).node;
    case MathFunction::k_tanh: return tanh(x).node;
    case MathFunction::k_erf: return erf(x).node;
    case MathFunction::k_cbrt: return cbrt(x).node;
    case MathFunction::k_pow: return power(x, y).node;
    case MathFunction::k_atan2: return atan2(x, y).node;
    case MathFunction::k_fmod: return fmod_of_near(x, y).node;
    default: return {};
  }
}

bool is_trigonometric(MathFunction function) {
  return function == MathFunction::k_sin || function == MathFunction::k_cos ||
         function == MathFunction::k_tan;
}

bool needs_fma(MathFunction function, Scalar scalar) {
  switch (function) {
    case MathFunction::k_asin:
    case MathFunction::k_acos:
    case MathFunction::k_asinh:
    case MathFunction::k_acosh:
    case MathFunction::k_atanh:
    case MathFunction::k_fmod: return true;
    case MathFunction::k_pow: return scalar == Scalar::kF64;
    default: return is_trigonometric(function);
  }
}

// Lanes beyond the range of the formula that gave `value`; not valid: it has none.
template <class T>
NodeId far_lanes(PlanBuilder& b, MathFunction function, NumberNode<T> x, NodeId value) {
  if (function == MathFunction::k_fmod) return b.compare(Predicate::kNe, value, value);
  if (!is_trigonometric(function)) return {};
  return b.compare(Predicate::kGt, b.unary(Op::kAbs, x.node),
                   x.constant(kTrigonometricBound<T>).node);
}

// |x|, where it is a power of two that fmod_of_power() takes.
template <class T>
std::optional<T> taken_power(PlanBuilder& b, NodeId x) {
  if (!b.is_constant(x)) return std::nullopt;
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const T value = std::abs(std::bit_cast<T>(static_cast<Bits>(b.bits_of(x))));
  int exponent = 0;
  if (std::frexp(value, &exponent) != T(0.5) || std::abs(exponent - 1) > 60) return std::nullopt;
  return value;
}

template <class T>
NodeId write(PlanBuilder& b, MathFunction function, std::initializer_list<NodeId> operands) {
  const NodeId first = *operands.begin(), last = *(operands.end() - 1);
  const int32_t lanes = std::max(b.type(first).lanes, b.type(last).lanes);
  const NumberNode<T> x(&b, b.splat(first, lanes)), y(&b, b.splat(last, lanes));
  const Type type = b.type(x.node);
  const auto by_formula = [&] {
    if (const auto by = function == MathFunction::k_fmod ? taken_power<T>(b, last) : std::nullopt) {
      const PlanBuilder::Exact exact(b);
      return fmod_of_power(x, *by).node;
    }
    NodeId value;
    {
      const PlanBuilder::Exact exact(b);
      value = formula<T>(function, x, y);
    }
    // A far lane takes the library's way, and all others with it.
    const NodeId far = far_lanes(b, function, x, value);
    if (!far.valid()) return value;
    const auto by_library = [&] {
      return operands.size() == 2 ? b.math(function, {x.node, y.node}) : b.math(function, {x.node});
    };
    return branch_on(b, far, type, by_library, [&] { return value; });
  };
  if (function != MathFunction::k_fmod || lanes > 1) return by_formula();
  // A loop that keeps a number in a range mostly finds it there, and waits for nothing then.
  return branch_on(
      b, (abs(x) < abs(y)).node, type, [&] { return x.node; }, by_formula);
}

}  // namespace

NodeId write_math(PlanBuilder& builder, MathFunction function,
                  std::initializer_list<NodeId> operands) {
  const Scalar scalar = builder.type(*operands.begin()).scalar;
  if (needs_fma(function, scalar) && !builder.has_fma()) return builder.math(function, operands);
  return scalar == Scalar::kF64 ? write<double>(builder, function, operands)
                                : write<float>(builder, function, operands);
}

NodeId write_small_tanh(PlanBuilder& builder, NodeId x) {
  const PlanBuilder::Exact exact(builder);
  return tanh_of_small(NumberNode<float>(&builder, x)).node;
}

namespace {

template <class T>
NodeId rsqrt_of(PlanBuilder& builder, NumberNode<T> x) {
  const PlanBuilder::Exact exact(builder);
  const auto estimate = [&](NumberNode<T> of) {
    return NumberNode<T>(&builder, builder.unary(Op::kRsqrtEstimate, of.node));
  };
  if (builder.has_rsqrt_estimate()) return rsqrt_from(x, estimate(x)).node;
  if constexpr (std::is_same_v<T, float>) {
    if (builder.has_rough_rsqrt()) return rsqrt_from_rough(x, estimate(x)).node;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (builder.has_fma()) return rsqrt_corrected(x).node;
  }
  return rsqrt(x).node;
}

}  // namespace

NodeId write_rsqrt(PlanBuilder& builder, NodeId x) {
  return builder.type(x).scalar == Scalar::kF64 ? rsqrt_of(builder, NumberNode<double>(&builder, x))
                                                : rsqrt_of(builder, NumberNode<float>(&builder, x));
}

NodeId write_exp_plus(PlanBuilder& builder, NodeId x, NodeId c) {
  const PlanBuilder::Exact exact(builder);
  const int32_t lanes = builder.type(x).lanes;
  const auto sum = [&]<class T>(T) {
    return exp_plus(NumberNode<T>(&builder, x), NumberNode<T>(&builder, builder.splat(c, lanes)));
  };
  return builder.type(x).scalar == Scalar::kF64 ? sum(0.0).node : sum(0.0F).node;
}

NodeId write_logistic(PlanBuilder& builder, NodeId x) {
  const PlanBuilder::Exact exact(builder);
  if (builder.type(x).scalar == Scalar::kF64) return logistic(NumberNode<double>(&builder, x)).node;
  return logistic(NumberNode<float>(&builder, x)).node;
}

}  // namespace heddle::cpu
