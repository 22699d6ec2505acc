// C++ numbers beside tensors: which a dtype holds, and what two operands are cast to.
#include "heddle/trace/operand.h"

#include <cmath>
#include <complex>
#include <limits>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(Operand, TruthsAreNotCountedByNumbers) {
  const Tensor mask = array({true, false});
  for (const auto& wrong :
       std::vector<std::function<void()>>{[&] { mask + 1; }, [&] { 1 * mask; }, [&] { mask - 1; },
                                          [&] { maximum(mask, 0); }, [&] { mask * 1.0; }}) {
    EXPECT_THAT(error_of(wrong), AllOf(HasSubstr("operands are pred[2] and the C++ number "),
                                       HasSubstr("; to count truths write x.astype(s32)"),
                                       HasSubstr("[operand_test.cc:")));
  }
  EXPECT_THAT((mask.astype(s32) + 1).to_vector<int>(), testing::ElementsAre(2, 1));
  EXPECT_THAT((mask & true).to_vector<int>(), testing::ElementsAre(1, 0));
  EXPECT_THAT((mask + true).to_vector<int>(), testing::ElementsAre(1, 1));  // as numpy's
}

TEST(Operand, NumbersBeyondTheRangeOfFloatsAreErrors) {
  EXPECT_THAT(
      error_of([] { ones({2}) + 1e300; }),
      AllOf(
          StartsWith("add: operand is the C++ number 1e+300, which no f32 holds; cast the tensor"),
          HasSubstr("[operand_test.cc:")));
  EXPECT_THAT(error_of([] { ones({2}, bf16) * 1e39; }), HasSubstr("which no bf16 holds"));
  EXPECT_THAT(error_of([] { ones({2}, f16) + 70000; }), HasSubstr("70000, which no f16 holds"));
  EXPECT_THAT(error_of([] { ones({2}, c64) + 1e300; }), HasSubstr("which no c64 holds"));
  EXPECT_THAT(error_of([] { ones({2}, c64) * std::complex<double>(0, 1e300); }),
              HasSubstr("(0, 1e+300), which no c64 holds"));
  EXPECT_THAT(error_of([] { full({2}, 1e300); }),
              HasSubstr("full: operand is the C++ number 1e+300, which no f32 holds; give full "
                        "another dtype"));
  EXPECT_EQ((ones({}, f16) * 65504.0).item<float>(), 65504);
  EXPECT_EQ((ones({}, f64) * 1e300).item<double>(), 1e300);
}

TEST(Operand, InfinityNanAndRoundingAreNoErrors) {
  EXPECT_EQ((ones({}, bf16) * INFINITY).item<float>(), INFINITY);
  EXPECT_TRUE(std::isnan((ones({}, f16) + NAN).item<float>()));
  EXPECT_EQ((zeros({}, f32) + 0.1).item<float>(), 0.1f);
  EXPECT_EQ((zeros({}, f16) + 1e-9).item<float>(), 0);
  EXPECT_EQ((ones({}, f32) * std::numeric_limits<float>::max()).item<float>(),
            std::numeric_limits<float>::max());
}

TEST(Operand, IntegersThatAFloatRoundsAreErrors) {
  EXPECT_THAT(error_of([] { ones({2}) + 16777217; }),
              HasSubstr("16777217, which no f32 holds; write it as a floating-point number"));
  EXPECT_THAT(error_of([] { ones({2}, f64) + ((int64_t{1} << 53) + 1); }),
              HasSubstr("which no f64 holds"));
  EXPECT_THAT(error_of([] { ones({2}, f64) + UINT64_MAX; }), HasSubstr("which no f64 holds"));
  EXPECT_EQ((zeros({}) + 16777216).item<float>(), 16777216);
  EXPECT_EQ((zeros({}) + 16777217.0).item<float>(), 16777216);
  EXPECT_EQ((zeros({}, f64) + INT64_MIN).item<double>(), -0x1p63);
  EXPECT_EQ((zeros({}, bf16) + 257).item<float>(), 256);  // floats of 16 bits round what they meet
}

