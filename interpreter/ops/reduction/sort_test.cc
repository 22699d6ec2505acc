// sort: keys of every kind, and comparators that are called. Against std::stable_sort, and without
// is_stable against XLA's CPU.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/comparator.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// sort(x) of a rank-1 type by the comparator's body on a and b.
std::string sort_text(std::string_view dtype, int64_t n, std::string_view body) {
  return base::cat("HloModule m\n less { a = ", dtype, "[] parameter(0) b = ", dtype,
                   "[] parameter(1) ", body, " }\n ENTRY main { x = ", dtype, "[", n,
                   "] parameter(0) ROOT y = ", dtype, "[", n,
                   "] sort(x), dimensions={0}, to_apply=less }");
}

// What JAX compares: -0 as +0, one NaN, total order.
constexpr std::string_view kJax = R"(
  nan = f32[] constant(nan) zero = f32[] constant(0)
  na = pred[] compare(a, a), direction=NE  za = pred[] compare(a, zero), direction=EQ
  sa = f32[] select(za, zero, a)  ka = f32[] select(na, nan, sa)
  nb = pred[] compare(b, b), direction=NE  zb = pred[] compare(b, zero), direction=EQ
  sb = f32[] select(zb, zero, b)  kb = f32[] select(nb, nan, sb)
  ROOT c = pred[] compare(ka, kb), direction=LT, type=TOTALORDER)";

size_t key_count(const std::string& text) {
  const Module module = parsed(text);
  const auto keys = sort_keys(module.computations[0]);
  return keys ? keys->size() : 0;
}

TEST(Sort, Ascends) {
  EXPECT_THAT(numbers(run(sort_text("f32", 5, "ROOT c = pred[] compare(a, b), direction=LT"),
                          {floats({3, -1, kInf, 0, -kInf})})),
              ElementsAre(-kInf, -1, 0, 3, kInf));
}

TEST(Sort, DescendsByGtAndByLtOfTheOtherOrder) {
  EXPECT_THAT(numbers(run(sort_text("s32", 4, "ROOT c = pred[] compare(a, b), direction=GT"),
                          {ints({3, -1, 7, 0})})),
              ElementsAre(7, 3, 0, -1));
  EXPECT_THAT(numbers(run(sort_text("s32", 4, "ROOT c = pred[] compare(b, a), direction=LT"),
                          {ints({3, -1, 7, 0})})),
              ElementsAre(7, 3, 0, -1));
}

TEST(Sort, UnsignedNumbersSortAsSuch) {
  const Literal x = Literal::from<uint32_t>(Shape(u32, {3}), {5, UINT32_MAX, 0});
  EXPECT_THAT(numbers(run(sort_text("u32", 3, "ROOT c = pred[] compare(a, b), direction=LT"), {x})),
              ElementsAre(0, 5, UINT32_MAX));
}

TEST(Sort, TotalOrderPutsNaNsAtTheEnds) {
  const Literal y =
      run(sort_text("f32", 6, "ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER"),
          {floats({kNaN, 0.f, -kNaN, -0.f, kInf, -kInf})});
  const auto v = y.values<float>();
  EXPECT_TRUE(std::isnan(v[0]) && std::signbit(v[0]));
  EXPECT_EQ(v[1], -kInf);
  EXPECT_TRUE(v[2] == 0 && std::signbit(v[2]));
  EXPECT_TRUE(v[3] == 0 && !std::signbit(v[3]));
  EXPECT_EQ(v[4], kInf);
  EXPECT_TRUE(std::isnan(v[5]) && !std::signbit(v[5]));
}

TEST(Sort, JaxComparatorPutsNaNsLastAndKeepsZerosInPlace) {
  ASSERT_EQ(key_count(sort_text("f32", 6, kJax)), 1);
  const Literal y = run(sort_text("f32", 6, kJax), {floats({-kNaN, 0.f, -0.f, kNaN, -1, 1})});
  const auto v = y.values<float>();
  EXPECT_EQ(v[0], -1);
  EXPECT_FALSE(std::signbit(v[1]));
  EXPECT_TRUE(std::signbit(v[2]));
  EXPECT_EQ(v[3], 1);
  EXPECT_TRUE(std::isnan(v[4]) && std::signbit(v[4]));
  EXPECT_TRUE(std::isnan(v[5]) && !std::signbit(v[5]));
}

