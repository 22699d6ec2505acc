// Quotients by constants have the bits of the division, subnormal ones and specials too.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

constexpr size_t kCount = 1 << 16;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Of all exponents; many lie where the quotient is in the middle of two subnormal numbers, or near.
template <class T>
std::vector<T> dividends(T divisor, uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
  std::vector<T> all;
  const T inf = Limits::infinity();
  for (T x : {T(0), inf, Limits::quiet_NaN(), Limits::max(), Limits::denorm_min(), Limits::min(),
              T(1), divisor}) {
    all.push_back(x);
    all.push_back(-x);
  }
  while (all.size() < kCount) {
    all.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
    const T middle = std::ldexp(static_cast<T>(random() >> (64 - Limits::digits + random() % 23)),
                                Limits::min_exponent - Limits::digits - 1);
    const T near = middle * divisor;
    all.push_back(near);
    all.push_back(-std::nextafter(near, inf));
    all.push_back(std::nextafter(near, -inf));
  }
  all.resize(kCount);
  return all;
}

// Expects the bits of want_of(x) from `line`, which makes r of x, of w = floor(x) and of ds, the
// divisor.
template <class T, class Want>
void expect_by_constant(T divisor, const std::string& line, const Want& want_of) {
  SCOPED_TRACE(divisor);
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", static_cast<double>(divisor));
  const std::string type = base::cat(sizeof(T) == 4 ? "f32" : "f64", "[", kCount, "]");
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule m\nENTRY e { x = ", type,
                                " parameter(0)\n  d = ", type.substr(0, 3), "[] constant(", text,
                                ")\n  ds = ", type, " broadcast(d), dimensions={}\n  w = ", type,
                                " floor(x)\n  ROOT r = ", type, " ", line, " }"))
          .value();
  const std::vector<T> xs = dividends(divisor, 7);
  const Shape shape(sizeof(T) == 4 ? f32 : f64, {static_cast<int64_t>(kCount)});
  const Literal got = OnCpu(module).run({Literal::from<T>(shape, std::span(xs))});
  int wrong = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const T r = got.values<T>()[i], want = want_of(xs[i]);
    const bool is_right = std::isnan(want)
                              ? std::isnan(r)
                              : std::bit_cast<Bits<T>>(r) == std::bit_cast<Bits<T>>(want);
    if (!is_right && ++wrong < 5) ADD_FAILURE() << xs[i] << " gives " << r << ", not " << want;
  }
  EXPECT_EQ(wrong, 0);
}

// `of_whole`: of dividends that are rounded down first.
template <class T>
void expect_divisions(T divisor, bool of_whole = false) {
  expect_by_constant(divisor, of_whole ? "divide(w, ds)" : "divide(x, ds)",
                     [&](T x) { return (of_whole ? std::floor(x) : x) / divisor; });
}

TEST(Quotients, ByConstantsAreRoundedAsDivisions) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (float divisor :
       {0.99F,    98.0F,       150.0F,     3.0F,      -10.0F,
        0.01F,    0.7F,        0.999F,     6.0F,      255.0F,
        1.1F,     2197.0F,     1000.0F,    9.8F,      0.25F,
        -1024.0F, 0x1p-126F,   0x1p127F,   0x1p-149F, 1.5e38F,
        3e-39F,   16777214.0F, 1.9999999F, 0.0F,      std::numeric_limits<float>::infinity()})
    for (const bool of_whole : {false, true}) expect_divisions(divisor, of_whole);
  for (double divisor : {0.99, 98.0, 3.0, -10.0, 0.7, 6.0, 1e-200, 1e300, 3e-310})
    expect_divisions(divisor);
}

