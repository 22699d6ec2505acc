// reduce-window: against loops over places and taps, natively and through bodies.
#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/op_testing.h"
#include "heddle/interpreter/ops/reduction/window_testing.h"

namespace heddle::interpreter {
namespace {

using op_testing::kInf;
using op_testing::kNaN;
using window_testing::Index;
using window_testing::Random;
using Windows = std::vector<WindowDimension>;

std::vector<int64_t> places_of(const Windows& window, const std::vector<int64_t>& base) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < window.size(); ++d)
    out.push_back(window_testing::count_places(window[d], base[d]));
  return out;
}

// `body` are the instructions after parameters a and b, whose types are those of init.
Literal reduced(const std::string& body, const Literal& x, const Literal& init,
                const Windows& window) {
  const std::string t = to_string(init.shape());
  const Shape result(init.shape().dtype(), places_of(window, x.shape().dimensions()));
  return run(base::cat("HloModule m\n f { a = ", t, " parameter(0) b = ", t, " parameter(1) ", body,
                       " }\n ENTRY main { x = ", to_string(x.shape()), " parameter(0) init = ", t,
                       " parameter(1) ROOT r = ", to_string(result), " reduce-window(x, init)",
                       window_testing::text_of(window), ", to_apply=f }"),
             {x, init});
}

std::string one_op(const std::string& op, DType dtype) {
  return base::cat("ROOT c = ", dtype, "[] ", op, "(a, b)");
}

// The elements under each place, taken by f in row-major order of the window, beginning with init.
template <class T, class Fn>
std::vector<T> folded(const std::vector<T>& x, const std::vector<int64_t>& base, T init,
                      const Windows& window, Fn f) {
  std::vector<T> out;
  index_testing::for_each_index(places_of(window, base), [&](const Index& place) {
    T value = init;
    index_testing::for_each_index(window_testing::sizes_of(window), [&](const Index& tap) {
      Index at;
      if (!window_testing::element_at(window, base, place, tap, at)) return;
      value = f(value, x[static_cast<size_t>(index_testing::position(base, at))]);
    });
    out.push_back(value);
  });
  return out;
}

struct Sample {
  Windows window;
  std::vector<int64_t> base;
};

Sample random_sample(Random& random) {
  Sample out{.window = {}, .base = random.dims(3, 5)};
  for (size_t d = 0; d < out.base.size(); ++d)
    out.window.push_back(window_testing::random_entry(random, random.in(1, 4)));
  return out;
}

// Checks `count` samples of such elements.
template <class Fn>
void for_samples(uint32_t seed, int count,
                 Literal (*elements)(Random&, const std::vector<int64_t>&), const Fn& check) {
  Random random(seed);
  for (int round = 0; round < count; ++round) {
    const Sample sample = random_sample(random);
    const Literal x = elements(random, sample.base);
    SCOPED_TRACE(
        base::cat("round ", round, window_testing::text_of(sample.window), " of ", x.shape()));
    check(sample, x);
  }
}

template <class T>
std::vector<T> values(const Literal& x) {
  return {x.values<T>().begin(), x.values<T>().end()};
}

Literal random_ints(Random& random, const std::vector<int64_t>& base) {
  Literal x(Shape(s32, base));
  for (int32_t& value : x.mutable_values<int32_t>())
    value = static_cast<int32_t>(random.in(-1000, 1000));
  return x;
}

TEST(ReduceWindow, IntegersOfAnyWindowMatchLoops) {
  for_samples(2, 400, random_ints, [](const Sample& sample, const Literal& x) {
    const auto sum = [](int32_t a, int32_t b) { return a + b; };
    const auto most = [](int32_t a, int32_t b) { return std::max(a, b); };
    const auto least = [](int32_t a, int32_t b) { return std::min(a, b); };
    EXPECT_EQ(values<int32_t>(reduced(one_op("add", s32), x, s32_of(7), sample.window)),
              folded(values<int32_t>(x), sample.base, 7, sample.window, sum));
    EXPECT_EQ(values<int32_t>(reduced(one_op("maximum", s32), x, s32_of(-900), sample.window)),
              folded(values<int32_t>(x), sample.base, -900, sample.window, most));
    EXPECT_EQ(values<int32_t>(reduced(one_op("minimum", s32), x, s32_of(900), sample.window)),
              folded(values<int32_t>(x), sample.base, 900, sample.window, least));
  });
}

