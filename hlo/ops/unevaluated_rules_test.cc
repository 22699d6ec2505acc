// Shape rules of the ops that are verified and passed on, and not evaluated yet: results, and the
// errors that users read.
#include <gtest/gtest.h>

#include "heddle/hlo/ops/infer_testing.h"

namespace heddle::hlo {
namespace {

Shape f(std::vector<int64_t> dimensions) { return Shape(f32, std::move(dimensions)); }
Shape s(std::vector<int64_t> dimensions) { return Shape(s32, std::move(dimensions)); }
Shape c(std::vector<int64_t> dimensions) { return Shape(c64, std::move(dimensions)); }
Shape pair(const Shape& a, const Shape& b) { return Shape::tuple({a, b}); }

const Computation kAddF32 = op_testing::callee({f({}), f({})}, f({}));

// The type as text, or the error.
std::string infer(Opcode opcode, const std::vector<Shape>& operands, const Attrs& attrs,
                  const Shape& declared, const std::vector<Computation>& called = {}) {
  std::vector<const Shape*> shapes;
  for (const Shape& shape : operands) shapes.push_back(&shape);
  std::vector<const Computation*> callees;
  for (const Computation& computation : called) callees.push_back(&computation);
  auto shape =
      infer_shape(opcode, shapes, attrs, callees, declared.is_valid() ? &declared : nullptr);
  return shape.ok() ? to_string(*shape) : base::message_of(shape.status());
}

TEST(TopKRule, GivesValuesAndPositions) {
  EXPECT_EQ(infer(Opcode::kTopK, {f({4, 9})}, TopKAttrs{.k = 3}, {}), "(f32[4,3], s32[4,3])");
  EXPECT_EQ(infer(Opcode::kTopK, {f({4, 9})}, TopKAttrs{.k = 10}, {}),
            "topk: k is 10; must be in [0, 9], the size of the last dimension of x f32[4,9]");
  EXPECT_EQ(infer(Opcode::kTopK, {f({})}, TopKAttrs{.k = 0}, {}),
            "topk: x is f32[]; must have a dimension");
}

const RngAttrs kUniform{RandomDistribution::kUniform};

TEST(RngRules, TakeBoundsAndStates) {
  EXPECT_EQ(infer(Opcode::kRng, {f({}), f({})}, kUniform, f({7})), "f32[7]");
  EXPECT_EQ(infer(Opcode::kRng, {f({}), s({})}, kUniform, f({7})),
            "rng: b is s32[]; its type must be f32 as of a");
  EXPECT_EQ(infer(Opcode::kRng, {f({}), f({})}, RngAttrs{}, f({7})),
            "rng: has no distribution; must be rng_uniform or rng_normal");
  const Shape state(u64, {2});
  EXPECT_EQ(infer(Opcode::kRngBitGenerator, {state}, RngBitGeneratorAttrs{},
                  pair(state, Shape(u32, {9}))),
            "(u64[2], u32[9])");
  EXPECT_EQ(infer(Opcode::kRngBitGenerator, {state}, RngBitGeneratorAttrs{},
                  pair(f({2}), Shape(u32, {9}))),
            "rng-bit-generator: result is declared as (f32[2], u32[9]); must be a pair of the next "
            "state, u64[2], and "
            "an array of bits");
  EXPECT_EQ(infer(Opcode::kRngBitGenerator, {f({2})}, RngBitGeneratorAttrs{}, state),
            "rng-bit-generator: state is f32[2]; must be of unsigned integers");
  EXPECT_EQ(infer(Opcode::kRngGetAndUpdateState, {}, RngDeltaAttrs{1}, f({2})),
            "rng-get-and-update-state: result is declared as f32[2]; must be of integers");
}

TEST(FftRule, RealTransformsKeepHalfTheSpectrum) {
  EXPECT_EQ(infer(Opcode::kFft, {c({3, 8})}, FftAttrs{FftType::kFft, {8}}, c({3, 8})), "c64[3,8]");
  EXPECT_EQ(infer(Opcode::kFft, {f({3, 8})}, FftAttrs{FftType::kRfft, {8}}, c({3, 5})), "c64[3,5]");
  EXPECT_EQ(infer(Opcode::kFft, {c({4, 5})}, FftAttrs{FftType::kIrfft, {4, 8}}, f({4, 8})),
            "f32[4,8]");
  EXPECT_EQ(infer(Opcode::kFft, {f({3, 8})}, FftAttrs{FftType::kRfft, {8}}, c({3, 8})),
            "fft: x is f32[3,8] and the result c64[3,8]; with fft_length 8 dimension 1 must be 8 "
            "on the real side and 5 "
            "on the other");
}

TEST(FftRule, RefusesTypesAndRanks) {
  EXPECT_EQ(infer(Opcode::kFft, {f({8})}, FftAttrs{FftType::kFft, {8}}, c({8})),
            "fft: x is f32[8] and the result c64[8]; FFT takes complex elements");
  EXPECT_EQ(infer(Opcode::kFft, {f({8})}, FftAttrs{FftType::kRfft, {8}}, Shape(c128, {5})),
            "fft: x is f32[8] and the result c128[5]; RFFT takes real to complex elements");
  EXPECT_EQ(infer(Opcode::kFft, {c({8})}, FftAttrs{FftType::kFft, {8, 8}}, c({8})),
            "fft: x is c64[8] and fft_length {8,8}; must have 1 to 3 lengths, for the last "
            "dimensions of x");
  EXPECT_EQ(infer(Opcode::kFft, {f({3, 8})}, FftAttrs{FftType::kRfft, {8}}, c({4, 5})),
            "fft: x is f32[3,8]; dimension 0 must be 4 as in the result c64[4,5]");
}

TEST(FactorRules, TakeSquareMatrices) {
  EXPECT_EQ(infer(Opcode::kCholesky, {f({5, 3, 3})}, CholeskyAttrs{}, f({5, 3, 3})), "f32[5,3,3]");
  EXPECT_EQ(infer(Opcode::kCholesky, {f({3, 4})}, CholeskyAttrs{}, f({3, 4})),
            "cholesky: a is f32[3,4]; must be of floats, and its last two dimensions equal");
  EXPECT_EQ(infer(Opcode::kTriangularSolve, {f({3, 3}), f({3, 7})},
                  TriangularSolveAttrs{.left_side = true}, f({3, 7})),
            "f32[3,7]");
  EXPECT_EQ(
      infer(Opcode::kTriangularSolve, {f({3, 3}), f({3, 7})}, TriangularSolveAttrs{}, f({3, 7})),
      "triangular-solve: b is f32[3,7]; dimension 1 must be 3 as of a");
  EXPECT_EQ(infer(Opcode::kTriangularSolve, {f({3, 3}), f({3, 3})},
                  TriangularSolveAttrs{.transpose_a = TransposeA::kInvalid}, f({3, 3})),
            "triangular-solve: transpose_a is not set; must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
}

TEST(BatchNormRules, HaveOneValueAFeature) {
  const BatchNormAttrs attrs{.epsilon = 1e-3f, .feature_index = 1};
  const Shape all = Shape::tuple({f({8, 5}), f({5}), f({5})});
  EXPECT_EQ(infer(Opcode::kBatchNormTraining, {f({8, 5}), f({5}), f({5})}, attrs, all),
            "(f32[8,5], f32[5], f32[5])");
  EXPECT_EQ(infer(Opcode::kBatchNormTraining, {f({8, 5}), f({5}), f({8})}, attrs, all),
            "batch-norm-training: offset is f32[8]; must have 5 elements, one for each feature of "
            "x f32[8,5]");
  EXPECT_EQ(infer(Opcode::kBatchNormInference, {f({8, 5}), f({5}), f({5}), f({5}), f({5})}, attrs,
                  f({8, 5})),
            "f32[8,5]");
  EXPECT_EQ(
      infer(Opcode::kBatchNormGrad, {f({8, 5}), f({5}), f({5}), f({5}), f({8, 4})}, attrs, all),
      "batch-norm-grad: grad is f32[8,4]; its dimensions must be those of x, f32[8,5]");
  EXPECT_EQ(infer(Opcode::kBatchNormTraining, {f({8, 5}), f({5}), f({5})},
                  BatchNormAttrs{.feature_index = 2}, all),
            "batch-norm-training: feature_index has 2; must be in [0, 2)");
}

WindowAttrs window(std::vector<WindowDimension> dimensions) {
  return {Window{std::move(dimensions)}};
}

TEST(ReduceWindowRule, CountsThePlacesOfTheWindow) {
  const WindowAttrs pooled =
      window({{.size = 3, .stride = 2, .padding_low = 1, .padding_high = 1}});
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, pooled, f({5}), {kAddF32}), "f32[5]");
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, pooled, f({4}), {kAddF32}),
            "reduce-window: result is declared as f32[4]; must be f32[5]");
  const WindowAttrs dilated = window({{.size = 2, .window_dilation = 3, .base_dilation = 2}});
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, dilated, f({14}), {kAddF32}), "f32[14]");
  const WindowAttrs larger = window({{.size = 10}});
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, larger, f({0}), {kAddF32}), "f32[0]");
}

