// Shape rules of elementwise ops: a set of element types that the op accepts, and the result's type
// from the operands'.
#pragma once

#include <string_view>

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

constexpr DType same_dtype(DType dtype) { return dtype; }
constexpr DType always_pred(DType) { return DType::kPred; }
constexpr DType real_part_of(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

// Operand i is an array of an element type in the set `accepts`.
// errors: "not: x is f32[2]; its elements must be pred or integers"
Status check_elements(const InferArgs& in, size_t i, int accepts);

// Operand i has the element type and the dimensions of operand `like`.
// errors: "add: y is f32[3]; must be f32[2] as x; broadcast it first"
Status check_same(const InferArgs& in, size_t i, size_t like);

// Operand 0's shape with the dimensions of an elementwise result: of known size where any operand's
// is, dynamic where any of these is dynamic.
Shape result_dimensions(const InferArgs& in);

// All operands have one type, of the set `accepts`; `result` gives the element type of the result.
StatusOr<Shape> infer_elementwise(const InferArgs& in, int accepts, DType (*result)(DType));

template <int kAccepts, DType (*kResult)(DType) = same_dtype>
StatusOr<Shape> infer_elements(const InferArgs& in) {
  return infer_elementwise(in, kAccepts, kResult);
}

// The definition of an op by the set that it accepts and, where it is another type, its result's. A
// macro, since it defines a constant named after the op.
#define HEDDLE_ELEMENTWISE(op, names, work, actions, ...) \
  const OpDef op##Def = {                                 \
      Opcode::op, names, {work, Rows::kKeptIfAlike, actions}, infer_elements<__VA_ARGS__>};
#define HEDDLE_UNARY(op, ...) HEDDLE_ELEMENTWISE(op, kUnaryOperands, __VA_ARGS__)
#define HEDDLE_BINARY(op, ...) HEDDLE_ELEMENTWISE(op, kBinaryOperands, __VA_ARGS__)

}  // namespace heddle::hlo
