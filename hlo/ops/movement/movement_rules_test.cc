// Shape rules of ops that move elements, of leaves and of tuples: results, and the errors that
// users read.
#include <gtest/gtest.h>

#include "heddle/hlo/ops/infer_testing.h"

namespace heddle::hlo {
namespace {

using op_testing::infer;

Shape f(std::vector<int64_t> dimensions) { return Shape(f32, std::move(dimensions)); }
Shape s(std::vector<int64_t> dimensions) { return Shape(s32, std::move(dimensions)); }
const Shape kPair = Shape::tuple({f({2}), s({})});

Shape dynamic(Shape shape, int64_t dimension) {
  shape.set_dynamic_dimension(dimension, true);
  return shape;
}

TEST(ParameterRule, TakesTheDeclaredType) {
  EXPECT_EQ(infer(Opcode::kParameter, {}, ParameterAttrs{0}, kPair), "(f32[2], s32[])");
  EXPECT_EQ(infer(Opcode::kParameter, {}, ParameterAttrs{-1}, f({})),
            "parameter: has number -1; must be 0 or more");
}

TEST(ConstantRule, ValueMustHaveTheDeclaredType) {
  EXPECT_EQ(infer(Opcode::kConstant, {}, ConstantAttrs{Literal(f({2}))}, f({3})),
            "constant: value is f32[2]; must be f32[3] as declared");
  EXPECT_EQ(infer(Opcode::kConstant, {}, ConstantAttrs{Literal()}, f({3})),
            "constant: has no value");
}

TEST(IotaRule, DimensionMustBeOfTheResult) {
  EXPECT_EQ(infer(Opcode::kIota, {}, IotaAttrs{2}, f({3, 4})),
            "iota: iota_dimension has 2; must be in [0, 2)");
  EXPECT_EQ(infer(Opcode::kIota, {}, IotaAttrs{0}, f({})),
            "iota: iota_dimension has 0; must be in [0, 0)");
  EXPECT_EQ(infer(Opcode::kIota, {}, IotaAttrs{0}, kPair),
            "iota: result is declared as (f32[2], s32[]); must be an array");
  EXPECT_EQ(infer(Opcode::kIota, {}, IotaAttrs{0}, Shape(pred, {2})),
            "iota: result is declared as pred[2]; must be of numbers, not pred");
}

TEST(IdRules, AreU32) {
  EXPECT_EQ(infer(Opcode::kReplicaId, {}, {}, s({})),
            "replica-id: result is declared as s32[]; must be u32[]");
  EXPECT_EQ(infer(Opcode::kPartitionId, {}, {}, Shape::scalar(u32)), "u32[]");
}

TEST(BroadcastRule, MappedDimensionsMustBeEqual) {
  EXPECT_EQ(infer(Opcode::kBroadcast, {f({3})}, DimensionsAttrs{{1}}, f({2, 3})), "f32[2,3]");
  EXPECT_EQ(
      infer(Opcode::kBroadcast, {f({3})}, DimensionsAttrs{{0}}, f({2, 3})),
      "broadcast: x is f32[3]; its dimension 0 must be 2 as dimension 0 of the result f32[2,3]");
}

TEST(BroadcastRule, RefusesBadDimensionsAndTypes) {
  EXPECT_EQ(infer(Opcode::kBroadcast, {f({3})}, DimensionsAttrs{{}}, f({2, 3})),
            "broadcast: dimensions has 0 entries; must have 1, one for each dimension of x");
  EXPECT_EQ(infer(Opcode::kBroadcast, {f({3, 3})}, DimensionsAttrs{{0, 0}}, f({3, 3})),
            "broadcast: dimensions has 0 twice; each dimension may stand once");
  EXPECT_EQ(infer(Opcode::kBroadcast, {f({3})}, DimensionsAttrs{{INT64_MIN}}, f({3})),
            "broadcast: dimensions has -9223372036854775808; must be in [0, 1)");
  EXPECT_EQ(infer(Opcode::kBroadcast, {f({3})}, DimensionsAttrs{{0}}, s({3})),
            "broadcast: result is declared as s32[3]; its type must be f32 as of x");
  EXPECT_EQ(infer(Opcode::kBroadcast, {kPair}, DimensionsAttrs{{0}}, f({3})),
            "broadcast: x is (f32[2], s32[]); must be an array");
}

TEST(ReshapeRule, KeepsTheNumberOfElements) {
  EXPECT_EQ(infer(Opcode::kReshape, {f({2, 3})}, ReshapeAttrs{}, f({6})), "f32[6]");
  EXPECT_EQ(infer(Opcode::kReshape, {f({2, 3})}, ReshapeAttrs{}, f({5})),
            "reshape: x is f32[2,3] of 6 elements; the result f32[5] has 5; must be equal");
  EXPECT_EQ(infer(Opcode::kReshape, {f({2})}, ReshapeAttrs{}, s({2})),
            "reshape: result is declared as s32[2]; its type must be f32 as of x");
  EXPECT_EQ(infer(Opcode::kReshape, {f({2})}, ReshapeAttrs{.inferred_dimension = 1}, f({2})),
            "reshape: inferred_dimension has 1; must be in [0, 1)");
}

TEST(BitcastRule, KeepsTheWidthOfElements) {
  EXPECT_EQ(infer(Opcode::kBitcast, {f({2})}, {}, s({2, 1})), "s32[2,1]");
  EXPECT_EQ(
      infer(Opcode::kBitcast, {f({2})}, {}, Shape(f64, {1})),
      "bitcast: result is declared as f64[1]; its elements must be as wide as those of x, f32[2]; "
      "use bitcast-convert to change the width");
}

TEST(TransposeRule, PermutesSizesAndDynamicFlags) {
  EXPECT_EQ(infer(Opcode::kTranspose, {f({2, 3, 5})}, DimensionsAttrs{{2, 0, 1}}), "f32[5,2,3]");
  EXPECT_EQ(infer(Opcode::kTranspose, {dynamic(f({2, 3}), 0)}, DimensionsAttrs{{1, 0}}),
            "f32[3,<=2]");
  EXPECT_EQ(infer(Opcode::kTranspose, {f({2, 3})}, DimensionsAttrs{{1, 0}}, f({2, 3})),
            "transpose: result is declared as f32[2,3]; its operands give f32[3,2]");
  EXPECT_EQ(infer(Opcode::kTranspose, {f({2, 3})}, DimensionsAttrs{{1, 1}}),
            "transpose: dimensions has 1 twice; each dimension may stand once");
  EXPECT_EQ(infer(Opcode::kTranspose, {f({2, 3})}, DimensionsAttrs{{1}}),
            "transpose: dimensions has 1 entries; must have 2, one for each dimension of x");
}

TEST(ReverseRule, DimensionsAreOfX) {
  EXPECT_EQ(infer(Opcode::kReverse, {f({2, 3})}, DimensionsAttrs{{1}}), "f32[2,3]");
  EXPECT_EQ(infer(Opcode::kReverse, {f({2, 3})}, DimensionsAttrs{{2}}),
            "reverse: dimensions has 2; must be in [0, 2)");
}

TEST(ConcatenateRule, AddsUpOneDimension) {
  EXPECT_EQ(infer(Opcode::kConcatenate, {f({2, 3}), f({2, 4})}, DimensionsAttrs{{1}}), "f32[2,7]");
  EXPECT_EQ(infer(Opcode::kConcatenate, {f({2, 3}), f({4, 3})}, DimensionsAttrs{{1}}),
            "concatenate: operand 1 is f32[4,3]; dimension 0 must be 2 as in operand 0");
}

TEST(ConcatenateRule, RefusesWhatDoesNotFit) {
  EXPECT_EQ(
      infer(Opcode::kConcatenate, {f({2}), s({2})}, DimensionsAttrs{{0}}),
      "concatenate: operand 1 is s32[2]; its type and rank must be those of operand 0, f32[2]");
  EXPECT_EQ(infer(Opcode::kConcatenate, {f({2})}, DimensionsAttrs{{0, 0}}),
            "concatenate: dimensions is {0,0}; must name exactly one dimension");
  EXPECT_EQ(infer(Opcode::kConcatenate, {}, DimensionsAttrs{{0}}),
            "concatenate: has 0 operands; takes at least 1");
  const Shape huge(s8, {INT64_MAX / 4});
  EXPECT_EQ(infer(Opcode::kConcatenate, {huge, huge, huge, huge, huge}, DimensionsAttrs{{0}}),
            "concatenate: the joined dimension has more than 2^63 - 1 elements; must have fewer");
}

TEST(SliceRule, CountsSteps) {
  EXPECT_EQ(infer(Opcode::kSlice, {f({10, 3})}, SliceAttrs{{{1, 8, 3}, {3, 3, 1}}}), "f32[3,0]");
  EXPECT_EQ(infer(Opcode::kSlice, {f({10})}, SliceAttrs{{{0, 10, INT64_MAX}}}), "f32[1]");
  EXPECT_EQ(infer(Opcode::kSlice, {f({10})}, SliceAttrs{{{0, 11, 1}}}),
            "slice: x is f32[10]; range [0:11] of dimension 0 must lie in [0:10]");
  EXPECT_EQ(infer(Opcode::kSlice, {f({10})}, SliceAttrs{{{0, 10, 0}}}),
            "slice: stride of dimension 0 is 0; must be 1 or more");
  EXPECT_EQ(infer(Opcode::kSlice, {f({10})}, SliceAttrs{}),
            "slice: slice has 0 entries; must have 1, one for each dimension of x");
}

TEST(DynamicSliceRule, TakesOneStartADimension) {
  EXPECT_EQ(infer(Opcode::kDynamicSlice, {f({4, 5}), s({}), s({})}, DynamicSliceAttrs{{1, 2}}),
            "f32[1,2]");
  EXPECT_EQ(infer(Opcode::kDynamicSlice, {f({4, 5}), s({2})}, DynamicSliceAttrs{{1, 2}}),
            "f32[1,2]");
  EXPECT_EQ(
      infer(Opcode::kDynamicSlice, {f({4, 5}), s({})}, DynamicSliceAttrs{{1, 2}}),
      "dynamic-slice: has 1 start indices; must have 2, one for each dimension of x f32[4,5]");
  EXPECT_EQ(infer(Opcode::kDynamicSlice, {f({4}), f({})}, DynamicSliceAttrs{{1}}),
            "dynamic-slice: the start of dimension 0 is f32[]; must be an integer scalar, such as "
            "s32[]");
  EXPECT_EQ(
      infer(Opcode::kDynamicSlice, {f({4, 5}), s({3})}, DynamicSliceAttrs{{1, 2}}),
      "dynamic-slice: start_indices is s32[3]; must be 2 integers, one for each dimension of x: in "
      "s32[2], or each a scalar");
  EXPECT_EQ(infer(Opcode::kDynamicSlice, {f({4}), s({})}, DynamicSliceAttrs{{5}}),
            "dynamic-slice: x is f32[4]; slice size 5 of dimension 0 must be in [0, 4]");
}

TEST(DynamicUpdateSliceRule, UpdateMustFit) {
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({4}), f({2}), s({})}), "f32[4]");
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({}), f({})}), "f32[]");
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({4}), f({5}), s({})}),
            "dynamic-update-slice: update is f32[5]; its dimension 0 must be at most 4 as of x");
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({4}), s({2}), s({})}),
            "dynamic-update-slice: update is s32[2]; its type must be f32 as of x, cast it with "
            "astype(f32)");
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({4}), f({}), s({})}),
            "dynamic-update-slice: update is f32[]; its rank must be 1 as of x; give it axes of "
            "size 1, as expand_dims does");
  EXPECT_EQ(infer(Opcode::kDynamicUpdateSlice, {f({4})}),
            "dynamic-update-slice: has 1 operands; takes at least 2");
}

