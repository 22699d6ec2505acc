// reduce: against plain loops, natively and through bodies.
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/movement/elements.h"

namespace heddle::interpreter {
namespace {

// reduce(x, init) by one op over the dimensions.
Literal reduced(std::string_view op, const Literal& x, const Literal& init,
                const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (std::ranges::find(dimensions, d) == dimensions.end())
      kept.push_back(x.shape().dimension(d));
  }
  const std::string t = to_string(init.shape());
  return run(
      base::cat("HloModule m\n f { a = ", t, " parameter(0) b = ", t, " parameter(1) ROOT c = ", t,
                " ", op, "(a, b) }\n ENTRY main { x = ", to_string(x.shape()),
                " parameter(0) init = ", t,
                " parameter(1) ROOT r = ", to_string(Shape(init.shape().dtype(), kept)),
                " reduce(x, init), dimensions={", base::join(dimensions, ","), "}, to_apply=f }"),
      {x, init});
}

Literal counting(std::vector<int64_t> dimensions) {
  Literal x(Shape(s32, std::move(dimensions)));
  for (int64_t i = 0; i < x.element_count(); ++i)
    x.mutable_values<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i * i % 101);
  return x;
}

// Sums over each subset of the dimensions, by index.
std::vector<double> sums(const Literal& x, const std::vector<int64_t>& dimensions) {
  const Shape& shape = x.shape();
  std::vector<double> out;
  std::vector<int64_t> stride(static_cast<size_t>(shape.rank()), 0);
  int64_t size = 1;
  for (int64_t d = shape.rank(); d-- > 0;) {
    if (std::ranges::find(dimensions, d) != dimensions.end()) continue;
    stride[static_cast<size_t>(d)] = size;
    size *= shape.dimension(d);
  }
  out.resize(static_cast<size_t>(size));
  for (int64_t i = 0; i < x.element_count(); ++i) {
    int64_t rest = i, to = 0;
    for (int64_t d = shape.rank(); d-- > 0; rest /= shape.dimension(d))
      to += rest % shape.dimension(d) * stride[static_cast<size_t>(d)];
    out[static_cast<size_t>(to)] += x.to_double(i);
  }
  return out;
}

TEST(Reduce, SumsOverEverySubsetOfDimensions) {
  const Literal x = counting({3, 1, 4, 5});
  for (int subset = 0; subset < 16; ++subset) {
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; d < 4; ++d) {
      if ((subset >> d) & 1) dimensions.push_back(d);
    }
    SCOPED_TRACE(base::join(dimensions, ","));
    EXPECT_EQ(numbers(reduced("add", x, s32_of(0), dimensions)), sums(x, dimensions));
  }
}

TEST(Reduce, RowsLongerThanABlockAreSummedToTheEnd) {
  const Literal x = counting({3, 5000});
  EXPECT_EQ(numbers(reduced("add", x, s32_of(0), {0})), sums(x, {0}));
  EXPECT_EQ(numbers(reduced("add", x, s32_of(0), {1})), sums(x, {1}));
}

TEST(Reduce, OfNothingIsTheInitialValue) {
  EXPECT_THAT(numbers(reduced("add", Literal(Shape(f32, {2, 0})), f32_of(7), {1})),
              ElementsAre(7, 7));
}

TEST(Reduce, BeginsWithTheInitialValue) {
  EXPECT_THAT(numbers(reduced("multiply", floats({2, 3}), f32_of(10), {0})), ElementsAre(60));
}

TEST(Reduce, MinimumAndMaximumKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(reduced("maximum", floats({1, nan, 3}), f32_of(-1), {0}).values<float>()[0]));
  EXPECT_TRUE(
      std::isnan(reduced("minimum", floats({1, 2, nan}), f32_of(9), {0}).values<float>()[0]));
  EXPECT_TRUE(std::isnan(reduced("minimum", floats({1, 2}), f32_of(nan), {0}).values<float>()[0]));
  EXPECT_THAT(numbers(reduced("maximum", floats({1, 5, 3}), f32_of(-1), {0})), ElementsAre(5));
}

TEST(Reduce, MinimumAndMaximumTellZerosApart) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Literal& x : {floats({0, -0.f}), floats({-0.f, 0}), floats({-0.f, 0, -0.f})}) {
    EXPECT_TRUE(std::signbit(reduced("minimum", x, f32_of(inf), {0}).values<float>()[0]));
    EXPECT_FALSE(std::signbit(reduced("maximum", x, f32_of(-inf), {0}).values<float>()[0]));
  }
}

