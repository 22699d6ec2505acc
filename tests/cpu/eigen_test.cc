// Small eigenproblems of LAPACK's call have LAPACK's vectors, signs included.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr int64_t kBatch = 150;

template <class T>
hlo::Module eigh_of(int64_t n, int uplo) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const std::string a = cat(type, "[", kBatch, ",", n, ",", n, "]");
  return hlo::parse_text(
             cat("HloModule m\nENTRY e {\n  a = ", a, " parameter(0)\n  ROOT r = (", a, ", ", type,
                 "[", kBatch, ",", n, "], s32[", kBatch,
                 "]) custom-call(a), custom_call_target=\"lapack_", sizeof(T) == 4 ? "s" : "d",
                 "syevd_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={mode = "
                 "86 : ui8, uplo = ",
                 uplo, " : ui8} }"))
      .value();
}

// Kinds: any numbers; diagonal; few values, which repeat; elements of many sizes; small ones.
template <class T>
std::vector<T> matrices(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> out;
  for (int64_t at = 0; at < kBatch; ++at) {
    for (int64_t i = 0; i < n * n; ++i) {
      const auto x = static_cast<double>(static_cast<int64_t>(random() >> 40)) / 0x1p23 - 1;
      const auto whole = static_cast<double>(static_cast<int64_t>(random() % 3)) - 1;
      const int power = static_cast<int>(random() % 12);
      switch (at % 5) {
        case 0: out.push_back(static_cast<T>(x)); break;
        case 1: out.push_back(static_cast<T>(i % (n + 1) == 0 ? x : 0)); break;
        case 2: out.push_back(static_cast<T>(whole)); break;
        case 3: out.push_back(static_cast<T>(std::ldexp(x, power - 6))); break;
        default: out.push_back(static_cast<T>(x * 1e-8));
      }
    }
  }
  return out;
}

template <class T>
void expect_lapacks(int64_t n, int uplo, const std::vector<T>& numbers) {
  SCOPED_TRACE(cat(sizeof(T), " bytes, ", n, " rows, triangle ", uplo));
  const hlo::Module module = eigh_of<T>(n, uplo);
  const Literal a =
      Literal::from<T>(module.entry_computation().parameter_shape(0), std::span<const T>(numbers));
  EXPECT_EQ(difference(OnCpu(module).run({a}), interpreter::evaluate(module, {a}).value(),
                       {.share = 64 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                        .any_zero = true}),
            "");
}

template <class T>
void expect_lapacks_of_all_sizes() {
  for (const int64_t n : {1, 2, 3, 4, 5}) {
    for (const int uplo : {'L', 'U'}) {
      std::vector<T> numbers = matrices<T>(n, static_cast<uint64_t>(n));
      expect_lapacks(n, uplo, numbers);
      // One that LAPACK scales, or refuses, sends all to it.
      for (const T odd :
           {T(1e-30), std::numeric_limits<T>::max(), std::numeric_limits<T>::quiet_NaN()}) {
        for (int64_t i = 0; i < n * n; ++i) numbers[static_cast<size_t>(70 * n * n + i)] = odd;
        expect_lapacks(n, uplo, numbers);
      }
    }
  }
}

TEST(SmallEigen, HasLapacksVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_lapacks_of_all_sizes<float>();
  expect_lapacks_of_all_sizes<double>();
}

}  // namespace
}  // namespace heddle::cpu