TEST(PadRule, AddsLowHighAndInterior) {
  EXPECT_EQ(infer(Opcode::kPad, {f({3}), f({})}, PadAttrs{{{1, -2, 4}}}), "f32[10]");
  EXPECT_EQ(infer(Opcode::kPad, {f({0}), f({})}, PadAttrs{{{1, 1, 4}}}), "f32[2]");
  EXPECT_EQ(
      infer(Opcode::kPad, {f({3}), f({})}, PadAttrs{{{-2, -2, 0}}}),
      "pad: x is f32[3]; padding of low -2, high -2 and interior 0 makes the size of dimension "
      "0 -1; must be 0 or more: a negative low or high takes that many away");
  EXPECT_EQ(infer(Opcode::kPad, {f({3}), f({})}, PadAttrs{{{0, 0, -1}}}),
            "pad: interior padding of dimension 0 is -1; must be 0 or more");
  EXPECT_EQ(infer(Opcode::kPad, {f({3}), f({})}, PadAttrs{{{INT64_MAX, 1, 0}}}),
            "pad: the padded size of dimension 0 must fit 63 bits");
  EXPECT_EQ(infer(Opcode::kPad, {f({3}), s({})}, PadAttrs{{{0, 0, 0}}}),
            "pad: value is s32[]; its type must be f32 as of x");
  EXPECT_EQ(infer(Opcode::kPad, {f({3}), f({1})}, PadAttrs{{{0, 0, 0}}}),
            "pad: value is f32[1]; must be a scalar");
}

