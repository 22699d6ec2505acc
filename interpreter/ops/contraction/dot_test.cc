// dot: against the definition, index by index.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

struct Operand {
  std::vector<int64_t> sizes;
  Dims batch;
  Dims contracting;
};

// The type of the result, worked out apart from the rule.
Shape result_shape(const Operand& lhs, const Operand& rhs, DType dtype) {
  std::vector<int64_t> sizes;
  for (int64_t d : lhs.batch) sizes.push_back(lhs.sizes[static_cast<size_t>(d)]);
  for (const Operand* side : {&lhs, &rhs}) {
    for (size_t d = 0; d < side->sizes.size(); ++d) {
      const auto is_d = [&](int64_t x) { return x == static_cast<int64_t>(d); };
      if (std::ranges::none_of(side->batch, is_d) && std::ranges::none_of(side->contracting, is_d))
        sizes.push_back(side->sizes[d]);
    }
  }
  return Shape(dtype, sizes);
}

// Row-major position of the element with these indices.
int64_t position(const std::vector<int64_t>& sizes, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
  return at;
}

// Next index in row-major order; false at the end.
bool advance(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

// Where an operand is read: batch and free indices from the result's, contracting ones from k.
std::vector<int64_t> index_of(const Operand& side, const std::vector<int64_t>& out,
                              size_t first_free, const std::vector<int64_t>& k) {
  std::vector<int64_t> index(side.sizes.size(), -1);
  for (size_t i = 0; i < side.batch.size(); ++i) index[static_cast<size_t>(side.batch[i])] = out[i];
  for (size_t i = 0; i < side.contracting.size(); ++i)
    index[static_cast<size_t>(side.contracting[i])] = k[i];
  for (int64_t& each : index) {
    if (each < 0) each = out[first_free++];
  }
  return index;
}

std::vector<double> by_definition(const Operand& lhs, const Operand& rhs, const Literal& x,
                                  const Literal& y) {
  const Shape shape = result_shape(lhs, rhs, f64);
  std::vector<int64_t> depth;
  for (int64_t d : lhs.contracting) depth.push_back(lhs.sizes[static_cast<size_t>(d)]);
  const size_t rhs_free = lhs.sizes.size() - lhs.contracting.size();
  std::vector<double> result;
  std::vector<int64_t> out(shape.dimensions().size());
  do {
    double sum = 0;
    std::vector<int64_t> k(depth.size());
    do {
      sum += x.to_double(position(lhs.sizes, index_of(lhs, out, lhs.batch.size(), k))) *
             y.to_double(position(rhs.sizes, index_of(rhs, out, rhs_free, k)));
    } while (advance(k, depth));
    result.push_back(sum);
  } while (advance(out, shape.dimensions()));
  return result;
}

// Small whole numbers, exact in every type.
Literal numbers_of(DType dtype, const std::vector<int64_t>& sizes, unsigned seed) {
  std::mt19937 random(seed);
  Literal out(Shape(dtype, sizes));
  const auto width = storage_bytes(dtype);
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const Literal one = Literal::scalar(dtype, static_cast<int64_t>(random() % 3));
    std::copy_n(one.bytes(), width, out.mutable_bytes() + i * width);
  }
  return out;
}

Literal dot(const Operand& lhs, const Operand& rhs, const Literal& x, const Literal& y,
            DType result) {
  const DotAttrs attrs{.lhs_batch_dims = lhs.batch,
                       .lhs_contracting_dims = lhs.contracting,
                       .rhs_batch_dims = rhs.batch,
                       .rhs_contracting_dims = rhs.contracting};
  return op_testing::evaluate(Opcode::kDot, {x, y}, attrs, result_shape(lhs, rhs, result));
}

void expect_definition(const Operand& lhs, const Operand& rhs, DType left, DType right,
                       DType result) {
  SCOPED_TRACE(base::cat(
      to_string(Shape(left, lhs.sizes)), " x ", to_string(Shape(right, rhs.sizes)), " -> ", result,
      " batch {", base::join(lhs.batch, ","), "} {", base::join(rhs.batch, ","), "} contracting {",
      base::join(lhs.contracting, ","), "} {", base::join(rhs.contracting, ","), "}"));
  const Literal x = numbers_of(left, lhs.sizes, 1), y = numbers_of(right, rhs.sizes, 2);
  EXPECT_EQ(numbers(dot(lhs, rhs, x, y, result)), by_definition(lhs, rhs, x, y));
}