TEST(Reduce, IntegersWrapAndCompareByTheirSign) {
  const auto u8_of = [](uint8_t v) { return Literal::from<uint8_t>(Shape::scalar(u8), {v}); };
  const Literal bytes = Literal::from<uint8_t>(Shape(u8, {3}), {200, 100, 5});
  EXPECT_THAT(numbers(reduced("add", bytes, u8_of(0), {0})), ElementsAre(49));
  EXPECT_THAT(numbers(reduced("maximum", bytes, u8_of(0), {0})), ElementsAre(200));
  const Literal longs = Literal::from<uint64_t>(Shape(u64, {2}), {UINT64_MAX, 3});
  EXPECT_EQ(reduced("maximum", longs, Literal::from<uint64_t>(Shape::scalar(u64), {0}), {0})
                .values<uint64_t>()[0],
            UINT64_MAX);
  EXPECT_THAT(numbers(reduced("minimum", ints({-5, 3}), s32_of(0), {0})), ElementsAre(-5));
  EXPECT_THAT(numbers(reduced("xor", ints({6, 3}), s32_of(0), {0})), ElementsAre(5));
}

TEST(Reduce, PredAddsByOr) {
  const Literal x =
      Literal::from<bool>(Shape(pred, {2, 3}), {false, true, true, false, false, false});
  const Literal no = Literal::from<bool>(Shape::scalar(pred), {false});
  const Literal yes = Literal::from<bool>(Shape::scalar(pred), {true});
  EXPECT_THAT(numbers(reduced("or", x, no, {1})), ElementsAre(1, 0));
  EXPECT_THAT(numbers(reduced("and", x, yes, {0})), ElementsAre(0, 0, 0));
  EXPECT_THAT(numbers(reduced("add", x, no, {1})), ElementsAre(1, 0));
}

TEST(Reduce, SumsOfSmallFloatsAreRoundedOnce) {
  // In bf16 itself the sum would stay at 256.
  Literal x(Shape(bf16, {1000}));
  const Literal one = Literal::scalar(bf16, 1.0);
  for (size_t i = 0; i < 1000; ++i) std::copy_n(one.bytes(), 2, x.mutable_bytes() + 2 * i);
  EXPECT_THAT(numbers(reduced("add", x, Literal::scalar(bf16, 0.0), {0})), ElementsAre(1000));
}

