// What elementwise ops are made of: a row with the op's functions on double, 64-bit integers and
// complex<double>. Shape rule and evaluation follow from the row, for every element type.
//
// Evaluation takes blocks of elements through load(), the function and store() (hlo/blocks.h): a
// function is instantiated for a few types, not for thirty, and its result is rounded once to the
// element type. Where double is not enough for an f64 result, a function written for any type
// (auto) is instantiated for long double too, and f64 and c128 use that.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/hlo/op.h"

namespace heddle::hlo {

// Sets of element types.
inline constexpr int kPreds = 1;
inline constexpr int kSigned = 2;
inline constexpr int kUnsigned = 4;
inline constexpr int kIntegers = kSigned | kUnsigned;
inline constexpr int kFloats = 8;
inline constexpr int kComplexes = 16;

inline constexpr std::string_view kUnaryOperands[] = {"x"};
inline constexpr std::string_view kBinaryOperands[] = {"x", "y"};

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

constexpr DType same_dtype(DType dtype) { return dtype; }
constexpr DType always_pred(DType) { return DType::kPred; }
constexpr DType real_part_of(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

// One elementwise op. All operands have one type.
struct ElementwiseRow {
  int accepts = 0;                        // a sum of kPreds .. kComplexes
  DType (*result)(DType x) = same_dtype;  // the result's element type
  RealFn real = {};                       // for kFloats
  IntegerFn integer = {};                 // for kPreds and kIntegers
  ComplexFn complex = {};                 // for kComplexes, and where the result alone is complex
};

// Operand i is an array of an element type in the set `accepts`.
// errors: "not: x is f32[2]; its elements must be pred or integers"
Status check_elements(const InferArgs& in, size_t i, int accepts);

// Operand i has the element type and the dimensions of operand `like`.
// errors: "add: y is f32[3]; must be f32[2] as x; broadcast it first"
Status check_same(const InferArgs& in, size_t i, size_t like);

// Operand 0's shape with the dimensions of an elementwise result: of known size where any operand's
// is, dynamic where any of these is dynamic.
Shape result_dimensions(const InferArgs& in);

StatusOr<Shape> infer_elementwise(const InferArgs& in, const ElementwiseRow& row);

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
StatusOr<Shape> infer_row(const InferArgs& in) {
  return infer_elementwise(in, kRow);
}
template <const ElementwiseRow& kRow>
StatusOr<Literal> evaluate_row(EvalArgs& in) {
  return evaluate_elementwise(in, kRow);
}
template <const ElementwiseRow& kRow>
ScalarOp scalar_row(const Attrs&, DType from, DType to) {
  return scalar_elementwise(kRow, from, to);
}

// The definition of an op from its row. A macro, since it defines a constant named after the op.
#define HEDDLE_ELEMENTWISE(op, names, ...)                            \
  constexpr ElementwiseRow op##Row = __VA_ARGS__;                     \
  constinit const OpDef op##Def = {.opcode = Opcode::op,              \
                                   .operand_names = names,            \
                                   .infer = infer_row<op##Row>,       \
                                   .evaluate = evaluate_row<op##Row>, \
                                   .scalar = scalar_row<op##Row>};
#define HEDDLE_UNARY(op, ...) HEDDLE_ELEMENTWISE(op, kUnaryOperands, __VA_ARGS__)
#define HEDDLE_BINARY(op, ...) HEDDLE_ELEMENTWISE(op, kBinaryOperands, __VA_ARGS__)

}  // namespace heddle::hlo
