// Small eigenproblems and singular values of LAPACK's calls have LAPACK's vectors, signs included.
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
std::string eigh_text(int64_t n, int uplo, int mode = 'V') {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const std::string a = cat(type, "[", kBatch, ",", n, ",", n, "]");
  return cat("HloModule m\nENTRY e {\n  a = ", a, " parameter(0)\n  ROOT r = (", a, ", ", type, "[",
             kBatch, ",", n, "], s32[", kBatch, "]) custom-call(a), custom_call_target=\"lapack_",
             sizeof(T) == 4 ? "s" : "d",
             "syevd_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={mode = ", mode,
             " : ui8, uplo = ", uplo, " : ui8} }");
}

template <class T>
hlo::Module eigh_of(int64_t n, int uplo) {
  return hlo::parse_text(eigh_text<T>(n, uplo)).value();
}

// Kinds: any numbers; diagonal; few values, which repeat; elements of many sizes; small ones.
constexpr int64_t kKinds = 5;
template <class T>
std::vector<T> matrices(int64_t n, uint64_t seed, int64_t kinds = kKinds) {
  std::mt19937_64 random(seed);
  std::vector<T> out;
  for (int64_t at = 0; at < kBatch; ++at) {
    for (int64_t i = 0; i < n * n; ++i) {
      const auto x = static_cast<double>(static_cast<int64_t>(random() >> 40)) / 0x1p23 - 1;
      const auto whole = static_cast<double>(static_cast<int64_t>(random() % 3)) - 1;
      const int power = static_cast<int>(random() % 12);
      switch (at % kinds) {
        case 0: out.push_back(static_cast<T>(x)); break;
        case 1: out.push_back(static_cast<T>(i % (n + 1) == 0 ? x : 0)); break;
        case 2: out.push_back(static_cast<T>(whole)); break;
        case 3: out.push_back(static_cast<T>(std::ldexp(x, power - 6))); break;
        default: out.push_back(static_cast<T>(x * 1e-8));
      }
    }
    if (at == 1 && n == 1) out.back() = -T(0);
  }
  return out;
}

template <class T>
std::string svd_text(int64_t n, char mode) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const std::string a = cat(type, "[", kBatch, ",", n, ",", n, "]");
  return cat("HloModule m\nENTRY e {\n  a = ", a, " parameter(0)\n  ROOT r = (", a, ", ", type, "[",
             kBatch, ",", n, "], ", a, ", ", a, ", s32[", kBatch,
             "]) custom-call(a), custom_call_target=\"lapack_", sizeof(T) == 4 ? "s" : "d",
             "gesdd_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={mode = ",
             static_cast<int>(mode), " : ui8} }");
}

template <class T>
hlo::Module svd_of(int64_t n, char mode) {
  return hlo::parse_text(svd_text<T>(n, mode)).value();
}

template <class T>
void expect_lapacks(const hlo::Module& module, const std::vector<T>& numbers) {
  const Literal a =
      Literal::from<T>(module.entry_computation().parameter_shape(0), std::span<const T>(numbers));
  EXPECT_EQ(difference(OnCpu(module).run({a}), interpreter::evaluate(module, {a}).value(),
                       {.share = 64 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                        .any_zero = true}),
            "");
}

// `module_of`: of so many rows.
template <class T, class ModuleOf>
void expect_lapacks_of_all_sizes(const ModuleOf& module_of, int64_t kinds = kKinds) {
  for (const int64_t n : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE(cat(sizeof(T), " bytes, ", n, " rows"));
    const hlo::Module module = module_of(n);
    std::vector<T> numbers = matrices<T>(n, static_cast<uint64_t>(n), kinds);
    expect_lapacks(module, numbers);
    // One that LAPACK scales, or refuses, sends all to it; its values are finite if it has any.
    using Limits = std::numeric_limits<T>;
    for (const T odd : {Limits::min(), Limits::max() / 16, Limits::quiet_NaN()}) {
      for (int64_t i = 0; i < n * n; ++i) numbers[static_cast<size_t>(70 * n * n + i)] = odd;
      expect_lapacks(module, numbers);
    }
  }
}

TEST(SmallEigen, HasLapacksVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char uplo : {'L', 'U'}) {
    expect_lapacks_of_all_sizes<float>([&](int64_t n) { return eigh_of<float>(n, uplo); });
    expect_lapacks_of_all_sizes<double>([&](int64_t n) { return eigh_of<double>(n, uplo); });
  }
}