TEST(Operand, NumbersStandBesideTensorsInStacks) {
  const Tensor x = scalar(2.0);
  const Tensor all = stack({1, x, x + 0.5, true});
  EXPECT_EQ(all.shape(), Shape(f64, {4}));
  EXPECT_EQ(all.to_vector<double>(), (std::vector<double>{1, 2, 2.5, 1}));
  EXPECT_EQ(stack({scalar<int32_t>(3), 4}).shape(), Shape(s32, {2}));
  EXPECT_THAT(error_of([&] { stack({1.0f, 2.0f}); }), HasSubstr("has numbers alone; write array("));
  EXPECT_THAT(error_of([&] { stack({scalar<int32_t>(3), 0.5}); }), HasSubstr("0.5"));
  EXPECT_THAT(error_of([&] {
                stack({ones({3, 4}), ones({3, 4}, f64)});
              }),
              HasSubstr("stack: parts are f32[3,4] and f64[3,4]; their dtypes must be equal"));
  EXPECT_EQ(concat({ones({2}), zeros({1})}).shape(), Shape(f32, {3}));
}

TEST(Operand, IntegersAreNotDividedByNumbersWithAPoint) {
  const Tensor x = arange(4);
  EXPECT_THAT(error_of([&] { x / 2.0; }),
              AllOf(StartsWith("divide: operands are s32[4] and the floating-point C++ number 2; "
                               "integers are divided toward zero"),
                    HasSubstr("true_divide"), HasSubstr("[operand_test.cc:")));
  EXPECT_THAT(error_of([&] { 2.0 / x; }), HasSubstr("the floating-point C++ number 2"));
  EXPECT_THAT(error_of([&] { (void)x.at({0}).divide(2.0); }),
              StartsWith("at.divide: operands are s32"));
  EXPECT_THAT((x / 2).to_vector<int>(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT((x * 2.0).to_vector<int>(), ElementsAre(0, 2, 4, 6));
}

TEST(Operand, TheWiderDtypeIsWhatToCastTo) {
  auto advice = [](DType a, DType b) {
    EXPECT_EQ(cast_advice(a, b), cast_advice(b, a));
    return cast_advice(a, b);
  };
  EXPECT_EQ(advice(s32, f32), "cast one with astype(f32)");
  EXPECT_EQ(advice(f32, f64), "cast one with astype(f64)");
  EXPECT_EQ(advice(s64, bf16), "cast one with astype(bf16)");
  EXPECT_EQ(advice(pred, u8), "cast one with astype(u8)");
  EXPECT_EQ(advice(u8, s32), "cast one with astype(s32)");
  EXPECT_EQ(advice(u32, s32), "cast both with astype(s64)");
  EXPECT_EQ(advice(u8, s8), "cast both with astype(s16)");
  EXPECT_EQ(advice(f16, bf16), "cast both with astype(f32)");
  EXPECT_EQ(advice(c64, f64), "cast both with astype(c128)");
  EXPECT_EQ(advice(c64, f32), "cast one with astype(c64)");
  EXPECT_THAT(error_of([] { arange(3) + ones({3}); }), HasSubstr("cast one with astype(f32)"));
  EXPECT_THAT(
      error_of([] {
        concat({arange(3), ones({3})});
      }),
      StartsWith("concat: parts are s32[3] and f32[3]; their dtypes must be equal, cast one "
                 "with astype(f32)"));
}

TEST(Operand, OfTwoNumbersTheGreaterKindDecides) {
  const Tensor c = array({true, false});
  EXPECT_EQ(where(c, 1, 0).dtype(), s32);
  EXPECT_EQ(where(c, true, 0).dtype(), s32);
  EXPECT_THAT(where(c, 1, 0.5).to_vector<float>(), ElementsAre(1, 0.5));
  EXPECT_THAT(where(c, 0.5, 1).to_vector<float>(), ElementsAre(0.5, 1));
}

// jax: logical_and(jnp.array([1, 2, 4]), 2) is [True, True, True].
TEST(Operand, LogicalFunctionsTakeNumbersForTheirTruth) {
  const Tensor x = array({1, 2, 0});
  EXPECT_EQ(logical_and(x, 2).dtype(), pred);
  EXPECT_THAT(logical_and(x, 2).to_vector<bool>(), ElementsAre(true, true, false));
  EXPECT_THAT(logical_or(x, zeros({3})).to_vector<bool>(), ElementsAre(true, true, false));
  EXPECT_THAT(logical_xor(x, x > 0).to_vector<bool>(), ElementsAre(false, false, false));
  EXPECT_THAT(logical_not(x).to_vector<bool>(), ElementsAre(false, false, true));
  EXPECT_THAT(logical_not(array<float>({NAN, -0.0f})).to_vector<bool>(), ElementsAre(false, true));
  EXPECT_THAT(bitwise_not(x).to_vector<int>(), ElementsAre(-2, -3, -1));
  EXPECT_THAT((~x).to_vector<int>(), ElementsAre(-2, -3, -1));
}

TEST(Operand, ShapesInBracesAreNoPlaces) {
  EXPECT_EQ(array<float>({}, {0, 3}).shape(), Shape(f32, {0, 3}));
  EXPECT_EQ(array<float>({5}, {}).shape(), Shape(f32, {}));
  EXPECT_EQ(array({1, 2, 3, 4}, {2, 2}).shape(), Shape(s32, {2, 2}));
  EXPECT_THAT(error_of([] {
                array<float>({1, 2}, {0, 2});
              }),
              StartsWith("array: has 2 values; f32[0,2] takes 0"));
  EXPECT_THAT(error_of([] {
                array({{1, 2}, {3}});
              }),
              StartsWith("array: row 1 has 1 values; it must have 2 as row 0"));
}

TEST(Operand, WhatPeopleTypeIsThere) {
  EXPECT_THAT(arange(1.0, 3.5).to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(arange(1, 2.5).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_EQ(zeros(3).shape(), Shape(f32, {3}));
  EXPECT_EQ(ones(2, s32).shape(), Shape(s32, {2}));
  EXPECT_EQ(full(2, 7, u8).shape(), Shape(u8, {2}));
  EXPECT_EQ(zeros({}).shape(), Shape(f32, {}));
  const Tensor x = reshape(array({3, 9, 2, 4}), {2, 2});
  EXPECT_EQ(reshape(x, -1).shape(), Shape(s32, {4}));
  EXPECT_EQ(argmax(x).item<int>(), 1);
  EXPECT_EQ(argmin(x).item<int>(), 2);
  EXPECT_THAT(roll(x, 1).to_vector<int>(), ElementsAre(4, 3, 9, 2));
  EXPECT_EQ(roll(x, 1).shape(), x.shape());
  EXPECT_THAT(repeat(x, 2).to_vector<int>(), ElementsAre(3, 3, 9, 9, 2, 2, 4, 4));
  EXPECT_THAT(append(x, 5).to_vector<int>(), ElementsAre(3, 9, 2, 4, 5));
  EXPECT_EQ(append(x, x, 1).shape(), Shape(s32, {2, 4}));
  EXPECT_THAT(x.at(0).set(1).to_vector<int>(), ElementsAre(1, 1, 2, 4));
  EXPECT_THAT(x.at(x > 3).set(0).to_vector<int>(), ElementsAre(3, 0, 2, 0));
}

// jax: one_hot of uint8 [1, 200] and 300 classes has one 1 a row.
TEST(Operand, OneHotOfNarrowIndicesHasOneOne) {
  for (const DType dtype : {u8, s8}) {
    const Tensor hot = one_hot(array({1, 100}).astype(dtype), 300);
    EXPECT_THAT(sum(hot, {.axes = {1}}).to_vector<float>(), ElementsAre(1, 1)) << to_string(dtype);
  }
}

}  // namespace
}  // namespace heddle
