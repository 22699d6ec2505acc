// How elementwise ops are evaluated. Each op has a row with its functions on double, 64-bit
// integers and complex<double>: one for each kind of element type that its shape rule accepts.
//
// Evaluation takes blocks of elements through load(), the function and store()
// (hlo/literal/blocks.h): a function is instantiated for a few types, not for thirty, and its
// result is rounded once to the element type. Where double is not enough for an f64 result, a
// function written for any type (auto) is instantiated for long double too, and f64 and c128 use
// that.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

// Applies a function to `count` elements of up to three operands. `bits` is the width of the
// element type, for integers.
// `out` may be one of the operands, and overlaps none in another way.
template <class T>
using Block = void (*)(const T* const* in, int64_t count, int bits, T* out);

namespace elementwise_internal {

// Number of operands of a function on type C: its parameters but for the trailing ones of types
// Extra.
template <class Fn, class C, class... Extra>
constexpr int arity() {
  if constexpr (std::is_invocable_v<Fn, C, Extra...>) return 1;
  if constexpr (std::is_invocable_v<Fn, C, C, Extra...>) return 2;
  return 3;
}

// Computes in C what is stored as T. Extra is int where the function takes the width of the type,
// else nothing.
template <class Fn, class C, class T, class... Extra>
void block(const T* const* in, int64_t count, [[maybe_unused]] int bits, T* out) {
  constexpr int kArity = arity<Fn, C, Extra...>();
  const T* x = in[0];
  const T* y = in[kArity > 1 ? 1 : 0];
  const T* z = in[kArity > 2 ? 2 : 0];
  for (int64_t i = 0; i < count; ++i) {
    const C a = static_cast<C>(x[i]);
    [[maybe_unused]] const C b = static_cast<C>(y[i]);
    [[maybe_unused]] const C c = static_cast<C>(z[i]);
    if constexpr (kArity == 1) out[i] = static_cast<T>(Fn{}(a, static_cast<Extra>(bits)...));
    if constexpr (kArity == 2) out[i] = static_cast<T>(Fn{}(a, b, static_cast<Extra>(bits)...));
    if constexpr (kArity == 3) out[i] = static_cast<T>(Fn{}(a, b, c, static_cast<Extra>(bits)...));
  }
}

}  // namespace elementwise_internal

// A lambda on numbers of type Narrow, or on auto: then also computed in Wide, for results as wide
// as Narrow.
template <class Narrow, class Wide>
struct RoundedFn {
  Block<Narrow> narrow = nullptr;
  Block<Narrow> wide = nullptr;
  constexpr RoundedFn() = default;
  template <class Fn>
  constexpr RoundedFn(Fn) : narrow(elementwise_internal::block<Fn, Narrow, Narrow>) {
    constexpr int kArity = elementwise_internal::arity<Fn, Wide>();
    if constexpr (kArity == 1 && takes<Fn, Wide>())
      wide = elementwise_internal::block<Fn, Wide, Narrow>;
    if constexpr (kArity == 2 && takes<Fn, Wide, Wide>())
      wide = elementwise_internal::block<Fn, Wide, Narrow>;
  }

 private:
  // A lambda on double takes long double too, but gives double.
  template <class Fn, class... Args>
  static constexpr bool takes() {
    if constexpr (std::is_invocable_v<Fn, Args...>)
      return std::is_same_v<std::invoke_result_t<Fn, Args...>, Wide>;
    return false;
  }
};
using RealFn = RoundedFn<double, long double>;
using ComplexFn = RoundedFn<std::complex<double>, std::complex<long double>>;

// A lambda on 64-bit integers and the width in bits: (auto x, int bits). Signed types are given as
// int64_t, unsigned ones and pred as uint64_t; the result is cut to the width.
struct IntegerFn {
  Block<int64_t> on_signed = nullptr;
  Block<int64_t> on_unsigned = nullptr;
  constexpr IntegerFn() = default;
  template <class Fn>
  constexpr IntegerFn(Fn)
      : on_signed(elementwise_internal::block<Fn, int64_t, int64_t, int>),
        on_unsigned(elementwise_internal::block<Fn, uint64_t, int64_t, int>) {}
};

// One elementwise op. All operands have one type.
struct ElementwiseRow {
  RealFn real = {};        // for floats
  IntegerFn integer = {};  // for pred and integers
  ComplexFn complex = {};  // for complex numbers, and where the result alone is complex
};

// Operands of one element are taken for every element of the result. With `read_as`, operands are
// loaded as elements of that type.
Literal evaluate_elementwise(EvalArgs& in, const ElementwiseRow& row,
                             DType read_as = DType::kInvalid);

// An array of the result's type to write to: the buffer of an operand that nobody else holds and
// that has the result's type, moved from it, or else a new one. Take the addresses of the operands
// first: they stay good.
Literal result_buffer(EvalArgs& in);

// The same for scalars.
ScalarOp scalar_elementwise(const ElementwiseRow& row, DType from, DType to);

template <const ElementwiseRow& kRow>
StatusOr<Literal> evaluate_row(EvalArgs& in) {
  return evaluate_elementwise(in, kRow);
}
template <const ElementwiseRow& kRow>
ScalarOp scalar_row(const Attrs&, DType from, DType to) {
  return scalar_elementwise(kRow, from, to);
}

// The evaluation of an op by its row. A macro, since it defines a constant named after the op.
#define HEDDLE_ELEMENTWISE(op, ...)                                     \
  constexpr ElementwiseRow op##Row = __VA_ARGS__;                       \
  const Evaluation op##Evaluation = {.evaluate = evaluate_row<op##Row>, \
                                     .scalar = scalar_row<op##Row>};

}  // namespace heddle::interpreter