TEST(Reduce, SumsOfF32AreCorrectlyRounded) {
  std::mt19937 random(1);
  std::vector<float> x(10'000);
#if defined(__SIZEOF_FLOAT128__)
  __float128 exact = 0;
#else
  long double exact = 0;  // of 113 bits on 64-bit Arm
  static_assert(std::numeric_limits<long double>::digits >= 113);
#endif
  for (float& each : x) {
    each =
        std::ldexp(static_cast<float>(random()) - 2147483648.0f, static_cast<int>(random() % 20));
    exact += each;
  }
  const Literal sum = reduced("add", Literal::from<float>(Shape(f32, {10'000}), x), f32_of(0), {0});
  EXPECT_EQ(sum.values<float>()[0], static_cast<float>(exact));
}

TEST(Reduce, SumsOfF64CarryTheirErrorsAlong) {
  const Literal x = Literal::from<double>(Shape(f64, {4}), {1e16, 1, -1e16, 1});
  EXPECT_THAT(numbers(reduced("add", x, Literal::scalar(f64, 0.0), {0})), ElementsAre(2));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(numbers(reduced("add", Literal::from<double>(Shape(f64, {2}), {inf, 1}),
                              Literal::scalar(f64, 0.0), {0})),
              ElementsAre(inf));
}

TEST(Reduce, ComplexSumsAndProducts) {
  using C = std::complex<float>;
  const Literal x = Literal::from<C>(Shape(c64, {2}), {C(1, 2), C(3, -1)});
  EXPECT_EQ(reduced("add", x, Literal::from<C>(Shape::scalar(c64), {C(0, 0)}), {0}).values<C>()[0],
            C(4, 1));
  EXPECT_EQ(
      reduced("multiply", x, Literal::from<C>(Shape::scalar(c64), {C(1, 0)}), {0}).values<C>()[0],
      C(5, 5));
}

// As multiply has it, which makes NaN of inf - inf.
TEST(Reduce, ComplexProductsOfInfinitiesAreThoseOfTheirParts) {
  using C = std::complex<float>;
  const float inf = std::numeric_limits<float>::infinity();
  const Literal x = Literal::from<C>(Shape(c64, {2}), {C(inf, inf), C(1, 1)});
  const C product =
      reduced("multiply", x, Literal::from<C>(Shape::scalar(c64), {C(1, 0)}), {0}).values<C>()[0];
  EXPECT_TRUE(std::isnan(product.real()));
}

TEST(Reduce, NegativeZerosSumToNegativeZero) {
  EXPECT_TRUE(
      std::signbit(reduced("add", floats({-0.f, -0.f}), f32_of(-0.f), {0}).values<float>()[0]));
  EXPECT_TRUE(std::signbit(reduced("add", Literal::from<double>(Shape(f64, {1}), {-0.0}),
                                   Literal::scalar(f64, -0.0), {0})
                               .values<double>()[0]));
}

// Largest value and its first index, as JAX writes argmax.
std::string argmax(std::string_view x, std::string_view i, std::string_view dimensions,
                   std::string_view result) {
  return base::cat(R"(HloModule m
    larger {
      a = f32[] parameter(0)
      ia = s32[] parameter(1)
      b = f32[] parameter(2)
      ib = s32[] parameter(3)
      gt = pred[] compare(a, b), direction=GT
      nan = pred[] compare(a, a), direction=NE
      left = pred[] or(gt, nan)
      value = f32[] select(left, a, b)
      eq = pred[] compare(a, b), direction=EQ
      lower = pred[] compare(ia, ib), direction=LT
      tie = pred[] and(eq, lower)
      first = pred[] or(left, tie)
      index = s32[] select(first, ia, ib)
      ROOT r = (f32[], s32[]) tuple(value, index)
    }
    ENTRY main {
      x = )",
                   x, R"( parameter(0)
      i = )",
                   i, R"( parameter(1)
      low = f32[] constant(-inf)
      zero = s32[] constant(0)
      ROOT r = )",
                   result, " reduce(x, i, low, zero), dimensions={", dimensions,
                   "}, to_apply=larger }");
}

void expect_argmax(int64_t rows, int64_t columns) {
  SCOPED_TRACE(base::cat(rows, " rows of ", columns));
  std::mt19937 random(7);
  Literal x(Shape(f32, {rows, columns})), index(Shape(s32, {rows, columns}));
  for (int64_t i = 0; i < x.element_count(); ++i) {
    x.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(random() % 10);
    index.mutable_values<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i / columns);
  }
  const std::string dims = base::cat("[", rows, ",", columns, "]");
  const Literal r = run(argmax("f32" + dims, "s32" + dims, "0",
                               base::cat("(f32[", columns, "], s32[", columns, "])")),
                        {x, index});
  for (int64_t c = 0; c < columns; ++c) {
    int64_t best = 0;
    for (int64_t row = 1; row < rows; ++row) {
      if (x.to_double(row * columns + c) > x.to_double(best * columns + c)) best = row;
    }
    ASSERT_EQ(r.element(0).to_double(c), x.to_double(best * columns + c)) << c;
    ASSERT_EQ(r.element(1).to_double(c), static_cast<double>(best)) << c;
  }
}

TEST(Reduce, TwoOperandsThroughABodyInTurnAndByWindows) {
  expect_argmax(1, 1);
  expect_argmax(7, 3);   // in turn
  expect_argmax(32, 2);  // in turn, the most there are
  expect_argmax(33, 5);  // two windows, one row in the last
  expect_argmax(64, 1);
  expect_argmax(1000, 1);
  expect_argmax(3000, 3);  // windows of windows
}

// f(a, b) = a * 1.0001 + b over ones.
double over_ones(int64_t n, std::string_view start) {
  const Literal ones = repeated(Literal::scalar(f32, 1.0), Shape(f32, {n}));
  return run(base::cat("HloModule m\n f { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] "
                       "constant(1.0001) d = f32[] "
                       "multiply(a, c) ROOT e = f32[] add(d, b) }\n ENTRY main { x = f32[",
                       n, "] parameter(0) start = f32[] constant(", start,
                       ") ROOT r = f32[] reduce(x, start), dimensions={0}, to_apply=f }"),
             {ones})
      .to_double(0);
}

// Values of XLA's CPU from 0, which is an identity: it begins each window of 32 with it, and
// centres them.
TEST(Reduce, ABodyThatHangsOnTheOrderIsTakenInXlasWindows) {
  EXPECT_FLOAT_EQ(over_ones(20, "0"), 20.019014);
  EXPECT_FLOAT_EQ(over_ones(33, "0"), 33.027317);
  EXPECT_FLOAT_EQ(over_ones(100, "0"), 100.14497);
  EXPECT_NEAR(over_ones(2000, "0"), 2006.245, 1e-3);  // windows of windows; XLA contracts a * b + c
}

// Likewise, of the program that pjrt/ writes for it.
TEST(Reduce, AStartThatIsNoIdentityIsTakenOnceAndBeforeTheElementsInTurn) {
  EXPECT_FLOAT_EQ(over_ones(20, "2"), 22.023018);
  EXPECT_FLOAT_EQ(over_ones(33, "2"), 35.059475);
  EXPECT_FLOAT_EQ(over_ones(100, "2"), 102.5168);
  EXPECT_FLOAT_EQ(over_ones(2000, "2"), 2216.3865);
}

TEST(Reduce, TwoOperandsBeginWithTheInitialValuesOnce) {
  const Literal r = run(R"(HloModule m
    both {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      c = s32[] parameter(2)
      d = s32[] parameter(3)
      ac = s32[] add(a, c)
      bd = s32[] add(b, d)
      ROOT r = (s32[], s32[]) tuple(ac, bd)
    }
    ENTRY main {
      x = s32[1100] iota(), iota_dimension=0
      two = s32[] constant(2)
      ROOT r = (s32[], s32[]) reduce(x, x, two, two), dimensions={0}, to_apply=both
    })",
                        {});
  EXPECT_EQ(r.element(0).to_double(0), 1100 * 1099 / 2 + 2);
  EXPECT_EQ(r.element(1).to_double(0), 1100 * 1099 / 2 + 2);
}

// As XLA's CPU gives them, lax.reduce_sum of ones and of the numbers below.
TEST(Reduce, SumsOfFloatsOf8BitsAreRoundedAtEachStep) {
  const auto sum = [](DType dtype, int64_t n) {
    return reduced("add", repeated(Literal::scalar(dtype, 1.0), Shape(dtype, {n})),
                   Literal::scalar(dtype, 0.0), {0})
        .to_double(0);
  };
  EXPECT_EQ(sum(f8e5m2, 100), 32);  // in windows of 32, which stay at 8
  EXPECT_EQ(sum(f8e4m3fn, 100), 64);
  Literal x(Shape(f8e3m4, {5}));
  constexpr double kNumbers[] = {1.5, 1.1875, 0.84375, -2.625, -1.6875};
  for (size_t i = 0; i < 5; ++i)
    *(x.mutable_bytes() + i) = *Literal::scalar(f8e3m4, kNumbers[i]).bytes();
  EXPECT_THAT(numbers(reduced("add", x, Literal::scalar(f8e3m4, 0.0), {0})), ElementsAre(-0.6875));
}

TEST(Reduce, KeepsTheOrderOfElements) {
  // f(a, b) = b where b is not 0, else a: associative, not commutative; the result is the last that
  // is not 0.
  const std::string text = R"(HloModule m
    last {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      zero = s32[] constant(0)
      none = pred[] compare(b, zero), direction=EQ
      ROOT r = s32[] select(none, a, b)
    }
    ENTRY main { x = s32[29] parameter(0) zero = s32[] constant(0) ROOT r = s32[] reduce(x, zero), dimensions={0}, to_apply=last })";
  Literal x(Shape(s32, {29}));
  for (size_t i = 0; i < 20; ++i) x.mutable_values<int32_t>()[i] = static_cast<int32_t>(i + 1);
  EXPECT_THAT(numbers(run(text, {x})), ElementsAre(20));
}