// Sorts pairs (key, position) by `body` on the keys; the positions tell the order of equal keys.
std::vector<double> order_of(std::string_view body, const std::vector<int32_t>& keys,
                             bool is_stable = true) {
  const std::string type = base::cat("s32[", keys.size(), "]");
  Literal positions(Shape(s32, {static_cast<int64_t>(keys.size())}));
  std::iota(positions.mutable_values<int32_t>().begin(), positions.mutable_values<int32_t>().end(),
            0);
  const Literal sorted =
      run(base::cat("HloModule m\n less { a = s32[] parameter(0) b = s32[] "
                    "parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) ",
                    body, " }\n ENTRY main { k = ", type, " parameter(0) i = ", type,
                    " parameter(1) ROOT y = (", type, ", ", type,
                    ") sort(k, i), dimensions={0}, is_stable=", is_stable ? "true" : "false",
                    ", to_apply=less }"),
          {Literal::from<int32_t>(positions.shape(), keys), positions});
  return numbers(sorted.element(1));
}

std::vector<double> stable_order(const std::vector<int32_t>& keys,
                                 const std::function<bool(int32_t, int32_t)>& less) {
  std::vector<double> order(keys.size());
  std::iota(order.begin(), order.end(), 0.0);
  std::stable_sort(order.begin(), order.end(), [&](double i, double j) {
    return less(keys[static_cast<size_t>(i)], keys[static_cast<size_t>(j)]);
  });
  return order;
}

std::vector<int32_t> many_ties(size_t n) {
  std::mt19937 random(3);
  std::vector<int32_t> keys(n);
  for (int32_t& key : keys) key = static_cast<int32_t>(random() % 21) - 10;
  return keys;
}

TEST(Sort, ByKeysIsStable) {
  for (const size_t length : {500, 3000}) {
    const std::vector<int32_t> keys = many_ties(length);
    EXPECT_EQ(order_of("ROOT c = pred[] compare(a, b), direction=LT", keys),
              stable_order(keys, std::less<>()));
    EXPECT_EQ(order_of("ROOT c = pred[] compare(a, b), direction=GT", keys),
              stable_order(keys, std::greater<>()));
  }
}

// Both ways, of rows whose digits have 8 and 11 bits.
template <class T>
void expect_sorted(DType dtype, const std::function<T(uint64_t)>& number) {
  for (const int64_t n : {600, 20'000}) {
    std::mt19937_64 random(5);
    std::vector<T> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(number(random()));
    const Literal x = Literal::from<T>(Shape(dtype, {n}), values);
    std::ranges::sort(values);
    for (const char* direction : {"LT", "GT"}) {
      const std::string body = base::cat("ROOT c = pred[] compare(a, b), direction=", direction);
      EXPECT_EQ(run(sort_text(to_string(dtype), n, body), {x}),
                Literal::from<T>(Shape(dtype, {n}), values))
          << to_string(dtype) << " " << direction << " " << n;
      std::ranges::reverse(values);
    }
  }
}

TEST(Sort, KeysOfEveryRangeAreOrdered) {
  for (const uint64_t most : {uint64_t{UINT32_MAX}, uint64_t{UINT32_MAX} + 1, UINT64_MAX}) {
    expect_sorted<uint64_t>(u64, [&](uint64_t bits) {
      return bits % 7 == 0 ? 0 : bits % 7 == 1 ? most : most == UINT64_MAX ? bits : bits % most;
    });
  }
  expect_sorted<int64_t>(s64, [](uint64_t bits) { return static_cast<int64_t>(bits); });
  expect_sorted<int32_t>(s32, [](uint64_t bits) { return static_cast<int32_t>(bits); });
  expect_sorted<uint8_t>(u8, [](uint64_t bits) { return static_cast<uint8_t>(bits); });
  const auto real = [](uint64_t bits) {
    const double sign = bits % 2 == 0 ? 1 : -1;
    return bits % 97 == 0 ? sign * kInf : sign * std::ldexp(static_cast<double>(bits >> 11), -60);
  };
  expect_sorted<double>(f64, real);
  expect_sorted<float>(f32, [&](uint64_t bits) { return static_cast<float>(real(bits)); });
}

TEST(Sort, ByCallsIsStable) {
  // a/3 < b/3, written so that it is no comparison of one expression of both sides.
  constexpr std::string_view body = R"(
    three = s32[] constant(3)  qa = s32[] divide(a, three)  qb = s32[] divide(b, three)
    one = s32[] constant(1)  d = s32[] subtract(qb, qa)  ROOT c = pred[] compare(d, one), direction=GE)";
  for (size_t n : {0, 1, 2, 3, 100, 257}) {
    SCOPED_TRACE(n);
    const std::vector<int32_t> keys = many_ties(n);
    EXPECT_EQ(order_of(body, keys),
              stable_order(keys, [](int32_t a, int32_t b) { return a / 3 < b / 3; }));
  }
}