// Any exponents, one far from the other too; multiples of the divisor and their neighbours.
template <class T>
void expect_remainders() {
  std::mt19937_64 random(7);
  const std::vector<T> ys = dividends(T(3), 1);
  std::vector<T> xs = dividends(T(3), 2);
  std::shuffle(xs.begin(), xs.end(), random);
  for (size_t i = 0; i < kCount; ++i) {
    if (i % 4 != 0) xs[i] = ys[i] * static_cast<T>(random() >> (40 + random() % 24));
    if (i % 4 == 1) xs[i] = std::nextafter(xs[i], T(0));
    if (i % 4 == 2) xs[i] *= T(1.7);
  }
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const auto program = [&](const std::string& sizes) {
    const std::string all = type + sizes;
    return OnCpu(
        hlo::parse_text(base::cat("HloModule m\nENTRY e { x = ", all, " parameter(0)\n  y = ", all,
                                  " parameter(1)\n  ROOT r = ", all, " remainder(x, y) }"))
            .value());
  };
  const Shape shape(sizeof(T) == 4 ? f32 : f64, {static_cast<int64_t>(kCount)});
  const Literal got =
      program(base::cat("[", kCount, "]"))
          .run({Literal::from<T>(shape, std::span(xs)), Literal::from<T>(shape, std::span(ys))});
  const OnCpu of_one = program("[]");
  for (size_t i = 0; i < kCount; i += 97) {
    const Shape one(shape.dtype(), {});
    const Literal r = of_one.run(
        {Literal::from<T>(one, std::span(&xs[i], 1)), Literal::from<T>(one, std::span(&ys[i], 1))});
    const T a = r.values<T>()[0], b = got.values<T>()[i];
    EXPECT_TRUE((std::isnan(a) && std::isnan(b)) ||
                std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b))
        << xs[i] << " by " << ys[i];
  }
  int wrong = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const T r = got.values<T>()[i], want = std::fmod(xs[i], ys[i]);
    const bool is_right = std::isnan(want)
                              ? std::isnan(r)
                              : std::bit_cast<Bits<T>>(r) == std::bit_cast<Bits<T>>(want);
    if (!is_right && ++wrong < 5) ADD_FAILURE() << xs[i] << " by " << ys[i] << " leaves " << r;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Remainders, AreExact) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_remainders<float>();
  expect_remainders<double>();
}

// Of the divisors that a formula of their own serves, and their neighbours.
TEST(Remainders, ByPowersOfTwoAreExact) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto expect = [](auto divisor) {
    expect_by_constant(divisor, "remainder(x, ds)", [&](auto x) { return std::fmod(x, divisor); });
  };
  for (float divisor : {1.0F, 2.0F, -2.0F, 0.5F, 0.125F, 65536.0F, 0x1p60F, 0x1p-60F, 0x1p61F,
                        0x1p-61F, 0x1p-149F, 0x1p127F, 3.0F})
    expect(divisor);
  for (double divisor : {1.0, -2.0, 0.5, 0x1p60, -0x1p-60, 0x1p61, 0x1p-61, 0x1p1023, 0.75})
    expect(divisor);
}

TEST(Rsqrt, IsEstimatedInAnyNumberOfLanes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* type : {"f32", "f64"}) {
    for (int64_t n : {1, 2, 3, 5, 6, 12, 16, 24, 31, 40}) {
      const hlo::Module module =
          hlo::parse_text(base::cat("HloModule m\nENTRY e { i = ", type, "[", n,
                                    "] iota(), iota_dimension=0\n  ROOT r = ", type, "[", n,
                                    "] rsqrt(i) }"))
              .value();
      EXPECT_EQ(
          difference(OnCpu(module).run({}), interpreter::evaluate(module, {}).value(), {.ulp = 1}),
          "")
          << type << " " << n;
    }
  }
}

// More constants than AVX2 has registers. Every value is a whole number that an f32 holds.
TEST(Constants, OfALoopThatHasMany) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const std::string type : {"f32", "f64"}) {
    const std::string all = type + "[1003]";
    std::string text =
        "HloModule m\nENTRY e {\n x = " + all + " parameter(0)\n y0 = " + all + " subtract(x, x)\n";
    for (int i = 1; i <= 12; ++i) {
      const std::string k = std::to_string(i), before = std::to_string(i - 1);
      text += " c" + k + " = " + type + "[] constant(" + k + ")\n b" + k + " = " + all +
              " broadcast(c" + k + "), dimensions={}\n m" + k + " = " + all + " multiply(y" +
              before + ", x)\n y" + k + " = " + all + " add(m" + k + ", b" + k + ")\n";
    }
    const hlo::Module module =
        hlo::parse_text(text + " ROOT r = " + all + " negate(y12) }").value();
    Literal x{Shape(type == "f32" ? f32 : f64, {1003})};
    for (int64_t i = 0; i < 1003; ++i) {
      if (type == "f32")
        x.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 4);
      else
        x.mutable_values<double>()[static_cast<size_t>(i)] = static_cast<double>(i % 4);
    }
    EXPECT_EQ(difference(OnCpu(module).run({x}), interpreter::evaluate(module, {x}).value()), "")
        << type;
  }
}

