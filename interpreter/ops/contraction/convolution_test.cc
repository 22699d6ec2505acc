// convolution: against loops over outputs, window and input features.
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/ops/op_testing.h"
#include "heddle/interpreter/ops/reduction/window_testing.h"

namespace heddle::interpreter {
namespace {

using namespace op_testing;
using window_testing::Index;
using window_testing::Random;
using C = std::complex<double>;

struct Sample {
  ConvolutionAttrs attrs;
  Shape x, kernel, result;
};

std::vector<int64_t> placed(const std::vector<int64_t>& order, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = sizes[i];
  return out;
}

// Groups: 1, of features, or of the batch. Dimensions of x, kernel and result stand in any order.
Sample random_sample(Random& random, DType dtype, size_t spatial) {
  Sample out;
  ConvolutionDims& dims = out.attrs.dim_labels;
  const std::vector<int64_t> of_x = random.permutation(spatial + 2),
                             of_kernel = random.permutation(spatial + 2),
                             of_result = random.permutation(spatial + 2);
  dims = {.input_batch = of_x[0],
          .input_feature = of_x[1],
          .input_spatial = {of_x.begin() + 2, of_x.end()},
          .kernel_input_feature = of_kernel[0],
          .kernel_output_feature = of_kernel[1],
          .kernel_spatial = {of_kernel.begin() + 2, of_kernel.end()},
          .output_batch = of_result[0],
          .output_feature = of_result[1],
          .output_spatial = {of_result.begin() + 2, of_result.end()}};
  const int64_t groups = random.in(1, 3), kind = random.in(0, 2);
  out.attrs.feature_group_count = kind == 1 ? groups : 1;
  out.attrs.batch_group_count = kind == 2 ? groups : 1;
  const int64_t batch = random.in(0, 12) == 0 ? 0 : random.in(1, 3),
                inputs = random.in(0, 12) == 0 ? 0 : random.in(1, 3);
  const int64_t outputs = random.in(1, 3) * (kind == 0 ? 1 : groups);
  std::vector<int64_t> x = {batch * out.attrs.batch_group_count,
                            inputs * out.attrs.feature_group_count},
                       kernel = {inputs, outputs}, result = {batch, outputs};
  for (size_t d = 0; d < spatial; ++d) {
    x.push_back(random.in(0, 12) == 0 ? 0 : random.in(1, 5));
    kernel.push_back(random.in(1, 4));
    out.attrs.window.dimensions.push_back(window_testing::random_entry(random, kernel.back()));
    out.attrs.window.dimensions.back().window_reversal = random.coin();
    result.push_back(window_testing::count_places(out.attrs.window.dimensions.back(), x.back()));
  }
  out.x = Shape(dtype, placed(of_x, x));
  out.kernel = Shape(dtype, placed(of_kernel, kernel));
  out.result = Shape(dtype, placed(of_result, result));
  return out;
}

C element(const Literal& x, const Index& at) {
  const auto position = index_testing::position(x.shape().dimensions(), at);
  if (x.shape().dtype() == c64)
    return C(x.values<std::complex<float>>()[static_cast<size_t>(position)]);
  return C(x.to_double(position));
}

std::vector<int64_t> gathered(const Shape& shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> out;
  for (int64_t d : dims) out.push_back(shape.dimension(d));
  return out;
}

// The sum for one index of the result.
C sum_at(const Sample& s, const Literal& x, const Literal& kernel, const Index& out) {
  const ConvolutionDims& dims = s.attrs.dim_labels;
  const auto at = [](Index& index, int64_t d) -> int64_t& { return index[static_cast<size_t>(d)]; };
  Index in_out = out, in_x(out.size()), in_kernel(out.size()), place, found;
  for (int64_t d : dims.output_spatial) place.push_back(at(in_out, d));
  const int64_t output = at(in_out, dims.output_feature),
                outputs = s.kernel.dimension(dims.kernel_output_feature);
  const int64_t inputs = s.kernel.dimension(dims.kernel_input_feature);
  const int64_t feature_group = output / (outputs / s.attrs.feature_group_count);
  const int64_t batch_group = output / (outputs / s.attrs.batch_group_count);
  at(in_x, dims.input_batch) =
      batch_group * s.result.dimension(dims.output_batch) + at(in_out, dims.output_batch);
  at(in_kernel, dims.kernel_output_feature) = output;
  C sum = 0;
  index_testing::for_each_index(gathered(s.kernel, dims.kernel_spatial), [&](const Index& tap) {
    const std::vector<int64_t> base = gathered(s.x, dims.input_spatial);
    if (!window_testing::element_at(s.attrs.window.dimensions, base, place, tap, found)) return;
    for (size_t d = 0; d < tap.size(); ++d) {
      const WindowDimension& w = s.attrs.window.dimensions[d];
      at(in_x, dims.input_spatial[d]) = found[d];
      at(in_kernel, dims.kernel_spatial[d]) = w.window_reversal ? w.size - 1 - tap[d] : tap[d];
    }
    for (int64_t i = 0; i < inputs; ++i) {
      at(in_x, dims.input_feature) = feature_group * inputs + i;
      at(in_kernel, dims.kernel_input_feature) = i;
      sum += element(x, in_x) * element(kernel, in_kernel);
    }
  });
  return sum;
}

// Small whole numbers: every order of the sums gives the same.
Literal whole_numbers(Random& random, const Shape& shape) {
  Literal out(shape);
  const int64_t width = storage_bytes(shape.dtype());
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const Literal value =
        Literal::scalar(shape.dtype(), random.in(is_unsigned(shape.dtype()) ? 0 : -3, 3));
    std::copy_n(value.bytes(), width, out.mutable_bytes() + i * width);
  }
  if (shape.dtype() == c64) {
    for (auto& value : out.mutable_values<std::complex<float>>())
      value += std::complex<float>(0, static_cast<float>(random.in(-3, 3)));
  }
  return out;
}

// Sums past the largest f8e4m3fn are NaN.
bool equal(C a, C b) {
  return a == b || (std::isnan(a.real()) && std::isnan(b.real()) && a.imag() == b.imag());
}

class ConvolutionOf : public ::testing::TestWithParam<DType> {};

TEST_P(ConvolutionOf, AnyFormMatchesLoops) {
  Random random(7);
  for (int round = 0; round < 250; ++round) {
    const Sample s = random_sample(random, GetParam(), static_cast<size_t>(round % 4));
    const Literal x = whole_numbers(random, s.x), kernel = whole_numbers(random, s.kernel);
    SCOPED_TRACE(base::cat("round ", round, window_testing::text_of(s.attrs.window.dimensions),
                           " of ", s.x, " by ", s.kernel));
    const Literal out = op_testing::evaluate(Opcode::kConvolution, {x, kernel}, s.attrs, s.result);
    EXPECT_TRUE(same_type(out.shape(), s.result));
    index_testing::for_each_index(s.result.dimensions(), [&](const Index& at) {
      // Rounded, or wrapped, to the type as its constants are.
      const C want = sum_at(s, x, kernel, at);
      const double real =
          is_integer(GetParam())
              ? Literal::scalar(GetParam(), static_cast<int64_t>(want.real())).to_double(0)
              : Literal::scalar(real_part(GetParam()), want.real()).to_double(0);
      EXPECT_PRED2(equal, element(out, at), C(real, want.imag()));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ConvolutionOf,
                         ::testing::Values(f32, f64, bf16, f16, f8e4m3fn, c64, s8, s32, u8, u64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// x [batch, feature, space], kernel [output, input, space], without padding.
ConvolutionAttrs plain(std::vector<WindowDimension> window) {
  return {.window = {std::move(window)},
          .dim_labels = {.input_batch = 0,
                         .input_feature = 1,
                         .input_spatial = {2},
                         .kernel_input_feature = 1,
                         .kernel_output_feature = 0,
                         .kernel_spatial = {2},
                         .output_batch = 0,
                         .output_feature = 1,
                         .output_spatial = {2}}};
}

Literal row(const std::vector<double>& values, DType dtype = f32) {
  return op_testing::array(dtype, values)
      .reshaped(Shape(dtype, {1, 1, static_cast<int64_t>(values.size())}));
}

// As StableHLO defines it, and as XLA computes it.
TEST(Convolution, PaddingAndHolesAreZerosEvenForInfinity) {
  const ConvolutionAttrs padded = plain({{.size = 3, .padding_low = 1, .padding_high = 1}});
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {row({1, 1}), row({kInf, 1, 1})},
                                           padded, Shape(f32, {1, 1, 2}))),
              ElementsAre(testing::IsNan(), kInf));
  ConvolutionAttrs by_channel = padded;
  by_channel.feature_group_count = 2;
  EXPECT_THAT(
      numbers(op_testing::evaluate(Opcode::kConvolution,
                                   {row({1, 1, 1, 1}).reshaped(Shape(f32, {1, 2, 2})),
                                    row({kInf, 1, 1, 1, 1, 1}).reshaped(Shape(f32, {2, 1, 3}))},
                                   by_channel, Shape(f32, {1, 2, 2}))),
      ElementsAre(testing::IsNan(), kInf, 2, 2));
  const ConvolutionAttrs spread = plain({{.size = 2, .base_dilation = 2}});
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {row({1, 2}), row({kNaN, 3})},
                                           spread, Shape(f32, {1, 1, 2}))),
              ElementsAre(testing::IsNan(), testing::IsNan()));
  const ConvolutionAttrs inside = plain({{.size = 1}});
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {row({0, 1}), row({kInf})}, inside,
                                           Shape(f32, {1, 1, 2}))),
              ElementsAre(testing::IsNan(), kInf));
}

