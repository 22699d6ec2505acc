// Reductions: the dtypes of their results, the names and lines in their errors.
#include "heddle/trace/ops/reduction/reductions.h"

#include <complex>
#include <functional>
#include <string>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/run/program_lines_test.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(Reductions, ReduceTakesAFunctionOfTwoAndOnesByName) {
  const Tensor x = array<float>({{1, 5, 3}, {4, 2, 6}});
  EXPECT_THAT(reduce(x, 0.0f, maximum, {0}).to_vector<float>(), ElementsAre(4, 5, 6));
  EXPECT_THAT(reduce(
                  x, 0, [](Tensor a, Tensor b) { return a + b; }, 1)
                  .to_vector<float>(),
              ElementsAre(9, 12));
  EXPECT_EQ(reduce({x}, {zeros({})}, maximum, {0, 1})[0].item<float>(), 6);
  EXPECT_EQ(
      reduce({x}, {ones({})}, [](Tensor a, Tensor b) { return a * b; }, {0, 1})[0].item<float>(),
      720);
  const auto least = [](auto a, auto b) { return minimum(a, b); };  // generic
  EXPECT_THAT(reduce(x, 9.0f, least, {0}).to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(reduce({x}, {full({}, 9)}, least, {0, 1})[0].item<float>(), 1);
  EXPECT_EQ(reduce(x, 0.0f, [](auto a, auto b) { return a + b; }, {0, 1}).item<float>(), 21);
  Tensor (*none)(Operand, Operand) = nullptr;
  EXPECT_THAT(error_of([&] { reduce(x, 0, none, {0}); }),
              AllOf(StartsWith("reduce: the function is a null pointer"), HasSubstr(here())));
  EXPECT_THAT(error_of([&] { reduce(x, 0, maximum, {2}); }),
              AllOf(StartsWith("reduce: axis is 2"), HasSubstr(here())));
  EXPECT_THAT(error_of([&] { reduce(x, 0.5, bitwise_and, {0}); }),
              AllOf(StartsWith("bitwise_and: "), HasSubstr(here())));
  EXPECT_THAT(error_of([&] { reduce(Tensor(), 0, maximum, {0}); }),
              AllOf(StartsWith("reduce: operand has no value"), HasSubstr(here())));
}