// LLVM's instcombine took quotients by numbers that it knows in part for the dividend. Another
// division, by a power of two, brings it to the function.
TEST(CpuQuotients, ByVectorsThatAreKnownInPart) {
  for (const char* op : {"divide", "remainder"}) {
    for (const char* type : {"s32", "u32", "s64"}) {
      const std::string t = type;
      expect_as_evaluated(
          "HloModule m\nf { a = " + t + "[] parameter(0)\n b = " + t +
          "[] parameter(1)\n ROOT r = " + t + "[] add(a, b) }\nENTRY e {\n i = " + t +
          "[33] iota(), iota_dimension=0\n p = pred[33] parameter(0)\n q = " + t +
          "[33] convert(p)\n d = " + t + "[33] subtract(i, q)\n x = " + t +
          "[33] parameter(1)\n r = " + t + "[33] " + op + "(x, d)\n two = " + t +
          "[] constant(2)\n w = " + t + "[32,11] broadcast(two), dimensions={}\n zero = " + t +
          "[] constant(0)\n s = " + t +
          "[11] reduce(w, zero), dimensions={0}, to_apply=f\n ROOT out = (" + t + "[33], " + t +
          "[11]) tuple(r, s)\n}\n");
    }
  }
}

// Divisors and dividends of all bytes, of words next to multiples, and of what wraps.
template <class T>
void expect_whole_quotients(DType dtype) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(1);
  std::vector<T> xs, ys;
  const auto add = [&](T x, T y) {
    xs.push_back(x);
    ys.push_back(y);
  };
  if (sizeof(T) == 1) {
    for (int x = 0; x < 256; ++x) {
      for (int y = 0; y < 256; ++y) add(static_cast<T>(x), static_cast<T>(y));
    }
  }
  const T edges[] = {Limits::min(),
                     static_cast<T>(Limits::min() + 1),
                     static_cast<T>(-1),
                     0,
                     1,
                     2,
                     static_cast<T>(Limits::max() - 1),
                     Limits::max(),
                     Limits::max() / 2};
  for (const T x : edges) {
    for (const T y : edges) add(x, y);
  }
  while (xs.size() < kCount) {
    const T y = static_cast<T>(static_cast<T>(random()) >> random() % (8 * sizeof(T)));
    const T q = static_cast<T>(static_cast<T>(random()) >> random() % (8 * sizeof(T)));
    const auto multiple = static_cast<T>(static_cast<uint64_t>(q) * static_cast<uint64_t>(y));
    for (int more = -1; more <= 1; ++more) add(static_cast<T>(multiple + more), y);
    add(static_cast<T>(random()), y);
  }
  const std::string type = base::cat(to_string(dtype), "[", xs.size(), "]");
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule m\nENTRY e { x = ", type, " parameter(0)\n y = ", type,
                                " parameter(1)\n q = ", type, " divide(x, y)\n r = ", type,
                                " remainder(x, y)\n ROOT t = (", type, ", ", type,
                                ") tuple(q, r) }"))
          .value();
  const Shape shape(dtype, {static_cast<int64_t>(xs.size())});
  const std::vector<Literal> arguments = {Literal::from<T>(shape, std::span(xs)),
                                          Literal::from<T>(shape, std::span(ys))};
  EXPECT_EQ(
      difference(OnCpu(module).run(arguments), interpreter::evaluate(module, arguments).value()),
      "")
      << type;
  if (sizeof(T) == 8) return;
  const std::string code = stages_of(module).value().llvm;
  EXPECT_EQ(code.find(" sdiv <"), std::string::npos) << type;
  EXPECT_EQ(code.find(" udiv <"), std::string::npos) << type;
  EXPECT_NE(code.find(" fdiv <"), std::string::npos) << type;
}

TEST(CpuQuotients, OfIntegersInVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_whole_quotients<int8_t>(s8);
  expect_whole_quotients<uint8_t>(u8);
  expect_whole_quotients<int16_t>(s16);
  expect_whole_quotients<uint16_t>(u16);
  expect_whole_quotients<int32_t>(s32);
  expect_whole_quotients<uint32_t>(u32);
  expect_whole_quotients<int64_t>(s64);
}

}  // namespace
}  // namespace heddle::cpu