TEST(ReduceWindowRule, RefusesBadWindows) {
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, window({{.size = 0}}), f({9}), {kAddF32}),
            "reduce-window: window size of dimension 0 is 0; must be 1 or more");
  EXPECT_EQ(
      infer(Opcode::kReduceWindow, {f({9}), f({})}, window({{.stride = -1}}), f({9}), {kAddF32}),
      "reduce-window: window stride of dimension 0 is -1; must be 1 or more");
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, window({{.padding_low = INT64_MAX}}),
                  f({9}), {kAddF32}),
            "reduce-window: the padded size of dimension 0 must fit 62 bits");
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({})}, window({{}, {}}), f({9}), {kAddF32}),
            "reduce-window: window has 2 entries; must have 1, one for each dimension that it "
            "moves over");
  EXPECT_EQ(infer(Opcode::kReduceWindow, {f({9}), f({}), f({})}, window({{}}), f({9}), {kAddF32}),
            "reduce-window: has 3 operands; takes n arrays and n initial values");
}

TEST(SelectAndScatterRule, TakesOneSourceValueAWindow) {
  const Computation select = op_testing::callee({f({}), f({})}, Shape::scalar(pred));
  const WindowAttrs twos = window({{.size = 2, .stride = 2}});
  EXPECT_EQ(
      infer(Opcode::kSelectAndScatter, {f({6}), f({3}), f({})}, twos, f({6}), {select, kAddF32}),
      "f32[6]");
  EXPECT_EQ(
      infer(Opcode::kSelectAndScatter, {f({6}), f({4}), f({})}, twos, f({6}), {select, kAddF32}),
      "select-and-scatter: source is f32[4]; must be f32[3], one value for each window on x "
      "f32[6]");
  EXPECT_EQ(
      infer(Opcode::kSelectAndScatter, {f({6}), f({3}), f({})}, twos, f({6}), {kAddF32, kAddF32}),
      "select-and-scatter: select returns f32[]; must return pred[]");
}