TEST(UnboundedSizes, AreRefusedWhereSizesAreCalculated) {
  Shape unbounded = f({Shape::kUnbounded});
  unbounded.set_dynamic_dimension(0, true);
  EXPECT_EQ(infer(Opcode::kPad, {unbounded, f({})}, PadAttrs{{{1, 0, 0}}}),
            "pad: x is f32[?]; every dimension must have a size or a bound");
  EXPECT_EQ(infer(Opcode::kReverse, {unbounded}, DimensionsAttrs{{0}}), "f32[?]");
}

TEST(TupleRules, BuildAndTakeApart) {
  EXPECT_EQ(infer(Opcode::kTuple, {f({2}), s({})}), "(f32[2], s32[])");
  EXPECT_EQ(infer(Opcode::kTuple, {}), "()");
  EXPECT_EQ(infer(Opcode::kGetTupleElement, {kPair}, TupleIndexAttrs{1}), "s32[]");
  EXPECT_EQ(infer(Opcode::kGetTupleElement, {kPair}, TupleIndexAttrs{2}),
            "get-tuple-element: index is 2; must be in [0, 2) as x is (f32[2], s32[])");
  EXPECT_EQ(infer(Opcode::kGetTupleElement, {f({2})}, TupleIndexAttrs{0}),
            "get-tuple-element: x is f32[2]; must be a tuple");
  EXPECT_EQ(infer(Opcode::kOptBarrier, {kPair}), "(f32[2], s32[])");
}

