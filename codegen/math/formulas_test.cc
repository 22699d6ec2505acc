// Accuracy of formulas.h, in ulp, against the C library one precision up (double for float, long
// double for double). HEDDLE_ALL_FLOATS=1 tries all 2^32 floats, and 64 times as many doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "heddle/base/settings.h"
#include "heddle/codegen/math/formulas_inverse.h"
#include "heddle/codegen/math/formulas_testing.h"
#include "heddle/codegen/math/root_powers.h"

namespace heddle::cpu {
namespace {

using lanes::Many;
using lanes::One;

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

bool try_all() { return setting<Setting::kAllFloats>(); }

template <class T>
T next_down(T positive) {
  return std::bit_cast<T>(std::bit_cast<lanes::BitsOf<T>>(positive) - 1);
}

// The error of `got` in ulp; infinite where a NaN, an infinity or the sign of a zero is wrong.
template <class T>
double error_in_ulp(T got, Wide<T> exact) {
  using Limits = std::numeric_limits<T>;
  using Fmt = Format<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) {
    return std::isnan(exact) && std::isnan(got) ? 0 : wrong;
  }
  const T rounded = static_cast<T>(exact);
  if (got == rounded && std::signbit(got) == std::signbit(rounded) && std::isinf(got)) return 0;
  if (std::isinf(exact) || std::signbit(got) != std::signbit(exact)) return wrong;
  const Wide<T> overflow = std::ldexp(Wide<T>(1), Limits::max_exponent);
  const Wide<T> size = std::isinf(got) ? overflow : Wide<T>(std::abs(got));
  T below = std::min(std::abs(rounded), Limits::max());
  if (below > std::abs(exact) && below != 0) below = next_down(below);
  const int biased = static_cast<int>(std::bit_cast<lanes::BitsOf<T>>(below) >> Fmt::mantissa_bits);
  const int exponent = std::max(biased, 1) - Fmt::bias - Fmt::mantissa_bits;
  return static_cast<double>(std::ldexp(std::abs(size - std::abs(exact)), -exponent));
}

// Zeros, ones, limits, infinities, NaN and what lies near them.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T v : {T(0),
                    Limits::denorm_min(),
                    Limits::min(),
                    T(1e-20),
                    T(0.25),
                    T(1) / 3,
                    T(0.5),
                    T(1),
                    T(1.5),
                    T(2),
                    T(2.5),
                    T(3),
                    T(4),
                    T(5),
                    T(8),
                    T(27),
                    T(88.72284),
                    T(103.97208),
                    T(709.782712893384),
                    T(745.1332191019411),
                    T(1e6 + 1),
                    T(1 << 24),
                    T(0x1p53),
                    T(1e30),
                    Limits::max(),
                    Limits::infinity()}) {
    for (const T near : {v, std::nextafter(v, T(0)), std::nextafter(v, Limits::infinity())}) {
      values.push_back(near);
      values.push_back(-near);
    }
  }
  values.push_back(Limits::quiet_NaN());
  while (values.size() % Many<T>::count != 0) values.push_back(-Limits::quiet_NaN());
  return values;
}

// The largest error so far and where.
template <class T>
struct Worst {
  double error = 0;
  T x = 0;
  T y = 0;

  void add(double candidate, T at_x, T at_y = 0) {
    if (candidate > error) *this = {candidate, at_x, at_y};
  }
};

// What functions keep that do not need a fused multiply-add.
constexpr double kUnfusedBound = 2;

enum class Fma { kOptional, kNeeded };

template <class T>
void report(const char* name, const Worst<T>& fused, const Worst<T>& unfused, double bound,
            Fma fma) {
  std::printf("  %-9s %-6s %.3f ulp at %a, %a; unfused %.3g\n", name,
              sizeof(T) == 4 ? "float" : "double", fused.error, static_cast<double>(fused.x),
              static_cast<double>(fused.y), unfused.error);
  std::fflush(stdout);
  EXPECT_LE(fused.error, bound) << name << " at " << fused.x << ", " << fused.y;
  if (fma == Fma::kNeeded) return;
  EXPECT_LE(unfused.error, kUnfusedBound) << name << " unfused, at " << unfused.x;
}

