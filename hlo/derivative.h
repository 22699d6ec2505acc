// What each op's derivative is: one rule for its tangent (jvp), and for ops that are linear one for
// its adjoint (transpose). Reverse mode is made of the two: the tangents that the jvp rules write
// are linear in the operands' tangents, and are transposed op by op (transform/derivatives.h). So
// the two modes cannot disagree, and derivatives of any order come for free.
//
// Rules are written as formulas on Values. A tangent that is absent is zero and costs nothing;
// integers and pred have none. Ops whose computations run many times (while, scan, conditional,
// call) are not here: their rules stand where modules are rewritten.
//
// In rules of complex numbers, <a, b> is the real part of sum(a * b), without conjugates.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/slot.h"

namespace heddle::hlo {

class Graph;  // hlo/value.h
class Value;
using Values = std::vector<Value>;

// What a jvp rule sees of y = op(x).
struct JvpArgs {
  Graph& graph;
  const Instruction& of;      // y's, as it stands in the graph
  std::span<const Value> x;   // operands
  std::span<const Value> dx;  // their tangents
  std::span<const Value> y;   // results: one, or the elements of a tuple
  std::span<std::string_view> why_none;  // of each result that has no tangent though others have

  template <class T>
  [[nodiscard]] const T& attrs() const {
    return of.attrs.get<T>();
  }
  // The computation that the op calls.
  [[nodiscard]] const Computation& called(size_t which = 0) const;
  // dx[i]; zeros where it is absent.
  [[nodiscard]] Value full_dx(size_t i) const;
  // The op itself on other operands of the same types.
  [[nodiscard]] Value again(const Values& operands) const;
};

// What a transpose rule sees of an op that is linear in some operands, of floats: of a product in
// one.
struct TransposeArgs {
  Graph& graph;
  const Instruction& of;                 // of another graph; what it calls is in this module
  std::span<const Value> x;              // operands; absent: those that it is linear in
  std::span<const Shape* const> shapes;  // of the operands
  std::span<const Value> ct;             // cotangents of the results

  template <class T>
  [[nodiscard]] const T& attrs() const {
    return of.attrs.get<T>();
  }
  [[nodiscard]] bool is_linear(size_t i) const;
  [[nodiscard]] const Shape& shape(size_t i) const { return *shapes[i]; }
  [[nodiscard]] const Computation& called(size_t which = 0) const;
};

// Tangents of the results, one each. errors: why this instruction has none
using JvpFn = StatusOr<Values> (*)(const JvpArgs&);
// Cotangents of the operands, one each; those of operands that it is not linear in are not read.
// errors: InvalidArgument where it is not linear in the absent operands together; why it has none
using TransposeFn = StatusOr<Values> (*)(const TransposeArgs&);

struct Derivative {
  Slot<JvpFn> jvp;
  Slot<TransposeFn> transpose;
};

// The frontend attribute of a call whose derivative is known by this name, whatever computes it:
//   qr     a -> q, r
//   det    a -> its determinant, the factors and pivots of getrf, 1 or -1 for the pivots
//   pinv   a -> its pseudo-inverse
inline constexpr std::string_view kDerivativeAttribute = "heddle.derivative";
// The frontend attribute of what cuts an array into the parts of devices (SPMDFullToShardShape), or
// joins parts (SPMDShardToFullShape): groups of devices that have the same part, "0,2;1,3".
inline constexpr std::string_view kCopiesAttribute = "heddle.copies";
// The name; "" where there is none.
std::string_view derivative_name(const Instruction& instruction);

// Every op has one: a rule, or the reason for having none.
Derivative derivative_of(Opcode opcode);
// The same, but for what has rules though its opcode has none: LAPACK's calls, shardings, calls
// whose derivative has a name.
Derivative derivative_of(const Instruction& instruction);

// Whether values of the type have tangents: floats and complex numbers.
inline bool has_tangent(const Shape& shape) {
  return is_floating(shape.dtype()) || is_complex(shape.dtype());
}

// a + b, where one may be absent.
Value add(const Value& a, const Value& b);

}  // namespace heddle::hlo