// x is [batch, feature, space], the kernel [output, input, space].
ConvolutionAttrs convolution(int64_t size, int64_t groups = 1) {
  ConvolutionAttrs attrs;
  attrs.window.dimensions = {{.size = size}};
  attrs.dim_labels = {.input_batch = 0,
                      .input_feature = 1,
                      .input_spatial = {2},
                      .kernel_input_feature = 1,
                      .kernel_output_feature = 0,
                      .kernel_spatial = {2},
                      .output_batch = 0,
                      .output_feature = 1,
                      .output_spatial = {2}};
  attrs.feature_group_count = groups;
  return attrs;
}

TEST(ConvolutionRule, PutsTheDimensionsTogether) {
  EXPECT_EQ(infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 3, 5})}, convolution(5), f({2, 4, 5})),
            "f32[2,4,5]");
  EXPECT_EQ(
      infer(Opcode::kConvolution, {f({2, 4, 9}), f({4, 1, 5})}, convolution(5, 4), f({2, 4, 5})),
      "f32[2,4,5]");
  EXPECT_EQ(infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 3, 5})}, convolution(5), f({2, 4, 9})),
            "convolution: result is declared as f32[2,4,9]; must be f32[2,4,5]");
}

TEST(ConvolutionRule, ChecksLabelsGroupsAndWindow) {
  EXPECT_EQ(infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 3, 5})}, convolution(4), f({2, 4, 6})),
            "convolution: window size is 4; must be 5 as dimension 2 of the kernel f32[4,3,5]");
  EXPECT_EQ(infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 2, 5})}, convolution(5), f({2, 4, 5})),
            "convolution: x has 3 features in 1 groups; the kernel's input features, 2, must be "
            "those of one group");
  ConvolutionAttrs attrs = convolution(5);
  attrs.dim_labels.output_spatial = {1};
  EXPECT_EQ(infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 3, 5})}, attrs, f({2, 4, 5})),
            "convolution: dim_labels of result has 1 twice; each dimension may stand once");
  EXPECT_EQ(
      infer(Opcode::kConvolution, {f({2, 3, 9}), f({4, 3, 5})}, convolution(5, 0), f({2, 4, 5})),
      "convolution: feature_group_count is 0 and batch_group_count 1; must be 1 or more, and one "
      "of them 1");
}