// However the dimensions are listed, and in turn where each of them is short.
TEST(Reduce, TakesElementsAsTheyLie) {
  const Literal last = run(R"(HloModule m
    last_of_greatest {
      a = s32[] parameter(0) i = s32[] parameter(1) b = s32[] parameter(2) j = s32[] parameter(3)
      p = pred[] compare(a, b), direction=GE
      c = s32[] select(p, a, b) k = s32[] select(p, i, j)
      ROOT t = (s32[], s32[]) tuple(c, k) }
    ENTRY main { x = s32[3,2] constant({{0,1},{1,1},{1,1}}) y = s32[3,2] constant({{0,1},{2,3},{4,5}})
      z = s32[] constant(-9) w = s32[] constant(-1)
      ROOT r = (s32[], s32[]) reduce(x, y, z, w), dimensions={1,0}, to_apply=last_of_greatest })",
                           {});
  EXPECT_EQ(last.element(1).to_int64(0), 1);
  for (const char* dimensions : {"0,1", "1,0"}) {
    const std::string text = base::cat(R"(HloModule m
      f { a = s32[] parameter(0) b = s32[] parameter(1) k = s32[] constant(3)
        t = s32[] multiply(a, k) ROOT c = s32[] add(t, b) }
      ENTRY main { x = s32[6,7] iota(), iota_dimension=1 z = s32[] constant(0)
        ROOT r = s32[] reduce(x, z), dimensions={)",
                                       dimensions, "}, to_apply=f }");
    EXPECT_THAT(numbers(run(text, {})), ElementsAre(-430159108)) << text;
  }
}

TEST(Reduce, ABodyMayTakeMorePrecisionThanTheOperand) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    f { a = f32[] parameter(0) b = bf16[] parameter(1) c = f32[] convert(b) ROOT d = f32[] add(a, c) }
    ENTRY main { x = bf16[3] parameter(0) zero = f32[] constant(0) ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=f })",
                          {Literal::from<uint16_t>(Shape(bf16, {3}),
                                                   {0x4380, 0x3f80, 0x3f80})})),  // 256, 1, 1
              ElementsAre(258));
}

}  // namespace
}  // namespace heddle::interpreter
