// Shape rules of the region ops and of dot: results, and the errors that users read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/op.h"

namespace heddle::hlo {
namespace {

using ::testing::HasSubstr;

Shape f(std::vector<int64_t> dimensions) { return Shape(f32, std::move(dimensions)); }
Shape s(std::vector<int64_t> dimensions) { return Shape(s32, std::move(dimensions)); }
const Shape kPred = Shape::scalar(pred);

// A computation of these parameter and result types, which is all that shape rules look at.
Computation callee(const std::vector<Shape>& parameters, const Shape& result) {
  Module none;
  ComputationBuilder builder(none);
  for (const Shape& shape : parameters) builder.parameter(shape);
  InstructionId root = builder.constant(Literal(result));
  return std::move(builder).finish(root);
}

// The inferred type as text, or the error.
std::string infer(Opcode opcode, const std::vector<Shape>& operands, const Attrs& attrs,
                  const std::vector<Computation>& called, const Shape* declared = nullptr) {
  std::vector<const Shape*> shapes;
  for (const Shape& shape : operands) shapes.push_back(&shape);
  std::vector<const Computation*> callees;
  for (const Computation& computation : called) callees.push_back(&computation);
  auto shape = infer_shape(opcode, shapes, attrs, callees, declared);
  return shape.ok() ? to_string(*shape) : base::message_of(shape.status());
}

TEST(CallShape, IsTheCalleesResult) {
  EXPECT_EQ(infer(Opcode::kCall, {f({2}), s({})}, CallAttrs{}, {callee({f({2}), s({})}, f({7}))}),
            "f32[7]");
}

TEST(CallShape, ArgumentsMustHaveTheParametersTypes) {
  EXPECT_EQ(infer(Opcode::kCall, {f({2})}, CallAttrs{}, {callee({f({3})}, f({}))}),
            "call: callee takes f32[3] as parameter 0; must take f32[2]");
  EXPECT_EQ(infer(Opcode::kCall, {f({2})}, CallAttrs{}, {callee({}, f({}))}),
            "call: callee takes 0 parameters; must take 1: (f32[2])");
}

TEST(CallShape, ACalleeWithoutItsParametersIsAnError) {
  Computation broken = callee({f({})}, f({}));
  broken.parameters[0] = InstructionId(77);
  EXPECT_EQ(infer(Opcode::kCall, {f({})}, CallAttrs{}, {broken}),
            "call: callee has no parameter 0");
  broken.root = InstructionId();
  EXPECT_EQ(infer(Opcode::kCall, {f({})}, CallAttrs{}, {broken}), "call: callee has no root");
}

TEST(WhileShape, IsTheState) {
  const Shape state = Shape::tuple({f({2}), s({})});
  EXPECT_EQ(infer(Opcode::kWhile, {state}, {}, {callee({state}, state), callee({state}, kPred)}),
            "(f32[2], s32[])");
}

TEST(WhileShape, BodyMustReturnTheState) {
  const Shape state = Shape::tuple({f({2})});
  EXPECT_EQ(infer(Opcode::kWhile, {state}, {},
                  {callee({state}, Shape::tuple({f({3})})), callee({state}, kPred)}),
            "while: body returns (f32[3]); must return (f32[2]), the type of the state");
  EXPECT_EQ(infer(Opcode::kWhile, {state}, {}, {callee({f({2})}, state), callee({state}, kPred)}),
            "while: body takes f32[2] as parameter 0; must take (f32[2])");
}

TEST(WhileShape, ConditionMustReturnPred) {
  EXPECT_EQ(infer(Opcode::kWhile, {s({})}, {}, {callee({s({})}, s({})), callee({s({})}, s({}))}),
            "while: condition returns s32[]; must return pred[]");
}

TEST(ConditionalShape, IsWhatEveryBranchReturns) {
  EXPECT_EQ(infer(Opcode::kConditional, {kPred, f({2}), s({})}, {},
                  {callee({f({2})}, f({5})), callee({s({})}, f({5}))}),
            "f32[5]");
}

TEST(ConditionalShape, ErrorsNameTheBranch) {
  const Computation branch = callee({f({})}, f({}));
  EXPECT_EQ(
      infer(Opcode::kConditional, {s({}), f({}), f({})}, {}, {branch, callee({f({})}, s({}))}),
      "conditional: branch 1 returns s32[]; must return f32[] as branch 0");
  EXPECT_EQ(infer(Opcode::kConditional, {f({}), f({})}, {}, {branch}),
            "conditional: index is f32[]; must be s32[] or pred[]");
  EXPECT_EQ(infer(Opcode::kConditional, {kPred, f({})}, {}, {branch}),
            "conditional: index is pred[] and chooses among 1 branches; must be s32[] unless there "
            "are 2");
  EXPECT_THAT(infer(Opcode::kConditional, {s({}), f({})}, {}, {branch, branch}),
              HasSubstr("has 2 operands for 2 branches"));
  EXPECT_EQ(infer(Opcode::kConditional, {}, {}, {}),
            "conditional: has no branches; takes one or more");
  EXPECT_EQ(infer(Opcode::kConditional, {}, {}, {branch}),
            "conditional: has no index; takes the index and one argument a branch");
}

const ScanAttrs kScan{.dimensions = {0}, .num_carries = 1};

TEST(ScanShape, StacksOutputsAndKeepsCarries) {
  const Computation body = callee({f({3}), s({}), f({2})}, Shape::tuple({s({4}), f({2})}));
  EXPECT_EQ(infer(Opcode::kScan, {f({5, 3}), s({5}), f({2})}, kScan, {body}), "(s32[5,4], f32[2])");
}

TEST(ScanShape, DimensionNeedNotBeTheFirst) {
  const Computation body = callee({f({3}), f({2})}, Shape::tuple({s({4, 6}), f({2})}));
  ScanAttrs attrs{.dimensions = {1}, .num_carries = 1};
  EXPECT_EQ(infer(Opcode::kScan, {f({3, 5}), f({2})}, attrs, {body}), "(s32[4,5,6], f32[2])");
}

TEST(ScanShape, LengthWithoutInputsIsTheDeclaredOne) {
  const Computation body = callee({f({})}, Shape::tuple({s({}), f({})}));
  const Shape declared = Shape::tuple({s({9}), f({})});
  EXPECT_EQ(infer(Opcode::kScan, {f({})}, kScan, {body}, &declared), "(s32[9], f32[])");
  EXPECT_THAT(infer(Opcode::kScan, {f({})}, kScan, {body}), HasSubstr("has no inputs"));
}

TEST(ScanShape, CarryMustLeaveAsItEnters) {
  const Computation body = callee({f({}), f({2})}, Shape::tuple({s({}), f({3})}));
  EXPECT_EQ(infer(Opcode::kScan, {f({5}), f({2})}, kScan, {body}),
            "scan: carry 0 enters the body as f32[2] and leaves it as f32[3]; must leave it as it "
            "enters");
}

TEST(ScanShape, InputsMustAgreeInLength) {
  const Computation body = callee({f({}), f({}), f({})}, f({}));
  EXPECT_EQ(infer(Opcode::kScan, {f({5}), f({4}), f({})}, kScan, {body}),
            "scan: input 1 is f32[4]; dimension 0 must be 5 as in input 0");
  EXPECT_EQ(infer(Opcode::kScan, {f({}), f({4}), f({})}, kScan, {body}),
            "scan: input 0 is f32[]; must be an array with dimension 0, which is scanned");
}

TEST(ScanShape, HostileAttributesAreErrors) {
  const Computation body = callee({f({})}, f({}));
  EXPECT_THAT(infer(Opcode::kScan, {f({})}, ScanAttrs{.dimensions = {0}, .num_carries = 2}, {body}),
              HasSubstr("num_carries is 2; must be 0 .. 1"));
  EXPECT_THAT(
      infer(Opcode::kScan, {f({})}, ScanAttrs{.dimensions = {0}, .num_carries = -1}, {body}),
      HasSubstr("num_carries is -1"));
  EXPECT_THAT(infer(Opcode::kScan, {f({})}, ScanAttrs{.num_carries = 1}, {body}),
              HasSubstr("has dimensions {}; takes exactly one"));
  const Computation two = callee({f({}), f({})}, Shape::tuple({f({}), f({})}));
  EXPECT_THAT(
      infer(Opcode::kScan, {f({}), f({})}, ScanAttrs{.dimensions = {-9}, .num_carries = 1}, {two}),
      HasSubstr("must be an array with dimension -9"));
}

TEST(MapShape, HasTheOperandsDimensionsAndTheBodysType) {
  EXPECT_EQ(infer(Opcode::kMap, {f({2, 3}), s({2, 3})}, DimensionsAttrs{{0, 1}},
                  {callee({f({}), s({})}, kPred)}),
            "pred[2,3]");
}

TEST(MapShape, ErrorsNameTheOperand) {
  EXPECT_EQ(
      infer(Opcode::kMap, {f({2}), s({3})}, DimensionsAttrs{{0}}, {callee({f({}), s({})}, kPred)}),
      "map: operand 1 is s32[3]; must have the dimensions of operand 0, f32[2]");
  EXPECT_EQ(infer(Opcode::kMap, {f({2, 2})}, DimensionsAttrs{{1, 0}}, {callee({f({})}, kPred)}),
            "map: has dimensions {1,0}; must be 0 .. 1");
}

TEST(ReduceShape, DropsTheDimensions) {
  EXPECT_EQ(infer(Opcode::kReduce, {f({2, 3, 4}), f({})}, DimensionsAttrs{{0, 2}},
                  {callee({f({}), f({})}, f({}))}),
            "f32[3]");
  const Computation both = callee({f({}), s({}), f({}), s({})}, Shape::tuple({f({}), s({})}));
  EXPECT_EQ(
      infer(Opcode::kReduce, {f({2, 3}), s({2, 3}), f({}), s({})}, DimensionsAttrs{{1}}, {both}),
      "(f32[2], s32[2])");
}

TEST(ReduceShape, HostileDimensionsAreErrors) {
  const Computation sum = callee({f({}), f({})}, f({}));
  EXPECT_EQ(infer(Opcode::kReduce, {f({2}), f({})}, DimensionsAttrs{{1}}, {sum}),
            "reduce: dimensions has 1; must be in [0, 1) as of f32[2]");
  EXPECT_EQ(infer(Opcode::kReduce, {f({2}), f({})}, DimensionsAttrs{{0, 0}}, {sum}),
            "reduce: dimensions has 0 twice; each dimension may stand once");
  EXPECT_EQ(infer(Opcode::kReduce, {f({2})}, DimensionsAttrs{{0}}, {sum}),
            "reduce: has 1 operands; takes inputs and as many initial values");
}

TEST(ReduceShape, ReducerMustCombineTheInitialValues) {
  EXPECT_EQ(infer(Opcode::kReduce, {f({2}), f({})}, DimensionsAttrs{{0}},
                  {callee({f({}), f({})}, s({}))}),
            "reduce: to_apply returns s32[]; must return f32[]");
  EXPECT_EQ(infer(Opcode::kReduce, {f({2}), f({})}, DimensionsAttrs{{0}},
                  {callee({f({}), s({})}, f({}))}),
            "reduce: to_apply takes s32[] as parameter 1; must take f32[]");
}

TEST(SortShape, IsTheOperands) {
  const Computation less = callee({f({}), f({}), s({}), s({})}, kPred);
  EXPECT_EQ(infer(Opcode::kSort, {f({4, 2}), s({4, 2})}, SortAttrs{.dimensions = {1}}, {less}),
            "(f32[4,2], s32[4,2])");
}

TEST(SortShape, ComparatorMustFit) {
  EXPECT_EQ(
      infer(Opcode::kSort, {f({4})}, SortAttrs{.dimensions = {0}}, {callee({f({}), f({})}, f({}))}),
      "sort: comparator returns f32[]; must return pred[]");
  EXPECT_EQ(infer(Opcode::kSort, {f({4})}, SortAttrs{.dimensions = {0}}, {callee({f({})}, kPred)}),
            "sort: comparator takes 1 parameters; must take 2: (f32[], f32[])");
}

TEST(DotShape, IsBatchThenFreeOfLhsThenFreeOfRhs) {
  const Shape declared = f({7, 2, 3, 5});
  DotAttrs attrs{.lhs_batch_dims = {2},
                 .lhs_contracting_dims = {1},
                 .rhs_batch_dims = {0},
                 .rhs_contracting_dims = {2}};
  EXPECT_EQ(infer(Opcode::kDot, {f({2, 4, 7, 3}), f({7, 5, 4})}, attrs, {}, &declared),
            "f32[7,2,3,5]");
}

TEST(DotShape, ContractedSizesMustAgree) {
  const Shape declared = f({2, 2});
  DotAttrs attrs{.lhs_contracting_dims = {1}, .rhs_contracting_dims = {0}};
  EXPECT_EQ(
      infer(Opcode::kDot, {f({2, 3}), f({4, 2})}, attrs, {}, &declared),
      "dot: rhs is f32[4,2]; contracting dimension 0 must be 3 as dimension 1 of lhs, f32[2,3]");
}

TEST(DotShape, HostileDimensionsAreErrors) {
  const Shape declared = f({2, 2});
  EXPECT_EQ(infer(Opcode::kDot, {f({2, 3}), f({3, 2})}, DotAttrs{.lhs_contracting_dims = {2}}, {},
                  &declared),
            "dot: lhs dimensions has 2; must be in [0, 2) as of f32[2,3]");
  DotAttrs twice{.rhs_batch_dims = {1}, .rhs_contracting_dims = {1}};
  EXPECT_EQ(infer(Opcode::kDot, {f({2, 3}), f({3, 2})}, twice, {}, &declared),
            "dot: rhs dimensions has 1 twice; each dimension may stand once");
}

}  // namespace
}  // namespace heddle::hlo