// Every way of giving three dimensions of each side the parts batch, contracting and free.
TEST(Dot, AgreesWithItsDefinitionForEveryPlaceOfTheDimensions) {
  std::vector<int64_t> left = {0, 1, 2};
  do {
    std::vector<int64_t> right = {0, 1, 2};
    do {
      Operand lhs{{0, 0, 0}, {left[0]}, {left[1]}}, rhs{{0, 0, 0}, {right[0]}, {right[1]}};
      const int64_t sizes[] = {2, 3, 4};
      for (size_t i = 0; i < 3; ++i) {
        lhs.sizes[static_cast<size_t>(left[i])] = sizes[i];
        rhs.sizes[static_cast<size_t>(right[i])] = i == 2 ? 5 : sizes[i];
      }
      for (DType dtype : {f32, f64, s32, c64}) expect_definition(lhs, rhs, dtype, dtype, dtype);
    } while (std::ranges::next_permutation(right).found);
  } while (std::ranges::next_permutation(left).found);
}

TEST(Dot, TakesManyBatchAndContractingDimensions) {
  expect_definition({{2, 3, 4, 5}, {1, 0}, {3, 2}}, {{5, 2, 4, 3}, {3, 1}, {0, 2}}, f32, f32, f32);
  expect_definition({{2, 3, 4}, {}, {0, 2}}, {{3, 4, 2}, {}, {2, 1}}, f64, f64, f64);
  expect_definition({{2, 3}, {0, 1}, {}}, {{3, 2}, {1, 0}, {}}, s32, s32, s32);
}

TEST(Dot, TakesScalarsVectorsAndOuterProducts) {
  expect_definition({{}, {}, {}}, {{}, {}, {}}, f32, f32, f32);
  expect_definition({{4}, {}, {0}}, {{4}, {}, {0}}, f32, f32, f32);
  expect_definition({{4}, {}, {}}, {{3}, {}, {}}, f32, f32, f32);
  expect_definition({{4, 3}, {}, {1}}, {{3}, {}, {0}}, f64, f64, f64);
}

TEST(Dot, TypesOfOperandsAndResultMayDiffer) {
  for (auto [left, right, result] : {std::array{bf16, bf16, f32},
                                     {bf16, bf16, bf16},
                                     {f16, f32, f32},
                                     {f8e4m3fn, f8e5m2, f32},
                                     {s8, s8, s32},
                                     {u8, s8, s32},
                                     {s8, bf16, f32},
                                     {s32, s32, f64},
                                     {f32, c64, c128}}) {
    expect_definition({{3, 7}, {}, {1}}, {{7, 2}, {}, {0}}, left, right, result);
  }
}

TEST(Dot, SizesAroundBlocksAgreeWithTheDefinition) {
  for (int64_t n : {1, 2, 7, 8, 9, 33}) {
    expect_definition({{3, n, n + 1}, {0}, {2}}, {{3, n + 1, n}, {0}, {1}}, f32, f32, f32);
  }
  expect_definition({{200, 20, 10}, {0}, {2}}, {{200, 10, 20}, {0}, {1}}, f32, f32,
                    f32);  // more than one block of matrices
}

// 81.5 + 0.25 + 0.1875: 82 in bf16, 81.9375 in f32.
TEST(Dot, IntegerResultsOfFloatsAreSumsOfTheirTypeFirst) {
  const auto sum = [](DType operands, DType result) {
    return numbers(dot({{3}, {}, {0}}, {{3}, {}, {0}},
                       op_testing::array(operands, {81.5, 0.25, 0.1875}),
                       op_testing::array(operands, {1, 1, 1}), result))[0];
  };
  EXPECT_EQ(sum(bf16, s32), 82);
  EXPECT_EQ(sum(f32, s32), 81);
  EXPECT_EQ(sum(f32, s4), 7);
}

TEST(Dot, RealResultsOfComplexNumbersAreTheRealParts) {
  using C = std::complex<float>;
  const Literal x = Literal::from<C>(Shape(c64, {2}), {C(1, 2), C(0, 1)}),
                y = Literal::from<C>(Shape(c64, {2}), {C(3, -1), C(2, 3)});
  EXPECT_EQ(numbers(dot({{2}, {}, {0}}, {{2}, {}, {0}}, x, y, f32))[0], 2);
  EXPECT_EQ(numbers(dot({{2}, {}, {0}}, {{2}, {}, {0}}, x, y, s32))[0], 2);
}

