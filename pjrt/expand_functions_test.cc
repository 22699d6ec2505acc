// Functions that XLA's CPU does not compile, written with others: how far from the evaluator's own,
// which are rounded once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

// A function, and the most units in the last place of each part of the result that its expansion is
// off by on the grids below, where the evaluator computes it: measured.
struct Bound {
  const char* function;
  double f32, f64, c64, c128;
};

constexpr Bound kBounds[] = {
    {"acos", 0, 1, 2, 2}, {"acosh", 1, 1, 2, 2}, {"asin", 1, 1, 3, 2}, {"asinh", 1, 1, 3, 2},
    {"atan", 0, 0, 3, 2}, {"atanh", 1, 1, 3, 2}, {"cosh", 1, 1, 2, 2}, {"sinh", 1, 1, 3, 2},
};

template <class T>
std::vector<T> numbers() {
  constexpr T e = std::numeric_limits<T>::epsilon();
  std::vector<T> out = {0,      T(1e-30), T(1e-8), T(1e-3), T(0.1), T(0.25),   T(0.5),
                        T(0.6), T(0.7),   T(0.9),  T(0.99), 1 - e,  1 - e / 2, 1,
                        1 + e,  T(1.01),  T(1.5),  2,       3,      5,         10,
                        20,     50,       80,      T(1e10)};
  const size_t count = out.size();
  for (size_t i = 0; i < count; ++i) out.push_back(-out[i]);
  return out;
}

struct Both {
  Literal got, want;
};

// The expansion's values of x, and those of the function itself.
Both evaluated(const char* function, const Literal& x) {
  const hlo::Module module =
      module_of(base::cat("ENTRY main { x = ", x.shape(), " parameter(0) ROOT y = ", x.shape(), " ",
                          function, "(x) }"));
  const hlo::Module out = prepare(module, 114).value();
  EXPECT_EQ(hlo::verify(out, hlo::Stage::kHlo), Status()) << hlo::print(out);
  EXPECT_FALSE(has_unknown_functions(out)) << function;
  return {interpreter::evaluate(out, {x}).value(), interpreter::evaluate(module, {x}).value()};
}

// How far, in units in the last place of `scale`.
template <class T>
double ulps(T got, T want, T scale) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return INFINITY;
  const T size = std::abs(scale);
  const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(got - want) / unit);
}

template <class T>
double worst_real(const char* function, DType dtype) {
  std::vector<T> x = numbers<T>();
  for (const T more : {T(1e30), std::numeric_limits<T>::infinity(), T(NAN)}) {
    x.push_back(more);
    x.push_back(-more);
  }
  const Shape shape(dtype, {static_cast<int64_t>(x.size())});
  const Both both = evaluated(function, Literal::from<T>(shape, std::span<const T>(x)));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const T want = both.want.values<T>()[i];
    worst = std::max(worst, ulps(both.got.values<T>()[i], want, want));
  }
  return worst;
}

// Of every pair of parts, zeros of either sign too. `of_larger`: in units of the larger part.
template <class T>
double worst_complex(const char* function, DType dtype, bool of_larger = false,
                     const std::vector<T>& parts = numbers<T>()) {
  std::vector<T> x;
  for (const T a : parts) {
    for (const T b : parts) x.insert(x.end(), {a, b});
  }
  Literal in(Shape(dtype, {static_cast<int64_t>(x.size() / 2)}));
  std::memcpy(in.mutable_bytes(), x.data(), x.size() * sizeof(T));
  const Both both = evaluated(function, in);
  const T* got = reinterpret_cast<const T*>(both.got.bytes());
  const T* want = reinterpret_cast<const T*>(both.want.bytes());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const T larger = std::max(std::abs(want[i]), std::abs(want[i ^ 1]));
    worst = std::max(worst, ulps(got[i], want[i], of_larger ? larger : want[i]));
  }
  return worst;
}

TEST(WrittenFunctions, AreWithinTheirBounds) {
  for (const Bound& bound : kBounds) {
    SCOPED_TRACE(bound.function);
    EXPECT_LE(worst_real<float>(bound.function, f32), bound.f32);
    EXPECT_LE(worst_real<double>(bound.function, f64), bound.f64);
    EXPECT_LE(worst_complex<float>(bound.function, c64), bound.c64);
    EXPECT_LE(worst_complex<double>(bound.function, c128), bound.c128);
  }
}

// By size and angle, so that the smaller part is no better than the larger one.
TEST(WrittenFunctions, CubeRootsOfComplexNumbersAreGoodInTheirLargerPart) {
  EXPECT_LE(worst_complex<float>("cbrt", c64, /*of_larger=*/true), 2);
  EXPECT_LE(worst_complex<double>("cbrt", c128, /*of_larger=*/true), 2);
}

// Up to the greatest number, where the size of a complex one may be infinite.
template <class T>
std::vector<T> great_numbers() {
  constexpr T most = std::numeric_limits<T>::max();
  std::vector<T> out = {1, most / 64, most / 3, most / T(1.4), most / T(1.2), most};
  const size_t count = out.size();
  for (size_t i = 0; i < count; ++i) out.push_back(-out[i]);
  return out;
}

TEST(WrittenFunctions, OfGreatComplexNumbersAreFinite) {
  for (const char* function : {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt"}) {
    EXPECT_LE(worst_complex<float>(function, c64, true, great_numbers<float>()), 3) << function;
  }
}

// Narrower types are computed in f32 and rounded once more.
TEST(WrittenFunctions, OfNarrowTypesAreComputedInF32) {
  for (const Bound& bound : kBounds) {
    for (const DType dtype : {f16, bf16}) {
      Literal x(Shape(dtype, {5}));
      const double numbers[] = {0.25, -0.5, 0.9, 1.5, 3};
      for (size_t i = 0; i < 5; ++i)
        std::memcpy(x.mutable_bytes() + 2 * i, Literal::scalar(dtype, numbers[i]).bytes(), 2);
      const Both both = evaluated(bound.function, x);
      for (int64_t i = 0; i < 5; ++i)
        EXPECT_EQ(ulps(both.got.to_double(i), both.want.to_double(i), 1.0), 0)
            << bound.function << " " << dtype << " of " << numbers[i];
    }
  }
}

TEST(WrittenFunctions, ThatThePluginHasStay) {
  const hlo::Module module =
      module_of("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] cbrt(x) }");
  EXPECT_EQ(hlo::print(prepare(module, 114).value()), hlo::print(module));
}

}  // namespace
}  // namespace heddle::pjrt