TEST(TokenRules, TakeTokens) {
  EXPECT_EQ(infer(Opcode::kAfterAll, {}), "token[]");
  EXPECT_EQ(infer(Opcode::kAfterAll, {Shape::token(), f({})}),
            "after-all: operand 1 is f32[]; must be a token");
  EXPECT_EQ(infer(Opcode::kAddDependency, {f({2}), Shape::token()}), "f32[2]");
}

TEST(DimensionSizeRules, TakeOneDimension) {
  EXPECT_EQ(infer(Opcode::kGetDimensionSize, {f({2, 3})}, DimensionsAttrs{{1}}), "s32[]");
  EXPECT_EQ(infer(Opcode::kGetDimensionSize, {f({2, 3})}, DimensionsAttrs{{}}),
            "get-dimension-size: dimensions is {}; must name exactly one dimension");
  EXPECT_EQ(infer(Opcode::kSetDimensionSize, {f({2, 3}), s({})}, DimensionsAttrs{{1}},
                  dynamic(f({2, 3}), 1)),
            "f32[2,<=3]");
  EXPECT_EQ(infer(Opcode::kSetDimensionSize, {f({2, 3}), f({})}, DimensionsAttrs{{1}}, f({2, 3})),
            "set-dimension-size: size is f32[]; must be s32[]");
  EXPECT_EQ(infer(Opcode::kDynamicReshape, {f({6}), s({}), s({})}, {}, dynamic(f({2, 3}), 0)),
            "f32[<=2,3]");
  EXPECT_EQ(
      infer(Opcode::kDynamicReshape, {f({6}), s({})}, {}, f({2, 3})),
      "dynamic-reshape: has 1 sizes; must have 2, one for each dimension of the result f32[2,3]");
}