// What jax.lax.sort(.., is_stable=False) gives for keys 7 i mod 5 on XLA's CPU.
TEST(Sort, UnstableEqualsComeAsOnXlasCpu) {
  std::vector<int32_t> keys(20);
  for (int32_t i = 0; i < 20; ++i) keys[static_cast<size_t>(i)] = 7 * i % 5;
  const auto expected =
      ElementsAre(0, 5, 15, 10, 18, 3, 13, 8, 1, 16, 11, 6, 9, 14, 4, 19, 12, 7, 17, 2);
  EXPECT_THAT(order_of("ROOT c = pred[] compare(a, b), direction=LT", keys, false), expected);
  EXPECT_THAT(order_of("one = s32[] constant(1)  d = s32[] subtract(b, a)  ROOT c = pred[] "
                       "compare(d, one), direction=GE",
                       keys, false),
              expected);
}

TEST(Sort, AComparatorThatIsNoOrderLosesNoElement) {
  for (bool is_stable : {true, false}) {
    std::vector<double> order =
        order_of("z = s32[] add(a, b)  ROOT c = pred[] compare(z, a), direction=GE", many_ties(100),
                 is_stable);
    std::ranges::sort(order);
    for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<double>(i));
  }
}

constexpr std::string_view kByTwoKeys = R"(HloModule m
  less {
    a = s32[] parameter(0)
    b = s32[] parameter(1)
    i = f32[] parameter(2)
    j = f32[] parameter(3)
    first = pred[] compare(a, b), direction=LT
    same = pred[] compare(a, b), direction=EQ
    second = pred[] compare(i, j), direction=GT
    tie = pred[] and(same, second)
    ROOT c = pred[] or(first, tie)
  }
  ENTRY main {
    k = s32[5] parameter(0)
    v = f32[5] parameter(1)
    ROOT y = (s32[5], f32[5]) sort(k, v), dimensions={0}, to_apply=less
  })";

TEST(Sort, SecondKeyDecidesTies) {
  const std::string text(kByTwoKeys);
  ASSERT_EQ(key_count(text), 2);
  const Literal y = run(text, {ints({2, 1, 2, 1, 0}), floats({1, 2, 3, 4, 5})});
  EXPECT_THAT(numbers(y.element(0)), ElementsAre(0, 1, 1, 2, 2));
  EXPECT_THAT(numbers(y.element(1)), ElementsAre(5, 4, 2, 3, 1));
}

TEST(Sort, SecondKeyDecidesTiesOfLongRows) {
  std::string text(kByTwoKeys);
  for (size_t at = 0; (at = text.find("[5]", at)) != std::string::npos;)
    text.replace(at, 3, "[2000]");
  text.replace(text.find("dimensions={0}"), 14, "dimensions={0}, is_stable=true");
  const std::vector<int32_t> keys = many_ties(2000);
  std::vector<float> values;
  std::vector<std::pair<int32_t, float>> rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    values.push_back(static_cast<float>(i * 7919 % 1999) - 1000.5f);
    rows.emplace_back(keys[i], -values[i]);
  }
  std::ranges::sort(rows);
  const Literal y = run(text, {Literal::from<int32_t>(Shape(s32, {2000}), keys),
                               Literal::from<float>(Shape(f32, {2000}), values)});
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(y.element(0).values<int32_t>()[i], rows[i].first) << i;
    EXPECT_EQ(y.element(1).values<float>()[i], -rows[i].second) << i;
  }
}

TEST(Sort, TieBySelectIsRecognisedToo) {
  std::string text(kByTwoKeys);
  const size_t at = text.find("tie = ");
  text.replace(at, text.find('}', at) - at, "ROOT c = pred[] select(same, second, first)\n");
  ASSERT_EQ(key_count(text), 2);
  const Literal y = run(text, {ints({2, 1, 2, 1, 0}), floats({1, 2, 3, 4, 5})});
  EXPECT_THAT(numbers(y.element(1)), ElementsAre(5, 4, 2, 3, 1));
}

TEST(Sort, ComparisonOfDifferentExpressionsIsNoKey) {
  EXPECT_EQ(key_count(sort_text("f32", 2,
                                "n = f32[] negate(b) ROOT c = pred[] compare(a, n), direction=LT")),
            0);
  EXPECT_EQ(key_count(sort_text("f32", 2, "ROOT c = pred[] compare(a, b), direction=LE")), 0);
  EXPECT_EQ(key_count(sort_text("f32", 2, "ROOT c = pred[] compare(a, a), direction=LT")), 0);
}