TEST(SpecialDotRules, CheckPairsOfDimensions) {
  const RaggedDotAttrs attrs{.lhs_contracting_dims = {1},
                             .rhs_contracting_dims = {1},
                             .lhs_ragged_dims = {0},
                             .rhs_group_dims = {0}};
  EXPECT_EQ(infer(Opcode::kRaggedDot, {f({9, 4}), f({3, 4, 5}), s({3})}, attrs, f({9, 5})),
            "f32[9,5]");
  EXPECT_EQ(infer(Opcode::kRaggedDot, {f({9, 4}), f({3, 6, 5}), s({3})}, attrs, f({9, 5})),
            "ragged-dot: y is f32[3,6,5]; dimension 1 must be 4 as dimension 1 of x f32[9,4]");
  EXPECT_EQ(infer(Opcode::kRaggedDot, {f({9, 4}), f({3, 4, 5}), f({3})}, attrs, f({9, 5})),
            "ragged-dot: group_sizes is f32[3]; must be of integers");
}

TEST(CustomCallRule, NeedsATarget) {
  EXPECT_EQ(infer(Opcode::kCustomCall, {f({2})}, CustomCallAttrs{.custom_call_target = "Sharding"},
                  s({3})),
            "s32[3]");
  EXPECT_EQ(infer(Opcode::kCustomCall, {f({2})}, CustomCallAttrs{}, f({2})),
            "custom-call: has no custom_call_target; must name the function to call");
  CustomCallAttrs constrained{.custom_call_target = "f", .constrain_layout = true};
  EXPECT_EQ(
      infer(Opcode::kCustomCall, {f({2})}, constrained, f({2})),
      "custom-call: operand_layout_constraints has 0 entries; must have 1, one for each operand");
}

TEST(CollectiveRules, KeepOrResizeTypes) {
  EXPECT_EQ(infer(Opcode::kAllReduce, {f({2})}, CollectiveAttrs{}, f({2}), {kAddF32}), "f32[2]");
  EXPECT_EQ(infer(Opcode::kAllReduce, {f({2}), f({3})}, CollectiveAttrs{}, pair(f({2}), f({3})),
                  {kAddF32}),
            "(f32[2], f32[3])");
  EXPECT_EQ(infer(Opcode::kAllReduce, {f({2})}, CollectiveAttrs{}, f({3}), {kAddF32}),
            "all-reduce: result is declared as f32[3]; must be f32[2]");
  EXPECT_EQ(infer(Opcode::kAllGather, {f({2, 3})}, CollectiveAttrs{.dimensions = {1}}, f({2, 12})),
            "f32[2,12]");
  EXPECT_EQ(infer(Opcode::kAllGather, {f({2, 3})}, CollectiveAttrs{.dimensions = {1}}, f({2, 13})),
            "all-gather: operand 0 is f32[2,3] and the result f32[2,13]; must differ along "
            "dimension 1 alone, by a whole "
            "factor");
  EXPECT_EQ(infer(Opcode::kReduceScatter, {f({8})}, CollectiveAttrs{.dimensions = {0}}, f({2}),
                  {kAddF32}),
            "f32[2]");
  EXPECT_EQ(infer(Opcode::kAllGather, {f({2})}, CollectiveAttrs{}, f({4})),
            "all-gather: dimensions is {}; must name exactly one dimension");
}

TEST(AsyncRules, PairStartAndDone) {
  const Shape started = Shape::tuple({f({2}), f({4}), Shape::scalar(u32)});
  EXPECT_EQ(infer(Opcode::kAllGatherDone, {started}, {}, f({4})), "f32[4]");
  EXPECT_EQ(infer(Opcode::kAllGatherDone, {started}, {}, f({2})),
            "all-gather-done: result is declared as f32[2]; must be f32[4]");
  EXPECT_EQ(
      infer(Opcode::kCopyStart, {f({2})}, CopyStartAttrs{}, f({2})),
      "copy-start: result is declared as f32[2]; must be a tuple of twice f32[2] and a context");
  EXPECT_EQ(infer(Opcode::kAsyncDone, {f({2})}, AsyncAttrs{}, f({2})),
            "async-done: operand 0 is f32[2]; must be what a start gives");
}

TEST(HostRules, OrderByTokens) {
  const Shape token = Shape::token();
  EXPECT_EQ(infer(Opcode::kInfeed, {token}, InfeedAttrs{}, pair(f({3}), token)),
            "(f32[3], token[])");
  EXPECT_EQ(infer(Opcode::kOutfeed, {f({3}), f({})}, OutfeedAttrs{}, token),
            "outfeed: operand 1 is f32[]; must be a token");
  EXPECT_EQ(infer(Opcode::kRecv, {token}, HostTransferAttrs{}, f({3})),
            "recv: result is declared as f32[3]; must be a tuple of operands and results");
}

TEST(Definitions, StandInOrderAndHaveShapeRules) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpDef& op = definition(static_cast<Opcode>(i));
    EXPECT_EQ(op.opcode, static_cast<Opcode>(i));
    EXPECT_TRUE(static_cast<bool>(op.infer));
  }
}

}  // namespace
}  // namespace heddle::hlo