// gather of rows: x[indices], with a window of one row.
const GatherAttrs kRows{.offset_dims = {1},
                        .collapsed_slice_dims = {0},
                        .start_index_map = {0},
                        .index_vector_dim = 1,
                        .slice_sizes = {1, 4}};

std::string gather(GatherAttrs attrs) { return infer(Opcode::kGather, {f({9, 4}), s({5})}, attrs); }

TEST(GatherRule, PutsBatchAndSliceTogether) {
  EXPECT_EQ(gather(kRows), "f32[5,4]");
  EXPECT_EQ(infer(Opcode::kGather, {f({9, 4}), s({5, 2, 1})},
                  GatherAttrs{.offset_dims = {0},
                              .collapsed_slice_dims = {0},
                              .start_index_map = {0},
                              .index_vector_dim = 2,
                              .slice_sizes = {1, 3}}),
            "f32[3,5,2]");
  EXPECT_EQ(infer(Opcode::kGather, {f({5, 4}), s({5})},
                  GatherAttrs{.collapsed_slice_dims = {1},
                              .start_index_map = {1},
                              .operand_batching_dims = {0},
                              .start_indices_batching_dims = {0},
                              .index_vector_dim = 1,
                              .slice_sizes = {1, 1}}),
            "f32[5]");
}

TEST(GatherRule, ChecksEveryAttribute) {
  GatherAttrs attrs = kRows;
  attrs.slice_sizes = {1, 5};
  EXPECT_EQ(gather(attrs), "gather: x is f32[9,4]; slice size 5 of dimension 1 must be in [0, 4]");
  attrs.slice_sizes = {2, 4};
  EXPECT_EQ(
      gather(attrs),
      "gather: slice size of dimension 0 is 2; must be 1, as the result has no such dimension");
  attrs = kRows;
  attrs.start_index_map = {2};
  EXPECT_EQ(gather(attrs), "gather: start_index_map has 2; must be in [0, 2)");
  attrs.start_index_map = {0, 1};
  EXPECT_EQ(gather(attrs),
            "gather: start_index_map has 2 entries; must have 1, one for each component of an "
            "index vector");
  attrs = kRows;
  attrs.offset_dims = {2};
  EXPECT_EQ(gather(attrs), "gather: offset_dims has 2; must be in [0, 2)");
  attrs.offset_dims = {};
  EXPECT_EQ(
      gather(attrs),
      "gather: offset_dims has 0 entries; must have 1, one for each slice dimension that is kept");
  attrs = kRows;
  attrs.index_vector_dim = 2;
  EXPECT_EQ(gather(attrs), "gather: index_vector_dim has 2; must be in [0, 2)");
  attrs = kRows;
  attrs.collapsed_slice_dims = {1, 0};
  EXPECT_EQ(gather(attrs), "gather: collapsed_slice_dims is {1,0}; must ascend");
  EXPECT_EQ(infer(Opcode::kGather, {f({9, 4}), f({5})}, kRows),
            "gather: start_indices is f32[5]; must be of integers");
}

