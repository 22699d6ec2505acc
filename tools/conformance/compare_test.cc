#include "heddle/tools/conformance/compare.h"

#include <cmath>
#include <complex>
#include <limits>

#include "heddle/base/support_test.h"

namespace heddle::conformance {
namespace {

constexpr Tolerance kExact{.exact = true};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string compare(const Literal& got, const Literal& want, const Tolerance& tolerance = kExact) {
  return difference(got, want, {&tolerance, 1});
}

Literal floats(std::initializer_list<float> values) {
  return Literal::from<float>(Shape(f32, {static_cast<int64_t>(values.size())}), values);
}

// One number of any float type.
std::string compare(DType dtype, double got, double want, const Tolerance& tolerance = kExact) {
  return compare(Literal::scalar(dtype, got), Literal::scalar(dtype, want), tolerance);
}

TEST(Compare, EqualFloatsAgree) { EXPECT_EQ(compare(floats({1, 2}), floats({1, 2})), ""); }

TEST(Compare, MessageHasFirstIndexBothValuesDistanceCountAndLargestDifference) {
  const Shape shape(f32, {2, 2});
  EXPECT_EQ(compare(Literal::from<float>(shape, {1, 2, 3.0000002f, 5}),
                    Literal::from<float>(shape, {1, 2, 3, 4})),
            "f32[2,2]: 2 of 4 elements differ; first at [1,0]: got 3.000000238418579, want 3, 1 "
            "ulp apart; "
            "largest difference 1");
}

TEST(Compare, TypesMustBeEqual) {
  EXPECT_EQ(compare(Literal::scalar(f32, 1.0), Literal::scalar(f64, 1.0)), "got f32[], want f64[]");
  EXPECT_EQ(compare(floats({1}), floats({1, 2})), "got f32[1], want f32[2]");
}

TEST(Compare, IntegersAreEqualOrNotWhateverTheTolerance) {
  const Tolerance loose{.rtol = 1, .atol = 10};
  EXPECT_EQ(compare(Literal::scalar(s32, int64_t{3}), Literal::scalar(s32, int64_t{4}), loose),
            "s32[]: 1 of 1 elements differ; first at []: got 3, want 4");
}

TEST(Compare, LargestUnsignedIsPrintedUnsigned) {
  EXPECT_THAT(compare(Literal::scalar(u64, int64_t{-1}), Literal::scalar(u64, int64_t{0})),
              HasSubstr("got 18446744073709551615, want 0"));
}

TEST(Compare, PredicatesAreEqualOrNot) {
  EXPECT_NE(compare(Literal::scalar(pred, int64_t{1}), Literal::scalar(pred, int64_t{0})), "");
}

TEST(Compare, NanEqualsNanOfAnySignAndNoNumber) {
  EXPECT_EQ(compare(f32, kNan, -kNan), "");
  EXPECT_NE(compare(f32, kNan, 1, {.rtol = 1e9, .atol = kInf}), "");
  EXPECT_NE(compare(f32, 1, kNan, {.rtol = 1e9, .atol = 1e30}), "");
}

TEST(Compare, InfinitiesMustBeEqualSignIncluded) {
  const Tolerance loose{.rtol = 1, .atol = 1e30, .max_ulp = 1000};
  EXPECT_EQ(compare(f32, kInf, kInf), "");
  EXPECT_NE(compare(f32, kInf, -kInf, loose), "");
  EXPECT_NE(compare(f32, std::numeric_limits<float>::max(), kInf, loose), "");
}

TEST(Compare, SubnormalsOfF32F64AndBf16CountAsZero) {
  EXPECT_EQ(compare(f32, 1e-40, 0), "");
  EXPECT_EQ(compare(f64, 1e-310, 3e-310), "");
  EXPECT_EQ(compare(bf16, 1e-40, 0), "");
  EXPECT_NE(compare(f32, 1.2e-38, 0), "");  // the least normal number is 1.18e-38
}

TEST(Compare, SubnormalsOfF16AndF8CountAsTheyAre) {
  EXPECT_NE(compare(f16, 6e-8, 0), "");
  EXPECT_NE(compare(f8e5m2, 1.52587890625e-05, 0), "");
}

TEST(Compare, SubnormalsCountAsZeroOfTheirSign) {
  EXPECT_NE(compare(f32, -1e-40, 0, {.exact = true, .signed_zero_exact = true}), "");
  EXPECT_EQ(compare(f32, -1e-40, -0.0, {.exact = true, .signed_zero_exact = true}), "");
}

TEST(Compare, SignedZerosDifferOnlyWhereAskedFor) {
  EXPECT_EQ(compare(f32, -0.0, 0.0), "");
  EXPECT_NE(compare(f32, -0.0, 0.0, {.exact = true, .signed_zero_exact = true}), "");
}

TEST(Compare, RelativeToleranceIsOfTheWantedValue) {
  EXPECT_EQ(compare(f64, 1.5, 1, {.rtol = 0.5}), "");
  EXPECT_NE(compare(f64, 1, 1.51, {.rtol = 0.33}), "");
}

TEST(Compare, AbsoluteToleranceAddsToTheRelativeOne) {
  EXPECT_EQ(compare(f64, 1.75, 1, {.rtol = 0.5, .atol = 0.25}), "");
  EXPECT_NE(compare(f64, 1.76, 1, {.rtol = 0.5, .atol = 0.25}), "");
}

TEST(Compare, ExactLeavesNoRoomForTolerances) {
  EXPECT_NE(compare(f32, 1.0000001, 1, {.exact = true, .rtol = 1, .atol = 1, .max_ulp = 9}), "");
}

TEST(Compare, UlpsCountRepresentableValues) {
  const double next = std::nextafter(std::nextafter(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(compare(f32, next, 1, {.max_ulp = 2}), "");
  EXPECT_NE(compare(f32, next, 1, {.max_ulp = 1}), "");
}

TEST(Compare, UlpsCountAcrossZero) {
  const double least = 5.9604644775390625e-08;  // of f16
  EXPECT_EQ(compare(f16, -least, least, {.max_ulp = 2}), "");
  EXPECT_NE(compare(f16, -least, least, {.max_ulp = 1}), "");
}

TEST(Compare, UlpsOfFourBitFloatsCountTheirOwnSignBit) {
  EXPECT_EQ(compare(f4e2m1fn, -0.5, 0.5, {.max_ulp = 2}), "");
  EXPECT_NE(compare(f4e2m1fn, -0.5, 0.5, {.max_ulp = 1}), "");
}

TEST(Compare, PartsOfComplexNumbersAreComparedEach) {
  const Shape shape(c64, {2});
  EXPECT_EQ(
      compare(Literal::from<std::complex<float>>(shape, {{1, 2}, {3, 5}}),
              Literal::from<std::complex<float>>(shape, {{1, 2}, {3, 4}})),
      "c64[2]: 1 of 4 parts differ; first at [1]: imaginary part got 5, want 4, 2097152 ulp apart; "
      "largest difference 1");
}

TEST(Compare, EachLeafHasItsTolerance) {
  const Literal got =
      Literal::tuple({Literal::scalar(f64, 1.1), Literal::tuple({Literal::scalar(f64, 2.1)})});
  const Literal want =
      Literal::tuple({Literal::scalar(f64, 1.0), Literal::tuple({Literal::scalar(f64, 2.0)})});
  const Tolerance loose{.rtol = 0.2};
  const Tolerance both[] = {loose, kExact};
  EXPECT_THAT(difference(got, want, both), HasSubstr("output {1,0}: f64[]: 1 of 1"));
  EXPECT_EQ(difference(got, want, {&loose, 1}), "");
}

TEST(Compare, EmptyArraysAgree) { EXPECT_EQ(compare(floats({}), floats({})), ""); }

}  // namespace
}  // namespace heddle::conformance