TEST(Reductions, OverOneAxisOverNoneAndOverAll) {
  const Tensor x = array<float>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_THAT(sum(x, 0).to_vector<float>(), ElementsAre(5, 7, 9));
  EXPECT_THAT(max(x, -1).to_vector<float>(), ElementsAre(3, 6));
  EXPECT_EQ(mean(x, 1, /*keep_dims=*/true).shape(), Shape(f32, {2, 1}));
  EXPECT_THAT(var(x, 1, 1).to_vector<float>(), ElementsAre(1, 1));
  EXPECT_EQ(sum(x, std::vector<int64_t>{0, 1}).item<float>(), 21);
  EXPECT_EQ(sum(x, {}).item<float>(), 21);
  EXPECT_EQ(sum(x, {.keep_dims = true}).shape(), Shape(f32, {1, 1}));
  EXPECT_EQ(sum(x, {}, true).shape(), Shape(f32, {1, 1}));
  EXPECT_EQ(max(x, {}, true).shape(), Shape(f32, {1, 1}));
  EXPECT_EQ(var(x, {}, 1).item<float>(), 3.5f);
  EXPECT_THAT(sum(x, {.axes = {}}).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(logsumexp(x, {.axes = {}}).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(var(x, {.axes = {}}).to_vector<float>(), testing::Each(0));
  EXPECT_EQ(sum(array<bool>({true, false}), {.axes = {}}).dtype(), s32);
  EXPECT_THAT(error_of([&] { sum(x, 2); }), HasSubstr("sum: axis is 2; f32[2,3] has axes -2 .. 1"));
}

TEST(Reductions, AxesAreAnyListOfIntegers) {
  const Tensor x = reshape(arange(6), {2, 3});
  const auto of = [](const Tensor& t) { return t.to_vector<int>(); };
  EXPECT_THAT(of(sum(x, {0})), ElementsAre(3, 5, 7));
  EXPECT_THAT(of(sum(x, {0, 1})), ElementsAre(15));
  EXPECT_THAT(of(sum(x, {1, 0})), ElementsAre(15));
  EXPECT_THAT(of(sum(x, {.axes = 1})), ElementsAre(3, 12));
  EXPECT_THAT(of(sum(x, std::vector<int>{0})), ElementsAre(3, 5, 7));
  EXPECT_THAT(of(sum(x, {.axes = std::vector<int>{0, 1}, .keep_dims = true})), ElementsAre(15));
  EXPECT_EQ(sum(x, {0, 1}, true).shape(), Shape(s32, {1, 1}));
  EXPECT_EQ(sum(x, {.axes = {}}).shape(), x.shape());
  EXPECT_THAT(of(einsum("ij->i", {x})), ElementsAre(3, 12));
  EXPECT_THAT(of(einsum("ij,j->i", {x, arange(3)})), ElementsAre(5, 14));
}

TEST(Reductions, SumsOfSmallIntegersDoNotGoAround) {
  EXPECT_EQ(sum(array<int8_t>({100, 100})).item<int>(), 200);
  EXPECT_EQ(prod(array<uint8_t>({20, 20})).item<unsigned>(), 400U);
  const std::pair<DType, DType> kResults[] = {
      {pred, s32}, {s4, s32},  {s8, s32},  {s16, s32}, {s32, s32},   {s64, s64}, {u4, u32},
      {u8, u32},   {u16, u32}, {u32, u32}, {u64, u64}, {bf16, bf16}, {f16, f16}, {f32, f32}};
  for (const auto& [of, result] : kResults) {
    EXPECT_EQ(sum(zeros({2}, of)).dtype(), result) << to_string(of);
    EXPECT_EQ(prod(zeros({2}, of)).dtype(), result) << to_string(of);
  }
  EXPECT_EQ(einsum("ii->", array<int8_t>({1, 2, 3, 4}, {2, 2})).dtype(), s8);  // as dot
}

// 300 ones are 256 in bf16, where a 257th is lost.
TEST(Reductions, OfProductsHaveTheTypeAskedFor) {
  const Tensor x = ones({2, 300}, bf16), y = ones({300}, bf16);
  const auto expect_300 = [](const Tensor& sums) {
    EXPECT_EQ(sums.dtype(), f32);
    EXPECT_THAT(sums.to_vector<float>(), testing::Each(300));
  };
  expect_300(dot(x, y, f32));
  expect_300(tensordot(x, y, 1, f32));
  expect_300(tensordot(x, y, {1}, {0}, f32));
  expect_300(einsum("ij,j->i", x, y, f32));
  expect_300(einsum("ij->i", x, f32));
  expect_300(einsum("ij,k->i", x, ones({1}, bf16), f32));  // j is summed before the product
  expect_300(einsum("ij,j,i->i", {x, y, ones({2}, bf16)}, f32));
  EXPECT_EQ(einsum("ij,j->i", x, y).dtype(), bf16);
  // A lesser type is that of the sums alone.
  const Tensor half = array({0.5F, 0.5F}), some = array({1.0F, 2.0F});
  EXPECT_EQ(einsum("i,i->", half, some, s32).item<int>(), 1);
  EXPECT_EQ(einsum("i,i,->", {half, some, scalar(1.0F)}, s32).item<int>(), 1);
  EXPECT_EQ(dot(half, scalar(2.0F), s32).to_vector<int>(), std::vector<int>({1, 1}));
  EXPECT_EQ(dot(y, scalar(2.0F).astype(bf16), f32).shape(), Shape(f32, {300}));
}

// Not `max`, `sum` or `mean`, which they are made of.
TEST(Reductions, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor x = ones({2, 3}), whole = arange(3);
  const Tensor z = complex(x, x);
  const Reduction third{.axes = {2}};
  const auto expect = [](const std::function<void()>& call, const std::string& text) {
    EXPECT_THAT(error_of(call), AllOf(StartsWith(text), HasSubstr("reductions_test.cc:")));
  };
  const std::string no_axis = ": axis is 2; f32[2,3] has axes -2 .. 1";
  expect([&] { softmax(x, 2); }, "softmax" + no_axis);
  expect([&] { log_softmax(x, 2); }, "log_softmax" + no_axis);
  expect([&] { logsumexp(x, third); }, "logsumexp" + no_axis);
  expect([&] { std_dev(x, third); }, "std_dev" + no_axis);
  expect([&] { std_dev(whole); }, "std_dev: x is s32[3]; it must be of floats");
  expect([&] { softmax(z); }, "softmax: x is c64[2,3]; complex numbers have no order");
}

TEST(Reductions, ComplexNumbersAreOrderedByTheirRealParts) {
  using Complex = std::complex<float>;
  const Tensor z = array({Complex(1, 2), Complex(1, 3), Complex(-4, 0)});
  EXPECT_EQ(max(z).item<Complex>(), Complex(1, 3));
  EXPECT_EQ(min(z).item<Complex>(), Complex(-4, 0));
}

// One rule for what divides: integers are cast by the caller, as for mean.
TEST(Reductions, MeansAreOfFloats) {
  const Tensor whole = array<int>({1, 2});
  const std::string text = ": x is s32[2]; it must be of floats, cast it with astype(f32)";
  EXPECT_THAT(error_of([&] { mean(whole); }), StartsWith("mean" + text));
}

// Of too few there is no variance; a quotient would be negative.
TEST(Reductions, VariancesOfTooFew) {
  const Tensor x = array<double>({{3, 1}, {4, 5}});
  EXPECT_THAT(var(x, {.axes = {0}}, 2).to_vector<double>(), testing::Each(testing::IsNan()));
  EXPECT_THAT(std_dev(x, {.axes = {0}}, 3).to_vector<double>(), testing::Each(testing::IsNan()));
  EXPECT_THAT(var(x, {.axes = {0}}, 1).to_vector<double>(), ElementsAre(0.5, 8));
}

TEST(Reductions, RecordTheLineOfTheUser) {
  const Program program = trace(
      [](Tensor x, Tensor i) { return std::tuple(argmax(x, 0), take(x, i), x.at({i}).max(1.0)); },
      placeholder({4}, f32), placeholder({4}, s32));
  EXPECT_THAT(lines_outside("reductions_test.cc", program), testing::IsEmpty());
}

}  // namespace
}  // namespace heddle