TEST(Convolution, ChannelsByThemselvesMatchLoops) {
  Random random(15);
  const ConvolutionAttrs attrs = [] {
    ConvolutionAttrs out = plain({{.size = 3, .stride = 2, .padding_low = 2, .padding_high = 1}});
    out.feature_group_count = 5;
    return out;
  }();
  for (const DType dtype : {f32, c64, s8}) {
    const Sample s{attrs, Shape(dtype, {2, 5, 7}), Shape(dtype, {5, 1, 3}),
                   Shape(dtype, {2, 5, 4})};
    const Literal x = whole_numbers(random, s.x), kernel = whole_numbers(random, s.kernel);
    const Literal out = op_testing::evaluate(Opcode::kConvolution, {x, kernel}, attrs, s.result);
    index_testing::for_each_index(s.result.dimensions(), [&](const Index& at) {
      EXPECT_EQ(element(out, at), sum_at(s, x, kernel, at)) << to_string(dtype);
    });
  }
}

TEST(Convolution, NaNOfXReachesItsWindowsAlone) {
  const ConvolutionAttrs attrs = plain({{.size = 2}});
  EXPECT_THAT(
      numbers(op_testing::evaluate(Opcode::kConvolution, {row({kNaN, 1, 2, 3}), row({1, 1})}, attrs,
                                   Shape(f32, {1, 1, 3}))),
      ElementsAre(testing::IsNan(), 3, 5));
}

TEST(Convolution, TheResultsTypeIsThatOfTheSums) {
  const ConvolutionAttrs attrs = plain({{.size = 4}});
  const Literal bytes = row({100, 100, 100, 100}, s8);
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {bytes, bytes}, attrs,
                                           Shape(s32, {1, 1, 1}))),
              ElementsAre(40000));
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {bytes, bytes}, attrs,
                                           Shape(s8, {1, 1, 1}))),
              ElementsAre(64));
  const Literal halves = row({256, 1, 1, 1}, bf16), ones = row({1, 1, 1, 1}, bf16);
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {halves, ones}, attrs,
                                           Shape(f32, {1, 1, 1}))),
              ElementsAre(259));
  // 259 is halfway between 258 and 260 in bf16, and goes to the even one; summed in bf16 itself it
  // would stay at 256.
  EXPECT_THAT(numbers(op_testing::evaluate(Opcode::kConvolution, {halves, ones}, attrs,
                                           Shape(bf16, {1, 1, 1}))),
              ElementsAre(260));
}

}  // namespace
}  // namespace heddle::interpreter