TEST(GatherRule, BatchingDimensionsGoOneToOne) {
  GatherAttrs attrs{.offset_dims = {},
                    .collapsed_slice_dims = {1},
                    .start_index_map = {1},
                    .operand_batching_dims = {0},
                    .start_indices_batching_dims = {0},
                    .index_vector_dim = 1,
                    .slice_sizes = {1, 1}};
  EXPECT_EQ(
      gather(attrs),
      "gather: start_indices is s32[5]; its batching dimension 0 must be 9 as dimension 0 of x");
  attrs.start_indices_batching_dims = {};
  EXPECT_EQ(gather(attrs),
            "gather: start_indices_batching_dims has 0 entries; must have 1, one for each operand "
            "batching dimension");
  attrs.start_index_map = {0};
  EXPECT_EQ(
      gather(attrs),
      "gather: start_index_map has 0, which operand_batching_dims has too; must be in one of them");
  attrs.collapsed_slice_dims = {0};
  EXPECT_EQ(gather(attrs),
            "gather: collapsed_slice_dims has 0, which operand_batching_dims has too; must be in "
            "one of them");
}

std::string scatter(const std::vector<Shape>& operands, const ScatterAttrs& attrs,
                    const Computation& computation = op_testing::callee({f({}), f({})}, f({}))) {
  std::vector<const Shape*> shapes;
  for (const Shape& shape : operands) shapes.push_back(&shape);
  const Computation* called[] = {&computation};
  auto shape = infer_shape(Opcode::kScatter, shapes, attrs, called, nullptr);
  return shape.ok() ? to_string(*shape) : base::message_of(shape.status());
}

const ScatterAttrs kIntoRows{.update_window_dims = {1},
                             .inserted_window_dims = {0},
                             .scatter_dims_to_operand_dims = {0},
                             .index_vector_dim = 1};

TEST(ScatterRule, HasTheTypesOfItsInputs) {
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5, 3})}, kIntoRows), "f32[9,4]");
  EXPECT_EQ(scatter({f({9, 4}), s({9, 4}), s({5}), f({5, 3}), s({5, 3})}, kIntoRows,
                    op_testing::callee({f({}), s({}), f({}), s({})}, Shape::tuple({f({}), s({})}))),
            "(f32[9,4], s32[9,4])");
}

TEST(ScatterRule, UpdatesAreBatchAndWindow) {
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5, 6})}, kIntoRows),
            "scatter: operand 2 is f32[5,6]; its window dimension 1 must be at most 4 as dimension "
            "1 of operand 0");
  EXPECT_EQ(
      scatter({f({9, 4}), s({5}), f({6, 4})}, kIntoRows),
      "scatter: operand 2 is f32[6,4]; its dimension 0 must be 5 as dimension 0 of the indices");
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5})}, kIntoRows),
            "scatter: operand 2 is f32[5]; its rank must be 2");
  EXPECT_EQ(scatter({f({9, 4}), s({5}), s({5, 4})}, kIntoRows),
            "scatter: operand 2 is s32[5,4]; its type must be f32 as of operand 0");
}

TEST(ScatterRule, ChecksOperandsAndAttributes) {
  EXPECT_EQ(scatter({f({9, 4}), s({5})}, kIntoRows),
            "scatter: has 2 operands; takes n inputs, the indices and n updates");
  EXPECT_EQ(scatter({f({9, 4}), f({5}), f({5, 4})}, kIntoRows),
            "scatter: operand 1, the indices, is f32[5]; must be of integers");
  ScatterAttrs attrs = kIntoRows;
  attrs.inserted_window_dims = {};
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5, 4})}, attrs),
            "scatter: update_window_dims has 1 entries; must have 2, one for each dimension of "
            "operand 0 that is neither "
            "inserted nor batching");
  attrs = kIntoRows;
  attrs.scatter_dims_to_operand_dims = {-1};
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5, 4})}, attrs),
            "scatter: scatter_dims_to_operand_dims has -1; must be in [0, 2)");
}

TEST(ScatterRule, ChecksTheComputation) {
  EXPECT_EQ(scatter({f({9, 4}), s({5}), f({5, 4})}, kIntoRows, op_testing::callee({f({})}, f({}))),
            "scatter: to_apply takes 1 parameters; must take 2: (f32[], f32[])");
  EXPECT_EQ(
      scatter({f({9, 4}), s({5}), f({5, 4})}, kIntoRows, op_testing::callee({f({}), f({})}, s({}))),
      "scatter: to_apply returns s32[]; must return f32[]");
}

}  // namespace
}  // namespace heddle::hlo