// 3 a + b tells every order and grouping from the others, which is more than HLO promises.
TEST(ReduceWindow, BodiesTakeElementsInRowMajorOrder) {
  for_samples(3, 200, random_ints, [](const Sample& sample, const Literal& x) {
    const auto f = [](int32_t a, int32_t b) {
      return static_cast<int32_t>(3 * static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    };
    EXPECT_EQ(values<int32_t>(
                  reduced("k = s32[] constant(3) t = s32[] multiply(k, a) ROOT c = s32[] add(t, b)",
                          x, s32_of(5), sample.window)),
              folded(values<int32_t>(x), sample.base, 5, sample.window, f));
  });
}

Literal random_floats(Random& random, const std::vector<int64_t>& base) {
  Literal x(Shape(f32, base));
  for (float& value : x.mutable_values<float>())
    value = static_cast<float>(random.in(-1'000'000, 1'000'000)) / 3e4f;
  return x;
}

TEST(ReduceWindow, FloatsOfFewTapsAreRoundedAtEveryStep) {
  for_samples(4, 200, random_floats, [](const Sample& sample, const Literal& x) {
    const auto sum = [](float a, float b) { return a + b; };
    const auto product = [](float a, float b) { return a * b; };
    EXPECT_EQ(values<float>(reduced(one_op("add", f32), x, f32_of(0), sample.window)),
              folded(values<float>(x), sample.base, 0.0f, sample.window, sum));
    EXPECT_EQ(values<float>(reduced(one_op("multiply", f32), x, f32_of(1), sample.window)),
              folded(values<float>(x), sample.base, 1.0f, sample.window, product));
  });
}

TEST(ReduceWindow, FloatsOfManyTapsAreRoundedOnce) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const std::vector<int64_t> base = {random.in(1, 20), random.in(1, 20)};
    const Windows window = {window_testing::random_entry(random, random.in(8, 12)),
                            window_testing::random_entry(random, random.in(9, 12))};
    const Literal x = random_floats(random, base);
    SCOPED_TRACE(base::cat("round ", round, window_testing::text_of(window), " of ", x.shape()));
    const std::vector<double> wide(x.values<float>().begin(), x.values<float>().end());
    const auto sum = [](double a, double b) { return a + b; };
    const auto most = [](double a, double b) { return std::max(a, b); };
    std::vector<float> want, want_most;
    for (double value : folded(wide, base, 0.0, window, sum))
      want.push_back(static_cast<float>(value));
    for (double value : folded(wide, base, -20.0, window, most))
      want_most.push_back(static_cast<float>(value));
    EXPECT_EQ(values<float>(reduced(one_op("add", f32), x, f32_of(0), window)), want);
    EXPECT_EQ(values<float>(reduced(one_op("maximum", f32), x, f32_of(-20), window)), want_most);
  }
}

TEST(ReduceWindow, RunningSumsOfManyElementsTakeFewSteps) {
  constexpr int64_t kSize = 1 << 18;
  Literal x(Shape(s32, {kSize}));
  for (int64_t i = 0; i < kSize; ++i)
    x.mutable_values<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i % 1000);
  const Literal sums =
      reduced(one_op("add", s32), x, s32_of(0), {{.size = kSize, .padding_low = kSize - 1}});
  int32_t sum = 0;
  for (size_t i = 0; i < kSize; ++i) {
    sum += x.values<int32_t>()[i];
    ASSERT_EQ(sums.values<int32_t>()[i], sum) << i;
  }
}

TEST(ReduceWindow, LongSumsOfF64CarryTheirErrorsAlong) {
  const Literal x = Literal::from<double>(Shape(f64, {4}), {1e16, 1, -1e16, 1});
  const Literal zero = Literal::scalar(f64, 0.0);
  EXPECT_THAT(numbers(reduced(one_op("add", f64), x, zero, {{.size = 100, .padding_low = 96}})),
              ElementsAre(2));
  EXPECT_THAT(numbers(reduced(one_op("add", f64), x, zero, {{.size = 4}})), ElementsAre(1));
}

TEST(ReduceWindow, NaNReachesTheWindowsThatHoldIt) {
  const auto inf = static_cast<float>(kInf), nan = static_cast<float>(kNaN);
  const Literal x = floats({1, nan, 2, inf, -inf, 0});
  const Literal most = reduced(one_op("maximum", f32), x, f32_of(-inf), {{.size = 2}});
  EXPECT_THAT(numbers(most), ElementsAre(testing::IsNan(), testing::IsNan(), inf, inf, 0));
  const Literal sum = reduced(one_op("add", f32), x, f32_of(0), {{.size = 2}});
  EXPECT_THAT(numbers(sum),
              ElementsAre(testing::IsNan(), testing::IsNan(), inf, testing::IsNan(), -inf));
}