// A module whose results are these of the call `r`, which is the root of the other one's text.
hlo::Module results_of(const std::string& call, std::initializer_list<int64_t> wanted) {
  const Shape all = hlo::parse_text(call).value().entry_computation().root_instruction().shape;
  std::string elements, types, names;
  for (const int64_t i : wanted) {
    const std::string type = hlo::print_shape(all.element(i)), name = cat("e", i);
    elements += cat("  ", name, " = ", type, " get-tuple-element(r), index=", i, "\n");
    types += cat(types.empty() ? "" : ", ", type);
    names += cat(names.empty() ? "" : ", ", name);
  }
  std::string text = call;
  text.replace(text.find("ROOT "), 5, "");
  text.replace(text.rfind('}'), 1,
               cat("\n", elements, "  ROOT t = (", types, ") tuple(", names, ")\n}"));
  return hlo::parse_text(text).value();
}

// Where vectors are asked for and not read, and where they are not asked for.
TEST(SmallEigen, HasLapacksValues) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char mode : {'V', 'N'}) {
    for (const char uplo : {'L', 'U'}) {
      expect_lapacks_of_all_sizes<float>([&](int64_t n) {
        return results_of(eigh_text<float>(n, uplo, mode), {1, 2});
      });
      expect_lapacks_of_all_sizes<double>([&](int64_t n) {
        return results_of(eigh_text<double>(n, uplo, mode), {1, 2});
      });
    }
  }
}

// The vectors of any numbers; those of few values, or of zeros, are not unique.
TEST(SmallSvd, HasLapacksVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char mode : {'A', 'S'}) {
    expect_lapacks_of_all_sizes<float>([&](int64_t n) { return svd_of<float>(n, mode); }, 1);
    expect_lapacks_of_all_sizes<double>([&](int64_t n) { return svd_of<double>(n, mode); }, 1);
  }
}

TEST(SmallSvd, HasLapacksValues) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_lapacks_of_all_sizes<float>([](int64_t n) { return svd_of<float>(n, 'N'); });
  expect_lapacks_of_all_sizes<double>([](int64_t n) { return svd_of<double>(n, 'N'); });
  for (const char mode : {'A', 'S'}) {
    expect_lapacks_of_all_sizes<float>([&](int64_t n) {
      return results_of(svd_text<float>(n, mode), {1, 4});
    });
  }
}

// a = u diag(s) v^T with s in order, and u^T u = v^T v = 1.
template <class T>
void expect_factors(int64_t n) {
  SCOPED_TRACE(cat(sizeof(T), " bytes, ", n, " rows"));
  const hlo::Module module = svd_of<T>(n, 'A');
  const std::vector<T> numbers = matrices<T>(n, 7);
  const Literal got = OnCpu(module).run({Literal::from<T>(
      module.entry_computation().parameter_shape(0), std::span<const T>(numbers))});
  const auto s = got.element(1).template values<T>(), u = got.element(2).template values<T>(),
             v = got.element(3).template values<T>();
  for (int64_t at = 0; at < kBatch; ++at) {
    const auto place = [&](int64_t i, int64_t j) {
      return static_cast<size_t>((at * n + i) * n + j);
    };
    const auto value = [&](int64_t k) { return s[static_cast<size_t>(at * n + k)]; };
    const double allowed = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_GE(value(i), i + 1 < n ? value(i + 1) : T(0));
      for (int64_t j = 0; j < n; ++j) {
        double product = 0, left = 0, right = 0;
        for (int64_t k = 0; k < n; ++k) {
          product += static_cast<double>(u[place(i, k)]) * value(k) * v[place(k, j)];
          left += static_cast<double>(u[place(k, i)]) * u[place(k, j)];
          right += static_cast<double>(v[place(i, k)]) * v[place(j, k)];
        }
        EXPECT_NEAR(product, numbers[place(i, j)], allowed * value(0)) << at;
        EXPECT_NEAR(left, i == j ? 1 : 0, allowed) << at;
        EXPECT_NEAR(right, i == j ? 1 : 0, allowed) << at;
      }
    }
  }
}

TEST(SmallSvd, GivesTheMatrixBack) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int64_t n : {1, 2, 3, 4}) {
    expect_factors<float>(n);
    expect_factors<double>(n);
  }
}

}  // namespace
}  // namespace heddle::cpu