// As numpy's functions write it: NaN behind every number, or, where it descends, before it.
std::string with_nan_at_its_end(std::string_view direction, std::string_view great,
                                std::string_view small) {
  return base::cat(
      "first = pred[] compare(a, b), direction=", direction, "\n  great = pred[] compare(", great,
      ", ", great, "), direction=NE  small = pred[] compare(", small, ", ", small,
      "), direction=NE\n  number = pred[] not(small)  nan = pred[] and(great, number)\n"
      "  ROOT c = pred[] or(first, nan)");
}

TEST(Sort, ComparatorsThatNameNanAreKeys) {
  const std::vector<float> given{3, kNaN, -0.0f, kInf, 0.0f, -kInf, kNaN, -1};
  for (const bool rises : {true, false}) {
    const std::string body =
        rises ? with_nan_at_its_end("LT", "b", "a") : with_nan_at_its_end("GT", "a", "b");
    const std::string text = sort_text("f32", 8, body);
    EXPECT_EQ(key_count(text), 1) << text;
    std::vector<float> expected = given;
    std::ranges::stable_sort(expected, [&](float a, float b) {
      return rises ? a < b || (std::isnan(b) && !std::isnan(a))
                   : a > b || (std::isnan(a) && !std::isnan(b));
    });
    std::string stable = text;
    stable.insert(stable.find(", to_apply"), ", is_stable=true");
    const Literal sorted = run(stable, {Literal::from<float>(Shape(f32, {8}), given)});
    for (size_t i = 0; i < given.size(); ++i) {
      EXPECT_EQ(std::isnan(sorted.values<float>()[i]), std::isnan(expected[i])) << i;
      if (std::isnan(expected[i])) continue;
      EXPECT_EQ(sorted.values<float>()[i], expected[i]) << i;
      EXPECT_EQ(std::signbit(sorted.values<float>()[i]), std::signbit(expected[i])) << i;
    }
  }
  // Of the other operand: NaN would stand among the numbers.
  EXPECT_EQ(key_count(sort_text("f32", 2, with_nan_at_its_end("LT", "a", "b"))), 0);
  EXPECT_EQ(key_count(sort_text("f32", 2, with_nan_at_its_end("GT", "b", "a"))), 0);
}

TEST(Sort, TiesThatNameNanGoToTheNextKey) {
  const std::string text = R"(
    HloModule m
    less {
      a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
      lt = pred[] compare(a, b), direction=LT
      na = pred[] compare(a, a), direction=NE  nb = pred[] compare(b, b), direction=NE
      is = pred[] compare(a, a), direction=EQ  late = pred[] and(is, nb)
      ahead = pred[] or(late, lt)
      eq = pred[] compare(b, a), direction=EQ  nans = pred[] and(nb, na)  level = pred[] or(eq, nans)
      next = pred[] compare(c, d), direction=GT  behind = pred[] and(next, level)
      ROOT r = pred[] or(ahead, behind)
    }
    ENTRY main {
      x = f32[6] parameter(0)
      i = s32[6] parameter(1)
      ROOT y = (f32[6], s32[6]) sort(x, i), dimensions={0}, to_apply=less
    })";
  EXPECT_EQ(key_count(text), 2);
  const Literal y = run(text, {floats({kNaN, 1, -0.0f, kNaN, 0, 1}), ints({0, 1, 2, 3, 4, 5})});
  EXPECT_THAT(numbers(y.element(1)), ElementsAre(4, 2, 5, 1, 3, 0));
  // Where no tie is said of two NaN, the next key does not move them.
  std::string stays = text;
  stays.replace(stays.find("and(next, level)"), 16, "and(next, eq)");
  stays.insert(stays.find(", to_apply"), ", is_stable=true");
  EXPECT_EQ(key_count(stays), 0);
  const Literal z = run(stays, {floats({kNaN, 1, -0.0f, kNaN, 0, 1}), ints({0, 1, 2, 3, 4, 5})});
  EXPECT_THAT(numbers(z.element(1)), ElementsAre(4, 2, 5, 1, 0, 3));
}

TEST(Sort, EachRowAlongTheDimensionByItself) {
  const Literal x =
      Literal::from<int32_t>(Shape(s32, {2, 3, 2}), {5, 6, 1, 2, 3, 4, 9, 1, 8, 2, 7, 3});
  const Literal y = run(R"(HloModule m
    less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
    ENTRY main { x = s32[2,3,2] parameter(0) ROOT y = s32[2,3,2] sort(x), dimensions={1}, to_apply=less })",
                        {x});
  EXPECT_THAT(numbers(y), ElementsAre(1, 2, 3, 4, 5, 6, 7, 1, 8, 2, 9, 3));
}

}  // namespace
}  // namespace heddle::interpreter