// (inf + inf i) (1 + i) = (inf - inf) + (inf + inf) i, however many terms there are and whatever
// their type.
TEST(Dot, ComplexProductsOfInfinitiesAreThoseOfTheirParts) {
  using C = std::complex<double>;
  const double inf = std::numeric_limits<double>::infinity();
  for (int64_t n : {1, 2, 5, 20}) {
    std::vector<C> values(static_cast<size_t>(n), C(1, 1));
    const Literal y = Literal::from<C>(Shape(c128, {n}), values);
    values[0] = C(inf, inf);
    const Literal x = Literal::from<C>(Shape(c128, {n}), values);
    const C sum = dot({{n}, {}, {0}}, {{n}, {}, {0}}, x, y, c128).values<C>()[0];
    EXPECT_TRUE(std::isnan(sum.real())) << n;
    EXPECT_EQ(sum.imag(), inf) << n;
  }
}

TEST(Dot, OverNothingIsZero) {
  EXPECT_THAT(numbers(dot({{2, 0}, {}, {1}}, {{0, 2}, {}, {0}}, Literal(Shape(f32, {2, 0})),
                          Literal(Shape(f32, {0, 2})), f32)),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(dot({{0, 3}, {}, {1}}, {{3, 2}, {}, {0}}, Literal(Shape(f32, {0, 3})),
                Literal(Shape(f32, {3, 2})), f32)
                .element_count(),
            0);
}

TEST(Dot, IntegersWrap) {
  const Literal x = Literal::from<int32_t>(Shape(s32, {2}), {INT32_MAX, 1}),
                y = Literal::from<int32_t>(Shape(s32, {2}), {2, 5});
  EXPECT_THAT(numbers(dot({{2}, {}, {0}}, {{2}, {}, {0}}, x, y, s32)), ElementsAre(3));
}

TEST(Dot, OfPredIsAnyOfBoth) {
  const Literal x = Literal::from<bool>(Shape(pred, {2, 2}), {true, true, false, true}),
                y = Literal::from<bool>(Shape(pred, {2}), {true, false});
  EXPECT_THAT(numbers(dot({{2, 2}, {}, {1}}, {{2}, {}, {0}}, x, y, pred)), ElementsAre(1, 0));
}

TEST(Dot, ComplexNumbersAreNotConjugated) {
  using C = std::complex<float>;
  const Literal x = Literal::from<C>(Shape(c64, {2}), {C(1, 2), C(0, 1)}),
                y = Literal::from<C>(Shape(c64, {2}), {C(3, -1), C(0, 1)});
  EXPECT_EQ(dot({{2}, {}, {0}}, {{2}, {}, {0}}, x, y, c64).values<C>()[0], C(4, 5));
}

// 2^24 + 1 + 1 + ..: in f32 additions the ones are lost.
double sum_of_ones(size_t terms, DType dtype, DType result) {
  std::vector<double> values(terms, 1.0), ones(terms, 1.0);
  values[0] = 16777216;
  const auto n = static_cast<int64_t>(terms);
  return numbers(dot({{n}, {}, {0}}, {{n}, {}, {0}}, op_testing::array(dtype, values),
                     op_testing::array(dtype, ones), result))[0];
}

TEST(Dot, FewTermsOfF32AreRoundedAtEveryStep) {
  EXPECT_EQ(sum_of_ones(3, f32, f32), 16777216);
  EXPECT_EQ(sum_of_ones(16, f32, f32), 16777216);
  EXPECT_EQ(sum_of_ones(3, c64, c64), 16777216);
  EXPECT_EQ(sum_of_ones(3, s32, f32), 16777216);
}

TEST(Dot, ManyTermsAndWiderTypesAreRoundedOnce) {
  EXPECT_EQ(sum_of_ones(17, f32, f32), 16777232);
  EXPECT_EQ(sum_of_ones(17, c64, c64), 16777232);
  EXPECT_EQ(sum_of_ones(3, f64, f32), 16777218);
  EXPECT_EQ(sum_of_ones(3, f32, f64), 16777218);
}

TEST(Dot, FewComplexTermsAreSumsOfTheirParts) {
  using C = std::complex<float>;
  const C a(0.1f, 0.2f), b(0.3f, -0.7f), c(1.1f, 0.9f), d(-0.5f, 0.6f);
  const auto part = [](C x, C y) {
    return C(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  };
  const Literal x = Literal::from<C>(Shape(c64, {2}), {a, c}),
                y = Literal::from<C>(Shape(c64, {2}), {b, d});
  EXPECT_EQ(dot({{2}, {}, {0}}, {{2}, {}, {0}}, x, y, c64).values<C>()[0], part(a, b) + part(c, d));
}

}  // namespace
}  // namespace heddle::interpreter
