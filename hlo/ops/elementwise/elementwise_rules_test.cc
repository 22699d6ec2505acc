// Shape rules of elementwise ops: results, and the errors that users read.
#include <gtest/gtest.h>

#include "heddle/hlo/ops/infer_testing.h"

namespace heddle::hlo {
namespace {

using op_testing::infer;
using enum ComparisonDirection;

TEST(UnaryOp, TypesFollowTheOperand) {
  EXPECT_EQ(infer(Opcode::kAbs, {Shape(c64, {2})}), "f32[2]");
  EXPECT_EQ(infer(Opcode::kReal, {Shape(c128, {})}), "f64[]");
  EXPECT_EQ(infer(Opcode::kImag, {Shape(f16, {3})}), "f16[3]");
  EXPECT_EQ(infer(Opcode::kIsFinite, {Shape(f64, {2, 3})}), "pred[2,3]");
}

TEST(UnaryOp, RefusesElementsThatItHasNoMeaningFor) {
  EXPECT_EQ(infer(Opcode::kExp, {Shape(s32, {2})}),
            "exponential: x is s32[2]; its elements must be floats or complex numbers");
  EXPECT_EQ(infer(Opcode::kFloor, {Shape(c64, {})}),
            "floor: x is c64[]; its elements must be floats");
  EXPECT_EQ(infer(Opcode::kAbs, {Shape(u32, {2})}),
            "abs: x is u32[2]; its elements must be signed integers, floats or complex numbers");
  EXPECT_EQ(infer(Opcode::kNot, {Shape(f32, {2})}),
            "not: x is f32[2]; its elements must be pred or integers");
  EXPECT_EQ(infer(Opcode::kPopcnt, {Shape(pred, {})}),
            "popcnt: x is pred[]; its elements must be integers");
}

TEST(UnaryOp, RefusesTuplesAndTokens) {
  EXPECT_EQ(infer(Opcode::kSqrt, {Shape::tuple({Shape(f32, {})})}),
            "sqrt: x is (f32[]); must be an array");
  EXPECT_EQ(infer(Opcode::kSqrt, {Shape::token()}), "sqrt: x is token[]; must be an array");
}

TEST(BinaryOp, RefusesOperandsOfDifferentTypes) {
  EXPECT_EQ(infer(Opcode::kAdd, {Shape(f32, {2}), Shape(s32, {2})}),
            "add: y is s32[2]; must be f32[2] as x; convert it first");
  EXPECT_EQ(infer(Opcode::kAdd, {Shape(f32, {2}), Shape(f32, {3})}),
            "add: y is f32[3]; must be f32[2] as x; broadcast it first");
  EXPECT_EQ(infer(Opcode::kAdd, {Shape(f32, {2}), Shape(f32, {})}),
            "add: y is f32[]; must be f32[2] as x; broadcast it first");
  EXPECT_EQ(infer(Opcode::kAdd, {Shape(f32, {2}), Shape::token()}),
            "add: y is token[]; must be an array");
}

TEST(BinaryOp, RefusesElementsThatItHasNoMeaningFor) {
  const Shape truth(pred, {2});
  EXPECT_EQ(infer(Opcode::kSubtract, {truth, truth}),
            "subtract: x is pred[2]; its elements must be integers, floats or complex numbers");
  EXPECT_EQ(infer(Opcode::kAnd, {Shape(f32, {}), Shape(f32, {})}),
            "and: x is f32[]; its elements must be pred or integers");
  EXPECT_EQ(infer(Opcode::kShiftLeft, {truth, truth}),
            "shift-left: x is pred[2]; its elements must be integers");
  EXPECT_EQ(infer(Opcode::kAtan2, {Shape(s32, {}), Shape(s32, {})}),
            "atan2: x is s32[]; its elements must be floats or complex numbers");
}

TEST(BinaryOp, IsDynamicWhereAnOperandIs) {
  Shape dynamic(f32, {4, 3});
  dynamic.set_dynamic_dimension(0, true);
  EXPECT_EQ(infer(Opcode::kAdd, {Shape(f32, {4, 3}), dynamic}), "f32[<=4,3]");
}

TEST(BinaryOp, TakesTheKnownSizeForAnUnknownOne) {
  Shape unknown(f32, {Shape::kUnbounded, 3});
  unknown.set_dynamic_dimension(0, true);
  EXPECT_EQ(infer(Opcode::kAdd, {unknown, Shape(f32, {4, 3})}), "f32[4,3]");
  EXPECT_EQ(infer(Opcode::kAdd, {unknown, unknown}), "f32[?,3]");
}

TEST(ComplexOp, IsMadeOfTwoF32OrTwoF64) {
  EXPECT_EQ(infer(Opcode::kComplex, {Shape(f32, {2}), Shape(f32, {2})}), "c64[2]");
  EXPECT_EQ(infer(Opcode::kComplex, {Shape(f16, {2}), Shape(f16, {2})}),
            "complex: x is f16[2]; its elements must be f32 or f64; convert it first");
  EXPECT_EQ(infer(Opcode::kComplex, {Shape(f32, {2}), Shape(f64, {2})}),
            "complex: y is f64[2]; must be f32[2] as x; convert it first");
}

TEST(CompareShape, RefusesOrdersOfComplexNumbers) {
  EXPECT_EQ(
      infer(Opcode::kCompare, {Shape(c64, {2}), Shape(c64, {2})}, CompareAttrs{kLt}),
      "compare: direction is LT; must be EQ or NE, since x is c64[2]; to order complex numbers, "
      "compare their real parts or their abs");
}

TEST(CompareShape, RefusesATypeThatIsNotTheElements) {
  const Shape x(s32, {2});
  EXPECT_EQ(infer(Opcode::kCompare, {x, x}, CompareAttrs{kLt, ComparisonType::kUnsigned}),
            "compare: x is s32[2]; its elements must be pred or unsigned integers");
  EXPECT_EQ(infer(Opcode::kCompare, {x, x}, CompareAttrs{kLt, ComparisonType::kTotalOrder}),
            "compare: x is s32[2]; its elements must be floats");
}

TEST(CompareShape, IsPred) {
  EXPECT_EQ(infer(Opcode::kCompare, {Shape(f32, {2, 3}), Shape(f32, {2, 3})}, CompareAttrs{kLt}),
            "pred[2,3]");
}

TEST(ClampShape, RefusesBoundsOfOtherShapes) {
  EXPECT_EQ(infer(Opcode::kClamp, {Shape(f32, {}), Shape(f32, {2}), Shape(f32, {2})}),
            "clamp: min is f32[]; must be f32[2] as x; broadcast it first");
  EXPECT_EQ(infer(Opcode::kClamp, {Shape(s32, {}), Shape(f32, {2}), Shape(f32, {})}),
            "clamp: min is s32[]; must be f32[], of the elements of x; convert it first");
  EXPECT_EQ(infer(Opcode::kClamp, {Shape(c64, {}), Shape(c64, {2}), Shape(c64, {3})}),
            "clamp: min is c64[]; must be c64[2] as x; broadcast it first");
}

TEST(SelectShape, RefusesOtherPredsAndUnequalSides) {
  EXPECT_EQ(infer(Opcode::kSelect, {Shape(s32, {}), Shape(f32, {2}), Shape(f32, {2})}),
            "select: pred is s32[]; its elements must be pred");
  EXPECT_EQ(infer(Opcode::kSelect, {Shape(pred, {3}), Shape(f32, {2}), Shape(f32, {2})}),
            "select: pred is pred[3]; must be pred[] or pred[2], with the dimensions of on_true");
  EXPECT_EQ(infer(Opcode::kSelect, {Shape(pred, {2}), Shape(f32, {2}), Shape(s32, {2})}),
            "select: on_false is s32[2]; must be f32[2] as on_true; convert it first");
}

TEST(ConvertShape, RefusesWhatIsNoArray) {
  EXPECT_EQ(infer(Opcode::kConvert, {Shape::token()}, {}, Shape(f32, {})),
            "convert: x is token[]; must be an array");
  EXPECT_EQ(infer(Opcode::kConvert, {Shape(f32, {})}, {}, Shape::token()),
            "convert: result is declared as token[]; must be an array");
  EXPECT_EQ(infer(Opcode::kConvert, {Shape(f32, {2})}, {}, Shape(s32, {3})),
            "convert: result is declared as s32[3]; its operands give s32[2]");
}

TEST(BitcastConvertShape, RefusesWhatDoesNotFit) {
  EXPECT_EQ(infer(Opcode::kBitcastConvert, {Shape(u8, {3})}, {}, Shape(u32, {})),
            "bitcast-convert: x is u8[3]; its last dimension must be 4, the u8 that make one u32");
  EXPECT_EQ(infer(Opcode::kBitcastConvert, {Shape(c64, {})}, {}, Shape(f64, {})),
            "bitcast-convert: x is c64[] and the result f64; both must be complex, or neither; "
            "take real and imag");
  EXPECT_EQ(
      infer(Opcode::kBitcastConvert, {Shape(pred, {})}, {}, Shape(u8, {})),
      "bitcast-convert: x is pred[] and the result u8; pred has no bits of its own; use convert");
}

TEST(StochasticConvertShape, WantsOneRandomNumberOfTheWidthAnElement) {
  EXPECT_EQ(
      infer(Opcode::kStochasticConvert, {Shape(f32, {2}), Shape(u16, {2})}, {}, Shape(s8, {2})),
      "stochastic-convert: random is u16[2]; its elements must have 32 bits, as x, f32[2]");
  EXPECT_EQ(
      infer(Opcode::kStochasticConvert, {Shape(f32, {2}), Shape(u32, {3})}, {}, Shape(s8, {2})),
      "stochastic-convert: random is u32[3]; must have the dimensions of x, f32[2]");
}

TEST(ShapeRules, SpeakOfTheFunctionThatWasCalled) {
  const auto said = [](Opcode opcode, const std::string& function, const Shape& x, const Shape& y) {
    const Shape* const two[] = {&x, &y};
    const auto operands = std::span(two).first(y.is_valid() ? 2 : 1);
    return base::message_of(infer_shape(opcode, operands, {}, {}, nullptr, function).status());
  };
  EXPECT_EQ(said(Opcode::kExp, "nn::silu", Shape(s32, {2}), {}),
            "nn::silu: x is s32[2]; its elements must be floats or complex numbers, cast it with "
            "astype(f32)");
  EXPECT_EQ(
      said(Opcode::kPopcnt, "population_count", Shape(f32, {}), {}),
      "population_count: x is f32[]; its elements must be integers, cast it with astype(s32)");
  EXPECT_EQ(said(Opcode::kAdd, "add", Shape(f32, {2}), Shape(f32, {3})),
            "add: y is f32[3]; must be f32[2] as x; broadcast it first");
  const Shape s8s(s8, {2}), f32s(f32, {2});
  const Shape* const random[] = {&f32s, &f32s};
  EXPECT_EQ(
      base::message_of(infer_shape(Opcode::kStochasticConvert, random, {}, {}, &s8s, "f").status()),
      "f: random is f32[2]; its elements must be unsigned integers, cast it with astype(u32)");
}

TEST(ReducePrecisionShape, RefusesFormatsThatAreNone) {
  EXPECT_EQ(infer(Opcode::kReducePrecision, {Shape(f32, {})}, ReducePrecisionAttrs{0, 7}),
            "reduce-precision: exponent_bits is 0; must be 1 or more");
  EXPECT_EQ(infer(Opcode::kReducePrecision, {Shape(f32, {})}, ReducePrecisionAttrs{5, -1}),
            "reduce-precision: mantissa_bits is -1; must be 0 or more");
  EXPECT_EQ(infer(Opcode::kReducePrecision, {Shape(s32, {})}, ReducePrecisionAttrs{5, 2}),
            "reduce-precision: x is s32[]; its elements must be floats");
}

}  // namespace
}  // namespace heddle::hlo