template <class T>
bool same(T a, T b) {
  using Bits = lanes::BitsOf<T>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

// ---- Functions of one argument -----------------------------------------------------------------

template <class T>
struct Unary {
  const char* name;
  double bound;
  T low, high;  // Where doubles are sampled most.
  T valid;      // No finite |x| above it is tried.
  Wide<T> (*exact)(Wide<T>);
  void (*many)(const T*, T*);
  T (*one)(T);
  T (*unfused)(T);
  Fma fma;
};

template <class T, class Formula>
Unary<T> unary(const char* name, double bound, T low, T high, Wide<T> (*exact)(Wide<T>), Formula,
               T valid = std::numeric_limits<T>::max(), Fma fma = Fma::kOptional) {
  return {name,
          bound,
          low,
          high,
          valid,
          exact,
          [](const T* in, T* out) { Formula{}(Many<T>::load(in)).store(out); },
          [](T x) { return Formula{}(One<T, true>{x}).v; },
          [](T x) { return Formula{}(One<T, false>{x}).v; },
          fma};
}

// The table of promises: name, bound in ulp, range of most samples, reference, formula.
template <Number F>
F constant_power(F x, typename F::Scalar y) {
  const auto simple = pow_by_roots(x, y);
  return simple ? *simple : pow(x, x.constant(y));
}

template <class T>
std::vector<Unary<T>> unary_functions() {
  using W = Wide<T>;
  const auto bound = [](double single, double twice) { return sizeof(T) == 4 ? single : twice; };
  constexpr T trig = kTrigonometricBound<T>;
  return {
      unary<T>(
          "exp", bound(1.05, 1.05), -110, 110, [](W x) { return std::exp(x); },
          [](auto x) { return exp(x); }),
      unary<T>(
          "expm1", bound(0.8, 1), -3, 3, [](W x) { return std::expm1(x); },
          [](auto x) { return expm1(x); }),
      unary<T>(
          "logistic", bound(1.7, 1), -40, 40, [](W x) { return 1 / (1 + std::exp(-x)); },
          [](auto x) { return logistic(x); }),
      unary<T>(
          "tanh", bound(1.89, 1.1), -4, 4, [](W x) { return std::tanh(x); },
          [](auto x) { return tanh(x); }),
      unary<T>(
          "sinh", bound(0.8, 0.8), -10, 10, [](W x) { return std::sinh(x); },
          [](auto x) { return sinh(x); }),
      unary<T>(
          "cosh", bound(0.9, 0.9), -10, 10, [](W x) { return std::cosh(x); },
          [](auto x) { return cosh(x); }),
      unary<T>(
          "log2", bound(1.1, 1.1), 0, 4, [](W x) { return std::log2(x); },
          [](auto x) { return log2(x); }),
      unary<T>(
          "log", bound(0.9, 0.9), 0, 4, [](W x) { return std::log(x); },
          [](auto x) { return log(x); }),
      unary<T>(
          "log1p", bound(0.9, 0.9), -1, 4, [](W x) { return std::log1p(x); },
          [](auto x) { return log1p(x); }),
      unary<T>(
          "sin", bound(0.9, 0.9), -20, 20, [](W x) { return std::sin(x); },
          [](auto x) { return sin(x); }, trig, Fma::kNeeded),
      unary<T>(
          "cos", bound(0.9, 0.9), -20, 20, [](W x) { return std::cos(x); },
          [](auto x) { return cos(x); }, trig, Fma::kNeeded),
      unary<T>(
          "tan", bound(1.05, 1.05), -20, 20, [](W x) { return std::tan(x); },
          [](auto x) { return tan(x); }, trig, Fma::kNeeded),
      unary<T>(
          "asin", bound(0.9, 0.9), -1.1, 1.1, [](W x) { return std::asin(x); },
          [](auto x) { return asin(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "acos", bound(0.9, 0.9), -1.1, 1.1, [](W x) { return std::acos(x); },
          [](auto x) { return acos(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "asinh", bound(0.9, 0.9), -4, 4, [](W x) { return std::asinh(x); },
          [](auto x) { return asinh(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "acosh", bound(0.9, 0.9), 0.9, 4, [](W x) { return std::acosh(x); },
          [](auto x) { return acosh(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "atanh", bound(0.9, 0.9), -1.1, 1.1, [](W x) { return std::atanh(x); },
          [](auto x) { return atanh(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "erf", bound(1.05, 1.1), -6, 6, [](W x) { return std::erf(x); },
          [](auto x) { return erf(x); }),
      unary<T>(
          "rsqrt", bound(1.5, 1.5), 0, 8, [](W x) { return 1 / std::sqrt(x); },
          [](auto x) { return rsqrt(x); }),
      unary<T>(
          "rsqrt_corrected", 0.51, 0, 8, [](W x) { return 1 / std::sqrt(x); },
          [](auto x) { return rsqrt_corrected(x); }, std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "rsqrt_from", bound(1.1, 0.95), 0, 8, [](W x) { return 1 / std::sqrt(x); },
          [](auto x) {
            const auto off = copysign(x.constant(T(0x1p-14)), float_from_bits(bits(x) << 20));
            return rsqrt_from(x, rsqrt(x) * (x.constant(1) + off));
          },
          std::numeric_limits<T>::max(), Fma::kNeeded),
      unary<T>(
          "cbrt", bound(0.51, 0.51), -8, 8, [](W x) { return std::cbrt(x); },
          [](auto x) { return cbrt(x); }),
      unary<T>(
          "x^0.5", 0.5, 0, 8, [](W x) { return std::pow(x, W(0.5)); },
          [](auto x) { return *pow_by_roots(x, T(0.5)); }),
      unary<T>(
          "x^1.5", 1, 0, 8, [](W x) { return std::pow(x, W(1.5)); },
          [](auto x) { return *pow_by_roots(x, T(1.5)); }),
      unary<T>(
          "x^2", 0.5, -8, 8, [](W x) { return std::pow(x, W(2)); },
          [](auto x) { return *pow_by_roots(x, T(2)); }),
      unary<T>(
          "x^3", 1.5, -8, 8, [](W x) { return std::pow(x, W(3)); },
          [](auto x) { return constant_power(x, T(3)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
      unary<T>(
          "x^0.25", 1, 0, 8, [](W x) { return std::pow(x, W(0.25)); },
          [](auto x) { return constant_power(x, T(0.25)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
      unary<T>(
          "x^-0.25", bound(1.2, 1), 0, 8, [](W x) { return std::pow(x, W(-0.25)); },
          [](auto x) { return constant_power(x, T(-0.25)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
      unary<T>(
          "x^-0.5", 1.5, 0, 8, [](W x) { return std::pow(x, W(-0.5)); },
          [](auto x) { return constant_power(x, T(-0.5)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
      unary<T>(
          "x^-1", 0.5, -8, 8, [](W x) { return std::pow(x, W(-1)); },
          [](auto x) { return *pow_by_roots(x, T(-1)); }),
      unary<T>(
          "x^-1.5", 1.9, 0, 8, [](W x) { return std::pow(x, W(-1.5)); },
          [](auto x) { return constant_power(x, T(-1.5)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
      unary<T>(
          "x^-2", 1.5, -8, 8, [](W x) { return std::pow(x, W(-2)); },
          [](auto x) { return constant_power(x, T(-2)); }, std::numeric_limits<T>::max(),
          Fma::kNeeded),
  };
}

// The machine's estimate of 1 / sqrt(x), at its worst: subnormal numbers are 0 to it.
template <class F>
F rough_rsqrt(F x) {
  const F seen =
      select(abs(x) < x.constant(Format<float>::min_normal), copysign(x.constant(0), x), x);
  const F off = copysign(x.constant(3 * 0x1p-13F), float_from_bits(bits(x) << 20));
  return rsqrt(seen) * (x.constant(1) + off);
}

// Those of floats alone.
std::vector<Unary<float>> float_functions() {
  constexpr float least = Format<float>::min_normal, all = std::numeric_limits<float>::max();
  std::vector<Unary<float>> functions = unary_functions<float>();
  functions.push_back(unary<float>(
      "rsqrt_from_rough", 1.5, 0, 8, [](double x) { return 1 / std::sqrt(x); },
      [](auto x) { return rsqrt_from_rough(x, rough_rsqrt(x)); }, all, Fma::kNeeded));
  functions.push_back(unary<float>(
      "rsqrt_from_rough of normal numbers", 1.1, 0, 8,
      [](double x) { return std::abs(x) < least ? 1 : 1 / std::sqrt(x); },
      [](auto x) {
        const auto normal = select(abs(x) < x.constant(least), x.constant(1), x);
        return rsqrt_from_rough(normal, rough_rsqrt(normal));
      },
      all, Fma::kNeeded));
  return functions;
}

// One vector of arguments: all lanes against the reference, the first against the scalar form.
template <class T>
void check_lanes(const Unary<T>& f, T* in, Worst<T>& fused, Worst<T>& unfused) {
  T out[Many<T>::count];
  for (int i = 0; i < Many<T>::count; ++i) {
    if (std::isfinite(in[i]) && std::abs(in[i]) > f.valid) in[i] = T(0.5);
  }
  f.many(in, out);
  for (int i = 0; i < Many<T>::count; ++i) {
    fused.add(error_in_ulp(out[i], f.exact(in[i])), in[i]);
  }
  ASSERT_TRUE(same(f.one(in[0]), out[0])) << f.name << " at " << in[0];
  unfused.add(error_in_ulp(f.unfused(in[0]), f.exact(in[0])), in[0]);
}

template <class T>
void check_specials(const Unary<T>& f, Worst<T>& fused, Worst<T>& unfused) {
  const std::vector<T> specials = special_values<T>();
  for (std::size_t i = 0; i < specials.size(); i += Many<T>::count) {
    T in[Many<T>::count];
    std::copy_n(&specials[i], Many<T>::count, in);
    check_lanes(f, in, fused, unfused);
  }
}

TEST(Formulas, FloatFunctionsOfOneArgument) {
  const std::uint64_t step = try_all() ? 1 : 1024;
  for (const auto& f : float_functions()) {
    Worst<float> fused, unfused;
    check_specials(f, fused, unfused);
    for (std::uint64_t start = 0; start < (std::uint64_t{1} << 32); start += 16 * step) {
      float in[16];
      for (std::uint64_t i = 0; i < 16; ++i) {
        const std::uint64_t jitter = (start / 1024 + i) * 2654435761U % step;
        in[i] = std::bit_cast<float>(static_cast<std::uint32_t>(start + i * step + jitter));
      }
      check_lanes(f, in, fused, unfused);
    }
    report(f.name, fused, unfused, f.bound, f.fma);
  }
}

// The double nearest to some multiple of pi/2, at most `largest` and 2^40.
double near_zero_of_cosine(double largest, std::uint64_t random) {
  const double quotients = std::min(largest, 0x1p40) / 1.5708;
  const double most = std::ldexp(quotients, -static_cast<int>(random & 31));
  const long double fraction = static_cast<long double>(random >> 11) * 0x1p-53L;
  return static_cast<double>(std::floor(fraction * most) * 1.57079632679489661923132L);
}

TEST(Formulas, DoubleFunctionsOfOneArgument) {
  const int vectors = (try_all() ? 64 : 1) << 16;
  for (const auto& f : unary_functions<double>()) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> inside(f.low, f.high);
    Worst<double> fused, unfused;
    check_specials(f, fused, unfused);
    for (int n = 0; n < vectors; ++n) {
      double in[8];
      // Kinds: any bits; near a multiple of pi/2; near the range; the range with any exponent.
      for (double& x : in) {
        const std::uint64_t word = random();
        const int exponent = static_cast<int>(word >> 32 & 63) - 48;
        x = n % 4 == 0   ? std::bit_cast<double>(word)
            : n % 8 == 1 ? near_zero_of_cosine(f.valid, word)
            : n % 4 == 1 ? std::ldexp(inside(random), exponent)
                         : inside(random);
      }
      check_lanes(f, in, fused, unfused);
    }
    report(f.name, fused, unfused, f.bound, f.fma);
  }
}

// ---- Functions of two arguments ----------------------------------------------------------------

template <class T>
struct Binary {
  const char* name;
  double bound;
  Wide<T> (*exact)(Wide<T>, Wide<T>);
  void (*many)(const T*, const T*, T*);
  T (*one)(T, T);
  T (*unfused)(T, T);
  Fma fma;
};

template <class T, class Formula>
Binary<T> binary(const char* name, double bound, Wide<T> (*exact)(Wide<T>, Wide<T>), Formula,
                 Fma fma) {
  return {name,
          bound,
          exact,
          [](const T* x, const T* y, T* out) {
            Formula{}(Many<T>::load(x), Many<T>::load(y)).store(out);
          },
          [](T x, T y) { return Formula{}(One<T, true>{x}, One<T, true>{y}).v; },
          [](T x, T y) { return Formula{}(One<T, false>{x}, One<T, false>{y}).v; },
          fma};
}

template <class T>
void check_lanes(const Binary<T>& f, const T* x, const T* y, Worst<T>& fused, Worst<T>& unfused) {
  T out[Many<T>::count];
  f.many(x, y, out);
  for (int i = 0; i < Many<T>::count; ++i) {
    fused.add(error_in_ulp(out[i], f.exact(x[i], y[i])), x[i], y[i]);
  }
  ASSERT_TRUE(same(f.one(x[0], y[0]), out[0])) << f.name << " at " << x[0] << ", " << y[0];
  unfused.add(error_in_ulp(f.unfused(x[0], y[0]), f.exact(x[0], y[0])), x[0], y[0]);
}

// All pairs of special values: the tables of Annex F, as the C library has them.
template <class T>
void check_special_pairs(const Binary<T>& f, Worst<T>& fused, Worst<T>& unfused) {
  const std::vector<T> specials = special_values<T>();
  for (const T x : specials) {
    for (std::size_t i = 0; i < specials.size(); i += Many<T>::count) {
      T same_x[Many<T>::count];
      std::fill_n(same_x, Many<T>::count, x);
      check_lanes(f, same_x, &specials[i], fused, unfused);
    }
  }
}

// Random pairs: any bits; any exponents with whole y; or what `typical` makes of two numbers in
// [-1, 1].
template <class T, class Typical>
void check_pairs(const Binary<T>& f, Typical typical) {
  using Bits = lanes::UnsignedOf<T>;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> unit(-1, 1);
  Worst<T> fused, unfused;
  check_special_pairs(f, fused, unfused);
  const int vectors = (try_all() ? 64 : 1) << (sizeof(T) == 4 ? 17 : 16);
  for (int n = 0; n < vectors; ++n) {
    T x[Many<T>::count], y[Many<T>::count];
    for (int i = 0; i < Many<T>::count; ++i) {
      if (n % 8 < 2) {
        x[i] = std::bit_cast<T>(static_cast<Bits>(random()));
        y[i] = n % 8 == 0 ? std::bit_cast<T>(static_cast<Bits>(random()))
                          : std::round(unit(random) * 20);
      } else {
        typical(n, unit(random), unit(random), x[i], y[i]);
      }
    }
    check_lanes(f, x, y, fused, unfused);
  }
  report(f.name, fused, unfused, f.bound, f.fma);
}

template <class T>
void check_pow() {
  const auto f = binary<T>(
      "pow", 1, [](Wide<T> x, Wide<T> y) { return std::pow(x, y); },
      [](auto x, auto y) { return pow(x, y); }, sizeof(T) == 4 ? Fma::kOptional : Fma::kNeeded);
  constexpr T largest = sizeof(T) == 4 ? 150 : 1080;  // Of |y log2(x)| that is of interest.
  check_pairs(f, [](int n, T a, T b, T& x, T& y) {
    x = n % 2 == 0 ? std::exp2(a * (n % 3 == 0 ? 1 : largest)) : 1 + a * T(0.75);
    y = std::clamp(b * largest / std::log2(x), -T(1e30), T(1e30));
  });
}

TEST(Formulas, FloatPow) { check_pow<float>(); }
TEST(Formulas, DoublePow) { check_pow<double>(); }

template <class T>
void check_atan2() {
  const auto f = binary<T>(
      "atan2", 1, [](Wide<T> y, Wide<T> x) { return std::atan2(y, x); },
      [](auto y, auto x) { return atan2(y, x); }, Fma::kOptional);
  check_pairs(f, [](int n, T a, T b, T& x, T& y) {
    x = a;
    y = n % 3 == 0 ? a + b * a / 64 : b;
  });
}

TEST(Formulas, FloatAtan2) { check_atan2<float>(); }
TEST(Formulas, DoubleAtan2) { check_atan2<double>(); }

// The bits of both operations, at special numbers and everywhere.
template <class T>
void check_exp_plus() {
  std::vector<T> arguments = special_values<T>();
  std::mt19937_64 random(3);
  std::uniform_real_distribution<T> far(-800, 800), near(-90, 90);
  for (int i = 0; i < (try_all() ? 1 << 24 : 1 << 18); ++i)
    arguments.push_back(i % 4 == 0 ? far(random) : near(random));
  for (const T c : {T(1), T(-1), T(0.1), T(3), T(0x1p-60), T(-0x1p-60), T(0x1p60), T(-7e17)}) {
    for (const T x : arguments) {
      const T two = exp(One<T, true>{x}).v + c, one = exp_plus(One<T, true>{x}, {c}).v;
      if (std::isnan(two) && std::isnan(one)) continue;
      ASSERT_EQ(std::bit_cast<lanes::BitsOf<T>>(two), std::bit_cast<lanes::BitsOf<T>>(one))
          << x << " + " << c;
    }
  }
}

TEST(Formulas, FloatExpPlus) { check_exp_plus<float>(); }
TEST(Formulas, DoubleExpPlus) { check_exp_plus<double>(); }

// A product that underflows takes 100 cycles of many machines.
template <class T>
bool exp_underflows(T x) {
  volatile T from = x;
  std::feclearexcept(FE_UNDERFLOW);
  volatile T to = exp(One<T, true>{from}).v;
  (void)to;
  return std::fetestexcept(FE_UNDERFLOW) != 0;
}

TEST(Formulas, ExpOfWhatIsFarBelowZeroMultipliesNothingSubnormal) {
  for (const float x : {-1e9F, -104.F, -103.F, -95.F, -88.F, -87.F, 0.F})
    EXPECT_FALSE(exp_underflows(x)) << x;
  for (const double x : {-1e9, -745.0, -720.0, -709.0, -708.0, 0.0})
    EXPECT_FALSE(exp_underflows(x)) << x;
}

}  // namespace
}  // namespace heddle::cpu