TEST(ReduceWindow, PaddingTakesNoPartAndInitOnce) {
  const Literal x = ints({0, 1, 2, 3, 4});
  const Windows same = {{.size = 3, .padding_low = 1, .padding_high = 1}};
  EXPECT_THAT(numbers(reduced(one_op("add", s32), x, s32_of(1), same)),
              ElementsAre(2, 4, 7, 10, 8));
  EXPECT_THAT(numbers(reduced("z = s32[] constant(0) t = s32[] add(a, z) ROOT c = s32[] add(t, b)",
                              x, s32_of(1), same)),
              ElementsAre(2, 4, 7, 10, 8));
}

TEST(ReduceWindow, APlaceOutsideOfTheArrayHasInit) {
  const Windows outside = {{.size = 1, .padding_low = 1, .padding_high = 2},
                           {.size = 2, .padding_high = 1}};
  const Literal x = Literal::from<int32_t>(Shape(s32, {1, 2}), {5, 6});
  EXPECT_THAT(numbers(reduced(one_op("add", s32), x, s32_of(9), outside)),
              ElementsAre(9, 9, 20, 15, 9, 9, 9, 9));
}

TEST(ReduceWindow, PredsByOrAndAnd) {
  const Literal x = Literal::from<bool>(Shape(pred, {4}), {false, true, true, false});
  const Windows pairs = {{.size = 2}};
  EXPECT_THAT(numbers(reduced(one_op("or", pred), x,
                              Literal::from<bool>(Shape::scalar(pred), {false}), pairs)),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(numbers(reduced(one_op("and", pred), x,
                              Literal::from<bool>(Shape::scalar(pred), {true}), pairs)),
              ElementsAre(0, 1, 0));
}

TEST(ReduceWindow, ComplexSumsAndProducts) {
  using C = std::complex<float>;
  const Literal x = Literal::from<C>(Shape(c64, {3}), {C(1, 2), C(3, -1), C(0, 1)});
  const Literal sums = reduced(one_op("add", c64), x,
                               Literal::from<C>(Shape::scalar(c64), {C(0, 0)}), {{.size = 2}});
  EXPECT_THAT(sums.values<C>(), ElementsAre(C(4, 1), C(3, 0)));
  const Literal products = reduced(one_op("multiply", c64), x,
                                   Literal::from<C>(Shape::scalar(c64), {C(1, 0)}), {{.size = 2}});
  EXPECT_THAT(products.values<C>(), ElementsAre(C(5, 5), C(1, 3)));
}

TEST(ReduceWindow, SeveralArraysAreReducedTogether) {
  // The largest value of each window and its position, the first of equals.
  const Module module = parsed(R"(HloModule m
    f { v = f32[] parameter(0) i = s32[] parameter(1) w = f32[] parameter(2) j = s32[] parameter(3)
        keep = pred[] compare(v, w), direction=GE
        value = f32[] select(keep, v, w)  place = s32[] select(keep, i, j)
        ROOT t = (f32[], s32[]) tuple(value, place) }
    ENTRY main { x = f32[5] parameter(0) at = s32[5] iota(), iota_dimension=0
        low = f32[] constant(-inf) none = s32[] constant(-1)
        ROOT r = (f32[3], s32[3]) reduce-window(x, at, low, none), window={size=3}, to_apply=f })");
  const auto result = evaluate(module, {floats({1, 4, 2, 4, 3})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(numbers(result->element(0)), ElementsAre(4, 4, 4));
  EXPECT_THAT(numbers(result->element(1)), ElementsAre(1, 1, 3));
}

TEST(ReduceWindow, AccumulatorsMayBeWiderThanElements) {
  Literal x(Shape(bf16, {300}));
  const Literal one = Literal::scalar(bf16, 1.0);
  for (size_t i = 0; i < 300; ++i) std::copy_n(one.bytes(), 2, x.mutable_bytes() + 2 * i);
  const Literal sum =
      run("HloModule m\n f { a = f32[] parameter(0) b = bf16[] parameter(1) w = f32[] convert(b) "
          "ROOT c = f32[] add(a, w) }\n"
          "ENTRY main { x = bf16[300] parameter(0) init = f32[] parameter(1) "
          "ROOT r = f32[1] reduce-window(x, init), window={size=300}, to_apply=f }",
          {x, f32_of(0)});
  EXPECT_THAT(numbers(sum), ElementsAre(300));
}

}  // namespace
}  // namespace heddle::interpreter
